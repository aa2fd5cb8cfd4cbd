import { randomUUID } from 'node:crypto';
import { expect, inject } from 'vitest';
import { hashOfKey } from '../../../../functions/access/keys.ts';
import type { Plan } from '../../../../functions/access/plans.ts';
import { createKey } from '../../../../tools/operators/keys/commands/issue.ts';
import { isValid, newestKeys } from '../../../../tools/operators/keys/records.ts';
import { openKeyService } from '../../../../tools/operators/keys/service.ts';
import type { Run, RunOptions } from '../../../support/run-in-process.ts';
import { keys } from '../../../unit/keys/support.ts';

/** The key tool in this process, against the service under test. */

export interface Issued {
  readonly keyId: string;
  readonly key: string;
}

/** An owner of no keys yet, so that tests do not see each other's. */
export const newOwner = () => `owner ${randomUUID()}`;

/** Only the local service offers its keys to tests. */
const address = () => inject('local')!;

let opened: ReturnType<typeof openKeyService> | undefined;
/** One for all tests of a file: each opens connections of its own. */
const openLocal = () => (opened ??= openKeyService({ stage: 'local', ...address() }));

/** The status that the service answers a request with this key with. */
export async function call(key: string): Promise<number> {
  const response = await fetch(`${inject('service').url}/pets?limit=1`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await response.arrayBuffer();
  return response.status;
}

export const keysLocal = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
  keys([...args, '--stage', 'local'], { local: address(), ...options });

/** Runs the tool for its JSON result. */
export async function keysJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  const run = await keysLocal([...args, '--json'], options);
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as T;
}

/** A new key, by the steps of the command `create` without the tool around them. */
export const create = async (owner: string, plan: Plan = 'free'): Promise<Issued> =>
  createKey(await openLocal(), { owner, plan });

/** The IDs of an owner's valid keys, newest first: they get 200, and others 401. @param revealed all keys that were shown */
export async function validKeys(owner: string, revealed: readonly string[]): Promise<string[]> {
  const { keys: records } = await newestKeys(await openLocal(), { owner });
  const valid = records.filter((key) => isValid(key, Date.now() / 1000));
  const hashes = new Set(valid.map(({ keyHash }) => keyHash));
  // One after the other: each parallel request would start functions of its own.
  for (const key of revealed) expect(await call(key)).toBe(hashes.has(hashOfKey(key)) ? 200 : 401);
  return valid.map(({ keyId }) => keyId);
}
