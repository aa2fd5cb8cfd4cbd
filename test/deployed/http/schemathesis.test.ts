import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, it, onTestFinished } from 'vitest';
import { clientOf } from './support.ts';

/** The project's check (.ci/run) installs it. */
const installed = spawnSync('schemathesis', ['--version']).status === 0;
if (!installed) {
  console.warn(
    'schemathesis does not run: run "pip install schemathesis" in a virtual environment and activate it.',
  );
}

it.runIf(installed)(
  'schemathesis finds no answer that docs/openapi.yaml does not allow, and nothing that it cannot read',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'schemathesis-'));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const { key } = await clientOf('enterprise');
    const config = ['--config-file', resolve('test/deployed/http/schemathesis.toml')];
    const run = ['run', resolve('docs/openapi.yaml'), '--url', inject('service').url];
    const fuzzer = spawn('schemathesis', [...config, ...run], {
      cwd: directory,
      env: { ...process.env, API_KEY: key },
    });
    const [output, status] = await Promise.all([
      text(fuzzer.stdout),
      new Promise((done) => fuzzer.once('exit', done)),
    ]);
    expect({ status, output }).toMatchObject({ status: 0 });
  },
);
