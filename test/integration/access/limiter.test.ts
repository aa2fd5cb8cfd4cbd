import { randomBytes } from 'node:crypto';
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { admit, type LimitTable } from '../../../functions/access/limiter.ts';
import {
  clockTolerance,
  decide,
  type Decision,
  unused,
  type Limits,
} from '../../../functions/access/limits.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import { headersOf, ReferenceLimiter } from '../../support/reference-limiter.ts';
import { rounds } from '../../support/rounds.ts';
import { usageAfter } from '../../support/usage-model.ts';
import { rateHeaders } from '../../../functions/http/rate-headers.ts';
import { createTable, newClient } from '../../support/tables.ts';
import { unitsOf, watch } from '../../support/traffic.ts';
import { at } from '../../support/times.ts';

const { free } = fixedPlans;
// Simulated time lies ahead: DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
const midnight = noon + 43_200;

let table: LimitTable;

beforeAll(async () => {
  table = await createTable('RateLimits');
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
const countOf = (decisions: readonly Decision[], kind: Decision['kind']) =>
  decisions.filter((decision) => decision.kind === kind).length;

/** `length - 1` down to 0, each once. */
const countdown = (length: number) => Array.from({ length }, (_, index) => length - 1 - index);
const remainingOf = (decisions: readonly Decision[]) =>
  decisions.map(({ status }) => status.minute.remaining).toSorted((a, b) => b - a);

describe('requests of one key, one after the other', () => {
  const limits = fc.record({
    perMinute: fc.integer({ min: 1, max: 5 }),
    perDay: fc.integer({ min: 1, max: 14 }),
  });
  const request = fc.record({
    wait: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 70 }), fc.constant(86_400)),
    lag: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: clockTolerance })),
    newLimits: fc.option(limits, { nil: undefined, freq: 12 }),
  });

  test('get the decisions and headers of two plain fixed windows', async () => {
    await fc.assert(
      fc.asyncProperty(
        limits,
        fc.array(request, { minLength: 10, maxLength: 40 }),
        async (atFirst, requests) => {
          const key = keyOf(atFirst);
          const reference = new ReferenceLimiter();
          let time = midnight - 60;
          let inForce = atFirst;
          for (const { wait, lag, newLimits } of requests) {
            time += wait;
            inForce = newLimits ?? inForce;
            const now = time - lag;
            const decision = await key.at(now, inForce);
            const expected = reference.request(inForce, now);
            expect(decision.kind).toBe(expected.kind);
            expect(rateHeaders(decision.status, now)).toMatchObject(headersOf(expected));
            expect('retryAfter' in decision ? decision.retryAfter : undefined).toBe(expected.retryAfter);
          }
        },
      ),
      { numRuns: rounds({ full: 8, sample: 4 }) },
    );
  });

  test('store the same usage as the pure decisions', async () => {
    await fc.assert(
      fc.asyncProperty(
        limits,
        fc.array(request, { minLength: 5, maxLength: 20 }),
        async (inForce, requests) => {
          const key = keyOf(inForce);
          let usage = unused;
          let time = midnight - 60;
          for (const { wait, lag } of requests) {
            time += wait;
            usage = usageAfter(usage, decide(usage, inForce, time - lag), time - lag);
            await key.at(time - lag);
          }
          const item = await key.item();
          const stored = Object.keys(unused).map((name) => [name, Number(item?.[name] ?? 0)]);
          expect(Object.fromEntries(stored)).toEqual(usage);
        },
      ),
      { numRuns: rounds({ full: 4, sample: 2 }) },
    );
  });

  test('of two keys do not affect each other', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ wait: fc.nat({ max: 40 }), second: fc.boolean() }), { minLength: 20 }),
        async (requests) => {
          const inForce = { perMinute: 3, perDay: 12 };
          const sides = [
            { key: keyOf(inForce), reference: new ReferenceLimiter() },
            { key: keyOf(inForce), reference: new ReferenceLimiter() },
          ] as const;
          let now = noon;
          for (const { wait, second } of requests) {
            now += wait;
            const { key, reference } = sides[second ? 1 : 0];
            expect((await key.at(now)).kind).toBe(reference.request(inForce, now).kind);
          }
        },
      ),
      { numRuns: rounds({ full: 3, sample: 2 }) },
    );
  });
});

describe('requests of one key, all at once', () => {
  test('are admitted up to the limit, each with a different remaining number', async () => {
    const decisions = await keyOf(free).burst(159, noon);
    expect(remainingOf(admitted(decisions))).toEqual(countdown(60));
    expect(countOf(decisions, 'rejected')).toBe(99);
  });

  test('at the start of a minute are admitted up to its limit', async () => {
    const key = keyOf({ perMinute: 20, perDay: 1_000 });
    expect(admitted(await key.burst(40, noon - 1))).toHaveLength(20);
    const decisions = await key.burst(50, noon);
    expect(remainingOf(admitted(decisions))).toEqual(countdown(20));
    expect(decisions[0]?.status.minute.reset).toBe(noon + 60);
  });

  test('at the start of a day are admitted up to its limit', async () => {
    const key = keyOf({ perMinute: 1_000, perDay: 20 });
    expect(admitted(await key.burst(40, midnight - 1))).toHaveLength(20);
    const decisions = await key.burst(50, midnight);
    expect(countOf(decisions, 'admitted')).toBe(20);
    const days = admitted(decisions).map(({ status }) => status.day);
    expect(days.map(({ remaining }) => remaining).toSorted((a, b) => b - a)).toEqual(countdown(20));
    expect(new Set(days.map(({ reset }) => reset))).toEqual(new Set([midnight + 86_400]));
  });

  test('by clocks in different minutes are each counted in one window, and no window exceeds its limit', async () => {
    for (const limit of [1, 30]) {
      const key = keyOf({ perMinute: limit, perDay: 1_000 });
      const clocks = Array.from({ length: 90 }, (_, index) => noon - (index % 3 === 0 ? 0 : 1));
      const decisions = admitted(await Promise.all(clocks.map((now) => key.at(now))));
      const windows = Map.groupBy(decisions, ({ status }) => status.minute.reset);
      expect([...windows.keys()].filter((reset) => reset !== noon && reset !== noon + 60)).toEqual([]);
      for (const counted of windows.values()) {
        expect(remainingOf(counted)).toEqual(countdown(limit).slice(0, counted.length));
      }
      // The newer window was reached by 30 requests at least.
      expect(windows.get(noon + 60)).toHaveLength(limit);
    }
  });
});

test('a request between whose writes the key is suspended is suspended, and not counted', async () => {
  const key = keyOf(free);
  await key.at(noon - 1);
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
      status: { day: { remaining: 999 } },
    });
    expect(proxy.calls).toHaveLength(2);
  } finally {
    proxy.stop();
  }
});

describe('a day', () => {
  /** The Free plan, or a tenth of it. */
  const [perMinute, perDay] = [rounds({ full: 60, sample: 6 }), rounds({ full: 1_000, sample: 100 })];

  test(`of ${perDay} requests ends with 429 until midnight UTC, and the headers show the day`, async () => {
    const key = keyOf({ perMinute, perDay });
    for (let minute = 0; minute < 16; minute += 1) {
      expect(countOf(await key.burst(perMinute, noon + minute * 60), 'admitted')).toBe(perMinute);
    }
    const last = await key.burst(perMinute, noon + 16 * 60);
    expect(countOf(last, 'admitted')).toBe(perDay - 16 * perMinute);
    for (const now of [noon + 16 * 60, noon + 17 * 60, midnight - 1]) {
      const decision = await key.at(now);
      expect(decision).toMatchObject({ kind: 'rejected', retryAfter: midnight - now });
      expect(rateHeaders(decision.status, now)).toMatchObject({
        'X-RateLimit-Limit': String(perDay),
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': String(midnight),
      });
    }
    expect(await key.at(midnight)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: perMinute - 1 }, day: { remaining: perDay - 1 } },
    });
  });
});

describe('a clock that is slower than another function’s', () => {
  test('never reopens a window, and counts in the current one', async () => {
    const key = keyOf({ perMinute: 3, perDay: 100 });
    await key.burst(3, noon - 1);
    expect(await key.at(noon)).toMatchObject({ kind: 'admitted', status: { minute: { remaining: 2 } } });
    expect(await key.at(noon - 1)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 1, reset: noon + 60 } },
    });
    expect(await key.at(noon - 1)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 0 } },
    });
    expect(await key.at(noon - 1)).toMatchObject({ kind: 'rejected', retryAfter: 61 });
    expect(await key.at(noon)).toMatchObject({ kind: 'rejected', retryAfter: 60 });
  });

  test('never reopens a day', async () => {
    const key = keyOf({ perMinute: 10, perDay: 2 });
    await key.burst(2, midnight - 1);
    await key.burst(2, midnight);
    expect(await key.at(midnight - 1)).toMatchObject({ kind: 'rejected', retryAfter: 86_401 });
  });
});

describe('a suspension', () => {
  test('starts with the 100th rejection in a minute, lasts ten minutes, and is not extended by requests', async () => {
    const key = keyOf(free);
    expect(countOf(await key.burst(60 + 99, noon), 'suspended')).toBe(0);
    expect(await key.at(noon + 5)).toMatchObject({
      kind: 'suspended',
      retryAfter: 600,
      status: { minute: { remaining: 0, reset: noon + 605 } },
    });
    const during = await key.burst(110, noon + 300);
    expect(countOf(during, 'suspended')).toBe(110);
    expect(await key.at(noon + 604)).toMatchObject({ kind: 'suspended', retryAfter: 1 });
    expect(await key.at(noon + 605)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 }, day: { remaining: 939 } },
    });
  });

  test('starts once for any number of concurrent rejections', async () => {
    const key = keyOf({ perMinute: 1, perDay: 1_000 });
    const decisions = await key.burst(180, noon);
    expect(countOf(decisions, 'admitted')).toBe(1);
    expect(countOf(decisions, 'rejected')).toBe(99);
    expect(countOf(decisions, 'suspended')).toBe(80);
    const ends = decisions
      .filter(({ kind }) => kind === 'suspended')
      .map(({ status }) => status.minute.reset);
    expect(new Set(ends)).toEqual(new Set([noon + 600]));
  });

  test('starts with the first of two concurrent writes, and the second does not extend it', async () => {
    const limits = { perMinute: 1, perDay: 1_000 };
    const key = keyOf(limits);
    await key.burst(1 + 99, noon);
    const proxy = await DynamoDbProxy.start();
    try {
      // The first call fails to count, the second makes the 100th rejection, the third is to suspend.
      proxy.fate = async (): Promise<Fate> => {
        if (proxy.calls.length === 3) expect(await key.at(noon + 1)).toMatchObject({ kind: 'suspended' });
        return 'pass';
      };
      const client = newClient(proxy.endpoint);
      const decision = await admit(
        { ...table, client },
        { keyHash: key.keyHash, limits, now: at(noon + 20) },
      );
      expect(proxy.calls).toHaveLength(3);
      expect(decision).toMatchObject({ kind: 'suspended', retryAfter: 581 });
    } finally {
      proxy.stop();
    }
    expect(await key.at(noon + 601)).toMatchObject({ kind: 'admitted' });
  });

  test('does not count rejections over several minutes', async () => {
    const key = keyOf({ perMinute: 1, perDay: 1_000 });
    for (const minute of [0, 1]) {
      expect(countOf(await key.burst(100, noon + 60 * minute), 'rejected')).toBe(99);
    }
  });

  test('does not count rejections over a day', async () => {
    const key = keyOf({ perMinute: 100, perDay: 1 });
    expect(countOf(await key.burst(100, noon), 'rejected')).toBe(99);
    expect(countOf(await key.burst(20, noon + 60), 'rejected')).toBe(20);
    expect(Number((await key.item())?.['rejections'])).toBe(20);
  });

  test('by an operator rejects a key that was never used', async () => {
    const key = keyOf(free);
    await suspend(key.keyHash, noon + 3600);
    const decision = await key.at(noon);
    expect(decision).toMatchObject({ kind: 'suspended', retryAfter: 3600 });
    expect(rateHeaders(decision.status, noon)).toMatchObject({
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(noon + 3600),
      RateLimit: '"minute";r=0;t=3600, "day";r=1000;t=43200',
    });
    expect(await key.at(noon + 3600)).toMatchObject({ kind: 'admitted' });
  });

  test('by an operator within a minute rejects the key without counting', async () => {
    const key = keyOf(free);
    await key.at(noon);
    await suspend(key.keyHash, noon + 30);
    for (const now of [noon, noon + 1, noon + 29])
      expect(await key.at(now)).toMatchObject({ kind: 'suspended' });
    expect(await key.at(noon + 30)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 58 }, day: { remaining: 998 } },
    });
  });
});

describe('what is written', () => {
  test('for an admitted request is one update, exactly one write unit', async () => {
    const key = keyOf(free);
    await key.at(noon);
    const client = newClient();
    const traffic = watch(client);
    const { tableName } = table;
    for (let request = 0; request < 5; request += 1) {
      traffic.length = 0;
      await admit({ client, tableName }, { keyHash: key.keyHash, limits: free, now: at(noon + request) });
      expect(traffic.map(({ name }) => name)).toEqual(['UpdateItemCommand']);
      expect(unitsOf(traffic)).toBe(1);
    }
  });

  test('is updates only, and nothing is read before', async () => {
    const client = newClient();
    const traffic = watch(client);
    const { tableName } = table;
    const keyHash = newKeyHash();
    for (const now of [noon, noon + 60, noon + 61, noon + 62, midnight, midnight]) {
      await admit({ client, tableName }, { keyHash, limits: { perMinute: 1, perDay: 2 }, now: at(now) });
    }
    expect(new Set(traffic.map(({ name }) => name))).toEqual(new Set(['UpdateItemCommand']));
  });

  test('for a request in a new window is one more update, which DynamoDB refused', async () => {
    const client = newClient();
    const { tableName } = table;
    const keyHash = newKeyHash();
    const traffic = watch(client);
    for (const now of [noon, noon + 60, midnight]) {
      traffic.length = 0;
      await admit({ client, tableName }, { keyHash, limits: free, now: at(now) });
      expect(traffic).toHaveLength(2);
      expect(unitsOf(traffic)).toBe(1);
    }
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

  test('counts the admitted calls to a deprecated operation, and no others', async () => {
    const limits = { perMinute: 2, perDay: 100 };
    const key = keyOf(limits);
    const call = (now: number, deprecated: boolean) =>
      admit(table, { keyHash: key.keyHash, limits, now: at(now), deprecated });
    await call(noon, true); // starts the windows
    await call(noon, false);
    await call(noon, true); // rejected
    await call(noon + 60, false);
    await call(noon + 60, true);
    await call(noon + 60, true); // rejected
    expect(Number((await key.item())?.['deprecatedCalls'])).toBe(2);
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
