import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isLocal, newClient } from './support.ts';

const run = promisify(execFile);
const guide = await readFile('docs/api.md', 'utf8');
const commands = [...guide.matchAll(/^( *)```sh\n([^]*?)^ *```$/gm)]
  .map(([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
  .filter((code) => !code.startsWith('export '));

describe.runIf(isLocal)('docs/api.md', () => {
  it('has commands that work when pasted one after the other', async () => {
    const { baseUrl: API, key: KEY } = await newClient('enterprise');
    const outputs: string[] = [];
    // The guide has the reader send the first request again.
    for (const command of [...commands, commands[0]!]) {
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], {
        env: { ...process.env, API, KEY },
      });
      outputs.push(stdout);
    }
    const [curl = '', curlRetry = '', python = '', repeated = ''] = outputs;
    expect(curl).toMatch(/^HTTP\/1\.1 201 [^]*HTTP\/1\.1 200 /);
    expect(curlRetry).toMatch(/^\[\{"id":\d+,.+\}\]$/);
    expect(curl).not.toMatch(/^Idempotency-Replayed:/im);
    expect(repeated).toMatch(/^HTTP\/1\.1 201 [^]*^Idempotency-Replayed: true\r$/im);
    const [id = 'none'] = /"id":\d+/.exec(curl) ?? [];
    expect(/"id":\d+/.exec(repeated)?.[0]).toBe(id);
    expect(python).toMatch(/^\{'id': \d+, 'name': 'Rex', [^]*\n(?:\d+ .+\n){10,}$/);
  });
});
