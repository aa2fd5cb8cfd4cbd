import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

/** The project's check (.ci/run) installs it, with the Python that has what its clients import. */
const installed = spawnSync('openapi-python-client', ['--version']).status === 0;
if (!installed) {
  console.warn(
    'The test of the generated Python client is skipped: run "pip install openapi-python-client" in a virtual ' +
      'environment and activate it.',
  );
}

describe('A client generated from the document creates an animal without a status', () => {
  const { url, key } = inject('e2e');

  it.runIf(installed)('by openapi-python-client', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'python-client-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const output = join(directory, 'animal_store');
    const options = [
      '--path',
      'docs/openapi.yaml',
      '--output-path',
      output,
      '--meta',
      'none',
      '--fail-on-warning',
    ];
    await run('openapi-python-client', ['generate', ...options]);
    await run('python', ['-W', 'error', '-m', 'compileall', '-q', output]);
    const { stdout } = await run('python', ['test/support/create_pet.py'], {
      env: { ...process.env, PYTHONPATH: directory, BASE_URL: url, API_KEY: key },
    });
    expect(stdout).toBe('Monty available\n');
  });
});
