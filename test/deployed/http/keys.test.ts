import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { isFullRun, isLocal } from './support.ts';

/** The key tool beside the service over HTTP. What each command does is in test/service. */

interface Issued {
  readonly keyId: string;
  readonly key: string;
}

/** Only the local service offers its keys to tests. */
const address = () => inject('local')!;

/** Runs the tool for its JSON result. */
async function keysJson<T>(...args: readonly string[]): Promise<T> {
  const all = [...args, '--stage', 'local', '--json'];
  const { exitCode, stdout, stderr } = await runInProcess(runKeys, all, { local: address() });
  if (exitCode !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as T;
}

/** Each has an owner without keys, so that tests do not see each other's. */
const create = (owner = `owner ${randomUUID()}`) =>
  keysJson<Issued>('create', '--owner', owner, '--plan', 'free');

/** The status that the service answers a request with this key with. */
async function call(key: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}` };
  const response = await fetch(`${inject('service').url}/pets?limit=1`, { headers });
  await response.arrayBuffer();
  return response.status;
}

test.runIf(isLocal)(
  'a key is let in when it is issued, also on another plan, until it is replaced or revoked',
  async () => {
    const first = await create();
    expect(await call(first.key)).toBe(200);
    const { days } = await keysJson<{ days: object[] }>('usage', first.keyId, '--days', '2');
    expect(days).toContainEqual(expect.objectContaining({ requests: 1 }));
    await keysJson('change-plan', first.keyId, '--plan', 'business');
    expect(await call(first.key)).toBe(200);
    const second = await keysJson<Issued>('rotate', first.keyId, '--overlap', '0s');
    expect([await call(first.key), await call(second.key)]).toEqual([401, 200]);
    await keysJson('revoke', second.keyId);
    expect(await call(second.key)).toBe(401);
  },
);

describe.runIf(isLocal)('a reader that goes away', () => {
  /** Runs the program in a shell: `true` reads nothing and ends at once. */
  async function inShell(redirection: string, ...args: string[]) {
    const program = join(import.meta.dirname, '..', '..', '..', 'tools', 'operators', 'keys', 'main.ts');
    const { port } = new URL(address().endpoint);
    const script = `"$0" "$@" ${redirection}; exit "\${PIPESTATUS[0]}"`;
    const all = [program, ...args, '--stage', 'local', '--port', port];
    return promisify(execFile)('bash', ['--norc', '-c', script, process.execPath, ...all]);
  }

  test('of standard output withdraws a key that nobody can have read, and is no failure of the network', async () => {
    const owner = `owner ${randomUUID()}`;
    await expect(inShell('| true', 'create', '--owner', owner, '--plan', 'free')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^[^\n]+: created free\n[^\n]+: revoked as it could not be shown\nThe result could not be written to standard output \(write EPIPE\)\. key_\w{16} was revoked\.\n$/,
      ),
    });
    const { keys } = await keysJson<{ keys: object[] }>('list', '--owner', owner);
    expect(keys).toMatchObject([{ status: 'revoked' }]);
    if (isFullRun) expect(await inShell('| true', 'list', '--owner', owner)).toMatchObject({ stderr: '' });
  });

  test('of standard error does not end a change half way', async () => {
    const { keyId, key } = await create();
    expect(await inShell('2> >(true)', 'revoke', keyId)).toMatchObject({ stdout: `${keyId} is revoked.\n` });
    expect(await call(key)).toBe(401);
  });
});
