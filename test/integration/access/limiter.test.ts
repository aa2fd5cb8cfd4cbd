import { randomBytes } from 'node:crypto';
import { GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from 'vitest';
import { admit, type LimitTable } from '../../../functions/access/limiter.ts';
import type { Limits } from '../../../functions/access/plans.ts';
import type { Decision, Usage } from '../../../functions/access/limiter-decisions.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import { createTable, newClient } from '../../support/create-tables.ts';
import { unitsOf, watch } from '../../support/traffic.ts';
import { at } from '../../support/times.ts';

const { free } = fixedPlans;
// Simulated time lies ahead: DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
const midnight = noon + 43_200;

let table: LimitTable;

beforeAll(async () => {
  table = await createTable('rateLimits');
});

const newKeyHash = () => randomBytes(32).toString('hex');

/** Sends requests of one key one after the other. */
function keyOf(limits: Limits, keyHash = newKeyHash()) {
  return {
    keyHash,
    at: (now: number, own = limits): Promise<Decision> =>
      admit(table, { keyHash, limits: own, now: at(now) }),
    /** So many at once, all answers. */
    burst: (count: number, now: number): Promise<Decision[]> =>
      Promise.all(Array.from({ length: count }, () => admit(table, { keyHash, limits, now: at(now) }))),
    put: (usage: Partial<Usage>) =>
      table.client.send(new PutCommand({ TableName: table.tableName, Item: { keyHash, ...usage } })),
    item: async (): Promise<Record<string, unknown> | undefined> => {
      const { Item: item } = await table.client.send(
        new GetCommand({ TableName: table.tableName, Key: { keyHash } }),
      );
      return item;
    },
  };
}

/** What an operator does to a key that has to be stopped. */
async function suspend(keyHash: string, until: number): Promise<void> {
  await table.client.send(
    new UpdateCommand({
      TableName: table.tableName,
      Key: { keyHash },
      UpdateExpression: 'SET suspendedUntil = :until',
      ExpressionAttributeValues: { ':until': until },
    }),
  );
}

const admitted = (decisions: readonly Decision[]) => decisions.filter(({ kind }) => kind === 'admitted');
/** `length - 1` down to 0, each once. */
const countdown = (length: number) => Array.from({ length }, (_, index) => length - 1 - index);
const inOrder = (statuses: readonly { readonly remaining: number }[]) =>
  statuses.map(({ remaining }) => remaining).toSorted((a, b) => b - a);

describe('requests of one key, all at once', () => {
  test.each([
    ['minute', { perMinute: 20, perDay: 1_000 }, noon],
    ['day', { perMinute: 1_000, perDay: 20 }, midnight],
  ] as const)('at the start of a %s are admitted up to its limit', async (window, limits, start) => {
    const key = keyOf(limits);
    expect(admitted(await key.burst(30, start - 1))).toHaveLength(20);
    const statuses = admitted(await key.burst(30, start)).map(({ status }) => status[window]);
    expect(inOrder(statuses)).toEqual(countdown(20));
    expect(new Set(statuses.map(({ reset, length }) => reset - length))).toEqual(new Set([start]));
  });
});

test.each([
  ['of the day', { day: noon - 43_200, dayCount: 1 }],
  ['of the day before', { day: noon - 129_600, dayCount: 5 }],
])('a request between whose writes a key with requests %s is suspended is not counted', async (_, days) => {
  const key = keyOf(free);
  await key.put({ minute: noon - 60, minuteCount: 1, ...days });
  const proxy = await DynamoDbProxy.start();
  try {
    // Its first write fails, because the minute is over.
    proxy.fate = async (): Promise<Fate> => {
      if (proxy.calls.length === 2) await suspend(key.keyHash, noon + 10);
      return 'pass';
    };
    const client = newClient(proxy.endpoint);
    const request = { keyHash: key.keyHash, limits: free, now: at(noon) };
    expect(await admit({ ...table, client }, request)).toMatchObject({
      kind: 'suspended',
      retryAfter: 10,
    });
    expect(proxy.calls).toHaveLength(2);
    expect(Number((await key.item())?.['dayCount'])).toBe(days.dayCount);
  } finally {
    proxy.stop();
  }
});

test('a suspension starts with the first of two concurrent writes, and the second does not extend it', async () => {
  const limits = { perMinute: 1, perDay: 1_000 };
  const key = keyOf(limits);
  // One more rejection suspends it.
  const rejected = { rejectedSince: noon, rejections: 224 };
  await key.put({ minute: noon, minuteCount: 1, day: noon - 43_200, dayCount: 1, ...rejected });
  const proxy = await DynamoDbProxy.start();
  try {
    // The first call fails to count, the second to suspend.
    proxy.fate = async (): Promise<Fate> => {
      if (proxy.calls.length === 2) expect(await key.at(noon + 11)).toMatchObject({ kind: 'suspended' });
      return 'pass';
    };
    const client = newClient(proxy.endpoint);
    const decision = await admit({ ...table, client }, { keyHash: key.keyHash, limits, now: at(noon + 20) });
    expect(proxy.calls).toHaveLength(2);
    expect(decision).toMatchObject({ kind: 'suspended', retryAfter: 591 });
  } finally {
    proxy.stop();
  }
  expect(await key.at(noon + 611)).toMatchObject({ kind: 'admitted' });
});

describe('what is written', () => {
  test('is one update, or two if the first is refused, and nothing is read before', async () => {
    const client = newClient();
    const { tableName } = table;
    const keyHash = newKeyHash();
    const traffic = watch(client);
    const updates = async (now: number) => {
      traffic.length = 0;
      await admit({ client, tableName }, { keyHash, limits: { perMinute: 2, perDay: 3 }, now: at(now) });
      expect(new Set(traffic.map(({ name }) => name))).toEqual(new Set(['UpdateItemCommand']));
      expect(unitsOf(traffic)).toBe(1);
      return traffic.length;
    };
    // The last two are rejected.
    const written = [];
    for (const now of [noon, noon + 1, noon + 60, noon + 61, noon + 120]) written.push(await updates(now));
    expect(written).toEqual([2, 1, 2, 2, 2]);
  });

  test('expires 90 days after the last day of use', async () => {
    const key = keyOf(free);
    const expiry = async () => Number((await key.item())?.['expiresAt']);
    await key.at(noon);
    expect(await expiry()).toBe(midnight + 90 * 86_400);
    await key.at(noon + 120);
    expect(await expiry()).toBe(midnight + 90 * 86_400);
    await key.at(midnight);
    expect(await expiry()).toBe(midnight + 91 * 86_400);
  });
});

describe('an error', () => {
  test('for a missing table is thrown', async () => {
    const missing = { ...table, tableName: 'no-such-table' };
    await expect(
      admit(missing, { keyHash: newKeyHash(), limits: free, now: at(noon) }),
    ).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
  });

  test('for an aborted request is thrown', async () => {
    const abort = new AbortController();
    abort.abort();
    const given = admit(table, { keyHash: newKeyHash(), limits: free, now: at(noon) }, abort.signal);
    await expect(given).rejects.toMatchObject({ name: 'AbortError' });
  });

  test.each<[string, Fate]>([
    ['never answers', 'hang'],
    ['throttles', { status: 400, type: 'ProvisionedThroughputExceededException' }],
    ['fails', { status: 500, type: 'InternalServerError' }],
  ])(
    'of the write that counts a rejection, because DynamoDB %s, keeps the rejection',
    async (_what, fate) => {
      const key = keyOf({ perMinute: 1, perDay: 100 });
      await key.at(noon);
      const proxy = await DynamoDbProxy.start();
      const abort = new AbortController();
      try {
        // The first write shows that the minute is full, the second one is to count the rejection.
        proxy.fate = () => {
          if (proxy.calls.length === 1) return 'pass';
          setImmediate(() => abort.abort());
          return fate;
        };
        const client = newClient(proxy.endpoint);
        const request = { keyHash: key.keyHash, limits: { perMinute: 1, perDay: 100 }, now: at(noon) };
        expect(await admit({ ...table, client }, request, abort.signal)).toMatchObject({
          kind: 'rejected',
          retryAfter: 60,
          status: { minute: { remaining: 0 } },
        });
      } finally {
        proxy.stop();
      }
    },
  );
});
