import * as fc from 'fast-check';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { setSuspension } from '../../../tools/operators/keys/key-usage.ts';
import { unused } from '../../../functions/access/limiter-decisions.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { listKeys } from '../../../tools/operators/keys/commands/look-up.ts';
import { findKeyById } from '../../../tools/operators/keys/records.ts';
import type { KeyService } from '../../../tools/operators/keys/service.ts';
import { keyStatuses, statusOf } from '../../../tools/operators/keys/views.ts';
import { rounds } from '../../support/rounds.ts';
import { newKeyService, now, sampleKeys, type StoredKey, store } from './support.ts';

interface Store {
  readonly service: KeyService;
  /** Newest first. */
  readonly keys: readonly StoredKey[];
  readonly suspended: ReadonlySet<string>;
}

/** Few enough to walk through again and again. */
let small: Store;
/** Enough to tell a bounded read from one that grows. */
const manyKeys = 1_100;
let large: Store;

beforeAll(async () => {
  small = await newStore(rounds({ full: 400, sample: 150 }));
  large = await newStore(manyKeys);
  watch(large.service);
});

async function newStore(count: number): Promise<Store> {
  const service = await newKeyService();
  const keys = sampleKeys(count).toReversed();
  await store(service.keyTable, keys);
  const chosen = keys.filter((_, index) => index % 40 === 7);
  await Promise.all(chosen.map(({ keyHash }) => setSuspension(service.limitTable, keyHash, now + 60, now)));
  return { service, keys, suspended: new Set(chosen.map(({ keyId }) => keyId)) };
}

interface Sent {
  readonly operation: string;
  readonly items: number;
}
let sent: Sent[] = [];
afterEach(() => void (sent = []));

/** Notes every call to DynamoDB, and how many items it read. */
function watch(service: KeyService): void {
  service.keyTable.client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const result = await next(args);
        const { ScannedCount: scanned = 0 } = result.output as { ScannedCount?: number };
        sent.push({ operation: commandName, items: scanned });
        return result;
      },
    { step: 'initialize', priority: 'low', name: 'watch' },
  );
}

function expected({ owner, plan, status }: Partial<Parameters<typeof listKeys>[1]>): string[] {
  return small.keys
    .filter((key) => owner === undefined || key.owner === owner)
    .filter((key) => plan === undefined || key.plan === plan)
    .filter((key) => status === undefined || status === statusOfStored(key))
    .map(({ keyId }) => keyId);
}

/** Written apart from the code it checks. */
function statusOfStored({ keyId, status, expiresAt = Infinity }: StoredKey): string {
  if (status !== 'active') return 'revoked';
  if (expiresAt <= now) return 'expired';
  return small.suspended.has(keyId) ? 'suspended' : 'active';
}

const filter = fc.record({
  owner: fc.option(fc.constantFrom('owner-0', 'owner-6', 'nobody'), { nil: undefined }),
  plan: fc.option(fc.constantFrom(...planNames), { nil: undefined }),
  status: fc.option(fc.constantFrom(...keyStatuses), { nil: undefined }),
});

test('a list has the newest keys that match the filter, and says whether there are more', async () => {
  await fc.assert(
    fc.asyncProperty(filter, fc.integer({ min: 1, max: 100 }), async (wanted, limit) => {
      const { keys, hasMore } = await listKeys(small.service, { ...wanted, limit });
      const all = expected(wanted);
      expect(keys.map(({ keyId }) => keyId)).toEqual(all.slice(0, limit));
      expect(hasMore).toBe(all.length > limit);
    }),
    { numRuns: rounds({ full: 50, sample: 20 }) },
  );
});

describe('with many keys', () => {
  const reads = () => sent.reduce((sum, { items }) => sum + items, 0);
  const operations = () => new Set(sent.map(({ operation }) => operation));

  test('a list of all plans reads a page from each, and no more', async () => {
    await listKeys(large.service, { limit: 20 });
    expect(sent.filter(({ operation }) => operation === 'QueryCommand')).toHaveLength(planNames.length);
    expect(reads()).toBeLessThanOrEqual(planNames.length * 21);
    expect(sent.filter(({ operation }) => operation === 'BatchGetItemCommand')).toHaveLength(1);
  });

  test('a list of one owner is one Query', async () => {
    await listKeys(large.service, { owner: 'owner-1', limit: 20 });
    expect(sent.filter(({ operation }) => operation === 'QueryCommand')).toHaveLength(1);
    expect(reads()).toBeLessThanOrEqual(21);
  });

  test('one key is found by one Query and read once', async () => {
    const { keyId } = large.keys[550]!;
    expect((await findKeyById(large.service, keyId))?.keyId).toBe(keyId);
    expect(sent.map(({ operation }) => operation)).toEqual(['QueryCommand', 'GetItemCommand']);
    expect(reads()).toBe(1);
  });

  test('nothing is ever scanned', async () => {
    for (const listing of [
      {},
      { owner: 'owner-1' },
      { plan: 'pro' as const },
      { status: 'revoked' as const },
    ])
      await listKeys(large.service, { ...listing, limit: 5 });
    expect(operations()).toEqual(new Set(['QueryCommand', 'BatchGetItemCommand']));
  });
});

test('a malformed record is named by its ID and left out', async () => {
  const own = await newKeyService();
  const keys = sampleKeys(5).map((key) => ({ ...key, owner: 'one' }));
  const damaged = { ...keys[2]!, audit: 'gone' };
  await store(own.keyTable, [...keys.filter(({ keyId }) => keyId !== damaged.keyId), damaged]);
  const notes: string[] = [];
  const notify = (message: string) => void notes.push(message);
  const page = await listKeys({ ...own, notify }, { owner: 'one', limit: 10 });
  expect(page.keys).toHaveLength(4);
  expect(page.hasMore).toBe(false);
  expect(notes).toEqual([expect.stringContaining(`The record of key ${damaged.keyId} is malformed: audit:`)]);
  expect(notes[0]).not.toContain(damaged.keyHash);
});

test('revoked goes before expired, and expired before suspended', () => {
  const key = {
    ...sampleKeys(1)[0]!,
    createdAt: now,
    audit: [],
    status: 'active',
    gatewayKeyId: 'g',
    expiresAt: now,
  };
  const usage = { ...unused, deprecatedCalls: 0, suspendedUntil: now + 1 };
  expect(statusOf({ ...key, status: 'revoked' }, usage, now)).toBe('revoked');
  expect(statusOf(key, usage, now)).toBe('expired');
  expect(statusOf(key, usage, now - 1)).toBe('suspended');
  expect(statusOf(key, { ...usage, suspendedUntil: now - 1 }, now - 1)).toBe('active');
});
