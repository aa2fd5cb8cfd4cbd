import { randomUUID } from 'node:crypto';
import { GetUsagePlansCommand, paginateGetApiKeys } from '@aws-sdk/client-api-gateway';
import { expect, inject } from 'vitest';
import { type AdministeredKey, newestKeys, gatewayValueOf } from '../../../tools/keys/records.ts';
import { hashOfKey } from '../../../functions/access/keys.ts';
import type { Plan } from '../../../functions/access/plans.ts';
import { createKey } from '../../../tools/keys/commands/create.ts';
import { type KeyService, openKeyService } from '../../../tools/keys/service.ts';
import type { LocalAddress } from '../../../tools/command-line/local-address.ts';
import { localStage } from '../../../tools/local/stack.ts';
import { isFullRun } from '../support.ts';
import { runKeys } from '../../../tools/keys/cli.ts';
import { keys } from '../../unit/keys/support.ts';
import { type Run, type RunOptions, crashInProcess } from '../../support/tool-runs.ts';

/** An owner of no keys yet, so that tests do not see each other's. */
export const newOwner = () => `owner ${randomUUID()}`;

/** An API key. */
export const keyPattern = /as_local_[0-9A-Za-z]{36}/;

function localAddress(): LocalAddress {
  const local = inject('local');
  if (local === undefined) throw new Error('Only the local service offers its keys to tests');
  const { endpoint, credentials } = local;
  return { endpoint, credentials };
}

/** Runs the key tool against the service under test. */
export function keysLocal(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return keys([...args, '--stage', localStage], { local: localAddress(), ...options });
}

/** Runs the key tool for its JSON result. */
export async function keysJson<T>(args: readonly string[], options: RunOptions = {}): Promise<T> {
  const run = await keysLocal([...args, '--json'], options);
  if (run.exitCode !== 0) throw new Error(run.stderr);
  return JSON.parse(run.stdout) as T;
}

export interface Issued {
  readonly keyId: string;
  readonly key: string;
}

/** A new key, by the steps of the command `create` without the tool around them. */
export async function create(owner: string, plan: Plan = 'free'): Promise<Issued> {
  return createKey(await openLocal(), { owner, plan });
}

/** The status that the service answers a request with this key with. */
export async function call(key: string): Promise<number> {
  const response = await fetch(`${inject('e2e').url}/pets?limit=1`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  await response.arrayBuffer();
  return response.status;
}

/** The same for several keys, one after the other: each parallel request would start functions of its own. */
export async function callEach(issued: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const key of issued) statuses.push(await call(key));
  return statuses;
}

/** Runs `cleanup` for an owner as if 16 minutes had passed. */
export async function cleanUpLater(owner: string): Promise<readonly { keyId: string; reason: string }[]> {
  const later = () => Date.now() + 16 * 60_000;
  const run = await keysLocal(['cleanup', '--owner', owner, '--json'], { clock: later });
  expect(run).toMatchObject({ exitCode: 0 });
  return (JSON.parse(run.stdout) as { removed: { keyId: string; reason: string }[] }).removed;
}

/**
 * The steps to crash after, with their numbers: all in a full run, otherwise those around the write of a record, which
 * decides whether the command takes effect.
 */
export function crashPoints(steps: readonly string[]): (readonly [step: string, count: number])[] {
  const all = steps.map((step, index) => [step, index + 1] as const);
  return all.filter(([step, count]) => isFullRun || step === 'record' || steps[count] === 'record');
}

/** Numbers of the calls to fail: all in a full run, otherwise of those around the write of a record. */
export function failurePoints(calls: readonly string[]): readonly number[] {
  const write = calls.indexOf('TransactWriteItems');
  return [...calls.keys()].filter((number) => isFullRun || Math.abs(number - write) <= 1);
}

/** The steps of a run that succeeds. */
export async function stepsOf(args: readonly string[]): Promise<string[]> {
  const steps: string[] = [];
  const run = await keysLocal(args, { afterStep: (step) => void steps.push(step) });
  expect(run).toMatchObject({ exitCode: 0 });
  return steps;
}

/** Runs a command that stops for good after so many steps. Returns the key that it had shown by then, if any. */
export async function crash(args: readonly string[], steps: number): Promise<string[]> {
  const local = { local: localAddress() };
  const { stdout } = await crashInProcess(runKeys, [...args, '--stage', localStage], steps, local);
  return keysIn(stdout());
}

/** The key in what a run printed, if there is one. */
export function keysIn(text: string): string[] {
  return keyPattern.exec(text)?.slice(0, 1) ?? [];
}

let opened: Promise<KeyService> | undefined;

/** One for all tests of a file: each opens connections of its own. */
export function openLocal(): Promise<KeyService> {
  return (opened ??= openKeyService({ stage: localStage, ...localAddress() }));
}

export async function recordsOf(service: KeyService, owner: string): Promise<readonly AdministeredKey[]> {
  return (await newestKeys(service, { owner })).keys;
}

/**
 * Compares the three places of an owner's keys: every valid record has its API Gateway key, with the right value, in
 * the usage plan of its plan and no other, and there is no other API Gateway key.
 *
 * @param revealed every key that was shown to anyone
 * @returns the ids of the valid keys, newest first
 */
export async function expectConsistent(
  service: KeyService,
  owner: string,
  revealed: readonly string[],
): Promise<string[]> {
  const now = Date.now() / 1000;
  const records = await recordsOf(service, owner);
  const valid = records.filter(({ status, expiresAt = Infinity }) => status === 'active' && expiresAt > now);

  const client = service.apiGateway;
  const gatewayKeys = [];
  for await (const { items = [] } of paginateGetApiKeys({ client, pageSize: 500 }, { includeValues: true }))
    gatewayKeys.push(...items.filter(({ description }) => description?.endsWith(`owner ${owner}`)));
  expect(gatewayKeys.map(({ id, name, value }) => ({ id, name, value })).toSorted(byName)).toEqual(
    valid
      .map((key) => ({ id: key.gatewayKeyId, name: key.keyId, value: gatewayValueOf(key) }))
      .toSorted(byName),
  );
  for (const { plan, gatewayKeyId } of valid) {
    expect(await plansOf(service, gatewayKeyId)).toEqual([service.usagePlanIds[plan]]);
  }

  const validHashes = new Set(valid.map(({ keyHash }) => keyHash));
  const expected = revealed.map((key) => (validHashes.has(hashOfKey(key)) ? 200 : 401));
  const answered = (await callEach(revealed)).map((status) => (status === 429 ? 200 : status));
  expect(answered).toEqual(expected);
  // No valid key that nobody was shown.
  expect(validHashes.difference(new Set(revealed.map(hashOfKey)))).toEqual(new Set());
  return valid.map(({ keyId }) => keyId);
}

/** The usage plans that a key of API Gateway is in. */
export async function plansOf({ apiGateway }: KeyService, gatewayKeyId = ''): Promise<string[]> {
  const { items = [] } = await apiGateway.send(new GetUsagePlansCommand({ keyId: gatewayKeyId }));
  return items.map(({ id = '' }) => id);
}

function byName(a: { name?: string | undefined }, b: { name?: string | undefined }): number {
  return (a.name ?? '') < (b.name ?? '') ? -1 : 1;
}
