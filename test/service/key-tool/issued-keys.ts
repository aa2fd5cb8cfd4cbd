import type { Fate } from 'dynamodb-interleavings';
import { expect } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import type { KeyRecord, Stored } from './keys.model.ts';
import type { Run } from '../commands.ts';
import type { World } from '../world.ts';

// Issues keys by commands, and reads what operators see of them and what is stored.

export interface Issued {
  readonly keyId: string;
  readonly key: string;
}

export async function issue(world: World, options = '--owner Ada --plan free'): Promise<Issued> {
  return (await resultOf(world.run(`keys create ${options} --json`))) as unknown as Issued;
}

/** The JSON that a command prints, which ends well. */
export async function resultOf(running: Promise<Run>): Promise<Readonly<Record<string, unknown>>> {
  const { exitCode, stdout, stderr } = await running;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr });
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
}

/** The JSON of a command of the key tool, which ends well. */
export function json(world: World, command: string): Promise<Readonly<Record<string, unknown>>> {
  return resultOf(world.run(`keys ${command} --json`));
}

export function recordsOf({ tables }: World): KeyRecord[] {
  return tables.items('ApiKeys') as unknown as KeyRecord[];
}

export function recordOf(world: World, keyId: string): KeyRecord {
  return recordsOf(world).find((record) => record.keyId === keyId)!;
}

/** What was done to a key, by its audit trail. */
export function didsOf(world: World, keyId: string): string[] {
  return recordOf(world, keyId).audit.map(({ did }) => did);
}

/** The usage and suspension that are stored of a key. */
export function usageOf({ tables }: World, key: string): Readonly<Record<string, number>> {
  const keyHash = hashOfKey(key);
  return (tables.items('RateLimits').find((item) => item['keyHash'] === keyHash) ?? {}) as Record<
    string,
    number
  >;
}

export function storedOf(world: World): Stored {
  const { now, apiKeys } = world;
  const plansOf = (id: string) => apiKeys.plansOfKey(id).map(({ name }) => name);
  return { now, records: recordsOf(world), gatewayKeys: apiKeys.keys(), plansOf };
}

/** API Gateway's ID of a key. */
export function gatewayIdOf(world: World, { keyId }: Pick<Issued, 'keyId'>): string {
  return recordOf(world, keyId).gatewayKeyId;
}

/** Makes the API Gateway key that a command leaves over when it ends half way. */
export function leaveOver({ apiKeys }: World, owner = 'Ada'): Stored['gatewayKeys'][number] {
  return apiKeys.create({
    name: 'key_06fz1m4tqabcdefg',
    description: `AnimalStore-local, owner ${owner}`,
    enabled: true,
  });
}

/** Orders keys as lists do. IDs of the same time are in a random order. */
export function byId(one: { readonly keyId: string }, other: { readonly keyId: string }): number {
  return one.keyId > other.keyId ? -1 : 1;
}

/** The keys in what a command has printed. */
export function keysIn(text: string): string[] {
  return text.match(/as_[a-z]+_[0-9A-Za-z]{36}/g) ?? [];
}

/** Something that happens before calls of a command, the first so many of an operation. @param command its start */
export function before(
  world: World,
  [command, operation]: readonly [command: string, operation: string],
  happens: (left: number) => Promise<unknown>,
  times = 1,
): void {
  let left = times;
  world.meets = async (call): Promise<Fate> => {
    const isMeant = call.operation === operation && call.name.startsWith(`keys ${command}`);
    if (isMeant && (left -= 1) >= 0) await happens(left);
    return 'answered';
  };
}

/** What the service answers a request with a key with. */
export async function answer(
  world: World,
  key: string,
): Promise<'admitted' | 'rejected' | 'suspended' | 'unauthorized'> {
  const { status, code } = await world.send(key);
  if (code === 'rate_limit_exceeded') return 'rejected';
  if (code === 'key_suspended') return 'suspended';
  expect([401, 404]).toContain(status);
  return status === 401 ? 'unauthorized' : 'admitted';
}

/** The indefinite end of a suspension. */
export const good = 253_402_300_799;
/** The time as commands print it. @param seconds Unix seconds */
export const timeText = (seconds: number): string =>
  `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`;
