import { randomUUID } from 'node:crypto';
import { GetUsagePlansCommand, paginateGetApiKeys } from '@aws-sdk/client-api-gateway';
import { expect } from 'vitest';
import { hashOfKey } from '../../functions/access/keys.ts';
import type { Plan } from '../../functions/access/plans.ts';
import type { LocalAddress } from '../../tools/operators/command-line/local-address.ts';
import { runKeys } from '../../tools/operators/keys/cli.ts';
import { createKey } from '../../tools/operators/keys/commands/create.ts';
import { type AdministeredKey, gatewayValueOf, newestKeys } from '../../tools/operators/keys/records.ts';
import { type KeyService, openKeyService } from '../../tools/operators/keys/service.ts';
import { localStage } from '../../tools/contributors/local/stack.ts';
import { crashInProcess, type Run, type RunOptions, runInProcess } from './run-in-process.ts';

export interface Issued {
  readonly keyId: string;
  readonly key: string;
}

/** An owner of no keys yet, so that tests do not see each other's. */
export const newOwner = () => `owner ${randomUUID()}`;

/** An API key. */
export const keyPattern = /as_local_[0-9A-Za-z]{36}/;

/** The key in what a run printed, if there is one. */
export function keysIn(text: string): string[] {
  return keyPattern.exec(text)?.slice(0, 1) ?? [];
}

/**
 * The key tool in this process, for tests that look at what it leaves.
 *
 * @param address where it finds AWS
 * @param call the status that the service answers a request with a key with
 */
export function keyTool(address: () => LocalAddress, call: (key: string) => Promise<number>) {
  let opened: Promise<KeyService> | undefined;
  /** One for all tests of a file: each opens connections of its own. */
  const openLocal = () => (opened ??= openKeyService({ stage: localStage, ...address() }));

  const keysLocal = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
    runInProcess(runKeys, [...args, '--stage', localStage], { local: address(), ...options });

  /** Runs the tool for its JSON result. */
  async function keysJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
    const run = await keysLocal([...args, '--json'], options);
    if (run.exitCode !== 0) throw new Error(run.stderr);
    return JSON.parse(run.stdout) as T;
  }

  /** A new key, by the steps of the command `create` without the tool around them. */
  const create = async (owner: string, plan: Plan = 'free'): Promise<Issued> =>
    createKey(await openLocal(), { owner, plan });

  /** One after the other: each parallel request would start functions of its own. */
  async function callEach(issued: readonly string[]): Promise<number[]> {
    const statuses: number[] = [];
    for (const key of issued) statuses.push(await call(key));
    return statuses;
  }

  /** Runs `cleanup` for an owner as if 16 minutes had passed. */
  async function cleanUpLater(owner: string): Promise<readonly { keyId: string; reason: string }[]> {
    const clock = () => Date.now() + 16 * 60_000;
    interface Removed {
      readonly removed: readonly { readonly keyId: string; readonly reason: string }[];
    }
    return (await keysJson<Removed>(['cleanup', '--owner', owner], { clock })).removed;
  }

  /** Runs a command that stops for good after so many steps. Returns the key that it had shown by then, if any. */
  async function crash(args: readonly string[], steps: number): Promise<string[]> {
    const all = [...args, '--stage', localStage];
    const { stdout } = await crashInProcess(runKeys, all, steps, { local: address() });
    return keysIn(stdout());
  }

  const recordsOf = async (service: KeyService, owner: string): Promise<readonly AdministeredKey[]> =>
    (await newestKeys(service, { owner })).keys;

  /** The usage plans that a key of API Gateway is in. */
  async function plansOf({ apiGateway }: KeyService, gatewayKeyId = ''): Promise<string[]> {
    const { items = [] } = await apiGateway.send(new GetUsagePlansCommand({ keyId: gatewayKeyId }));
    return items.map(({ id = '' }) => id);
  }

  /** The owner's keys in API Gateway. */
  async function gatewayKeysOf({ apiGateway: client }: KeyService, owner: string) {
    const pages = paginateGetApiKeys({ client, pageSize: 500 }, { includeValues: true });
    const found = (await Array.fromAsync(pages)).flatMap(({ items = [] }) => items);
    return found.filter(({ description }) => description?.endsWith(`owner ${owner}`));
  }

  /**
   * Compares the three places of an owner's keys: every valid record has its API Gateway key, with the right value, in
   * the usage plan of its plan and no other, and there is no other API Gateway key.
   *
   * @param revealed every key that was shown to anyone
   * @returns the ids of the valid keys, newest first
   */
  async function expectConsistent(
    service: KeyService,
    owner: string,
    revealed: readonly string[],
  ): Promise<string[]> {
    const now = Date.now() / 1000;
    const records = await recordsOf(service, owner);
    const valid = records.filter(
      ({ status, expiresAt = Infinity }) => status === 'active' && expiresAt > now,
    );
    const gatewayKeys = await gatewayKeysOf(service, owner);
    expect(gatewayKeys.map(({ id, name, value }) => ({ id, name, value })).toSorted(byName)).toEqual(
      valid
        .map((key) => ({ id: key.gatewayKeyId, name: key.keyId, value: gatewayValueOf(key) }))
        .toSorted(byName),
    );
    for (const { plan, gatewayKeyId } of valid)
      expect(await plansOf(service, gatewayKeyId)).toEqual([service.usagePlanIds[plan]]);

    const validHashes = new Set(valid.map(({ keyHash }) => keyHash));
    const expected = revealed.map((key) => (validHashes.has(hashOfKey(key)) ? 200 : 401));
    const answered = (await callEach(revealed)).map((status) => (status === 429 ? 200 : status));
    expect(answered).toEqual(expected);
    // No valid key that nobody was shown.
    expect(validHashes.difference(new Set(revealed.map(hashOfKey)))).toEqual(new Set());
    return valid.map(({ keyId }) => keyId);
  }

  return {
    callEach,
    cleanUpLater,
    crash,
    create,
    expectConsistent,
    gatewayKeysOf,
    keysJson,
    keysLocal,
    openLocal,
    plansOf,
    recordsOf,
  };
}

function byName(a: { name?: string | undefined }, b: { name?: string | undefined }): number {
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}
