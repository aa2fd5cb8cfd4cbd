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
    for (const command of commands) {
      const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], {
        env: { ...process.env, API, KEY },
      });
      outputs.push(stdout);
    }
    const [curl = '', curlRetry = '', repeated = '', python = ''] = outputs;
    expect(curl).toMatch(/^HTTP\/1\.1 201 [^]*HTTP\/1\.1 200 /);
    expect(curlRetry).toMatch(/^\[\{"id":\d+,.+\}\]$/);
    expect(repeated.match(/^HTTP\/1\.1 201 /gm)).toHaveLength(2);
    expect(repeated.match(/^Idempotency-Replayed: true\r$/gim)).toHaveLength(1);
    expect(new Set(repeated.match(/"id":\d+/g)).size).toBe(1);
    expect(python).toMatch(/^\{'id': \d+, 'name': 'Rex', [^]*\n(?:\d+ .+\n){10,}$/);
  });
});
