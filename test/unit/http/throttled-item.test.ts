import { ProvisionedThroughputExceededException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { fullBucket, takeToken, type Throttle } from 'cdk-offline/metering';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LimiterMemory } from '../../../functions/access/limiter-memory.ts';
import type { Caller } from '../../../functions/access/caller.ts';
import { limitsOf, type Plan } from '../../../functions/access/plans.ts';
import { Clock } from '../../../functions/dynamodb/clock.ts';
import { metrics } from '../../../functions/http/metrics.ts';
import { rateLimiter } from '../../../functions/http/limit-requests.ts';
import { Recorder } from '../../../functions/http/telemetry.ts';
import { usagePlanSettings } from '../../../lib/api/usage-plans.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import { MemoryTables } from '../../support/memory-tables.ts';
import { rounds } from '../../support/rounds.ts';
import { at } from '../../support/times.ts';

// A key that sends more than its item can take: DynamoDB writes one item 1,000 times a second, and throttles the rest.

const noon = Date.parse('2026-07-01T12:00:00Z');
const itemLimit: Throttle = { rate: 1_000, burst: 1_000 };
/** Milliseconds that an execution environment needs for a request. It serves one at a time. */
const serviceTime = 50;
/** Execution environments that the account has. */
const concurrency = 1_000;

function callerOf(plan: Plan, perMinute = 0): Caller {
  const limits = limitsOf(plan) ?? { perMinute, perDay: perMinute * 1_440 };
  return { keyHash: 'a'.repeat(64), keyId: 'key_1', plan, limits, expiresAt: 0 };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: noon });
});

afterEach(() => {
  vi.useRealTimers();
});

/** An API whose partition with the counters takes 1,000 writes a second. */
class Api {
  readonly tables = new MemoryTables();
  #partition = fullBucket(itemLimit, noon);
  /** A function of its own for each, with the time from which it is idle. The last one that was used is used first. */
  readonly #environments: { readonly limit: ReturnType<typeof rateLimiter>; busyUntil: number }[] = [];
  readonly #client = {
    send: async (command: unknown) => {
      this.write();
      return this.tables.send(command);
    },
  } as unknown as DynamoDBDocumentClient;

  /** Takes a write of the partition. @throws ProvisionedThroughputExceededException */
  write(): void {
    const { admitted, bucket } = takeToken(itemLimit, this.#partition, Date.now());
    this.#partition = bucket;
    if (!admitted) throw new ProvisionedThroughputExceededException({ message: 'Throttled', $metadata: {} });
  }

  /** The status of a request at `now`: 200, 429, or 503 if no environment is free. */
  async request(caller: Caller, now: number): Promise<200 | 429 | 503> {
    vi.setSystemTime(now);
    let environment = this.#environments.findLast(({ busyUntil }) => busyUntil <= now);
    if (environment === undefined) {
      if (this.#environments.length === concurrency) return 503;
      const table = { client: this.#client, tableName: 'RateLimits' };
      const limit = rateLimiter({ table, clock: new Clock(), deprecated: false, timeout: 1_000 });
      environment = { limit, busyUntil: 0 };
      this.#environments.push(environment);
    }
    environment.busyUntil = now + serviceTime;
    const { rejection } = await environment.limit(caller, new Recorder());
    return rejection === undefined ? 200 : 429;
  }
}

/** Those of the requests, at these milliseconds after noon, that pass the usage plan and are served. */
async function served(api: Api, caller: Caller, times: readonly number[]): Promise<number> {
  const { rateLimit: rate, burstLimit: burst } = usagePlanSettings(caller.plan, presets.prod.accountThrottle);
  let bucket = fullBucket({ rate, burst }, noon);
  let count = 0;
  for (const time of times) {
    const taken = takeToken({ rate, burst }, bucket, noon + time);
    bucket = taken.bucket;
    if (taken.admitted && (await api.request(caller, noon + time)) === 200) count += 1;
  }
  return count;
}

/** Times of requests, evenly spread. */
const spread = (count: number, from: number, milliseconds: number) =>
  Array.from({ length: count }, (_, index) => from + (index * milliseconds) / count);

describe('a key that floods its own item', () => {
  const small = callerOf('enterprise', 100);

  test('gets no more than its limit', async () => {
    expect(await served(new Api(), small, spread(10_000, 0, 1_000))).toBe(100);
  });

  test('gets nothing while it is suspended', async () => {
    const api = new Api();
    const item = { keyHash: small.keyHash, suspendedUntil: noon / 1000 + 600 };
    api.tables.send(new PutCommand({ TableName: 'RateLimits', Item: item }));
    const pulses = Array.from({ length: rounds({ full: 12, sample: 3 }) }, (_, pulse) => 5_000 * pulse);
    const times = pulses.flatMap((start) => spread(5_000, start, 1_000));
    expect(await served(api, small, times)).toBe(0);
  });

  test('gets more than its limit once a minute, before its environments know that the minute is full', async () => {
    const api = new Api();
    const business = callerOf('business');
    const first = await served(api, business, spread(5_000, 0, 500));
    expect(first).toBeGreaterThan(1_000);
    expect(first).toBeLessThan(2_000);
    expect(await served(api, business, spread(5_000, 2_000, 500))).toBe(0);
  });
});

test('a key whose item is throttled for the sake of another one goes on', async () => {
  const api = new Api();
  const neighbour = { ...callerOf('pro'), keyHash: 'b'.repeat(64) };
  const flood = spread(20_000, 0, 4_000).map((time) => ({ time, caller: callerOf('enterprise', 100) }));
  // A wave, as parallel as the client can, of everything that the neighbour may send in a minute.
  const wave = spread(300, 2_000, 1_000).map((time) => ({ time, caller: neighbour }));
  const statuses: number[] = [];
  for (const { time, caller } of [...flood, ...wave].toSorted((a, b) => a.time - b.time)) {
    const status = await api.request(caller, noon + time);
    if (caller === neighbour) statuses.push(status);
  }
  expect(statuses).toEqual(Array.from({ length: 300 }, () => 200));
});

describe('one execution environment whose table is throttled', () => {
  const throttled = {
    send: () => {
      throw new ProvisionedThroughputExceededException({ message: 'Throttled', $metadata: {} });
    },
  } as unknown as DynamoDBDocumentClient;

  test('admits the limit of each minute and of each day uncounted, then rejects', async () => {
    const table = { client: throttled, tableName: 'RateLimits' };
    const limit = rateLimiter({ table, clock: new Clock(), deprecated: false, timeout: 1_000 });
    const caller = { ...callerOf('free'), limits: { perMinute: 100, perDay: 150 } };
    const admitted = async (now: number) => {
      vi.setSystemTime(now);
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, async () => limit(caller, new Recorder())),
      );
      return outcomes.filter(({ rejection }) => rejection === undefined).length;
    };
    expect(await admitted(noon)).toBe(100);
    expect(await admitted(noon + 59_999)).toBe(0);
    expect(await admitted(noon + 60_000)).toBe(50);
    expect(await admitted(noon + 120_000)).toBe(0);
    expect(await admitted(noon + 86_400_000)).toBe(100);
  });

  test('says why and until when it rejects, and reports the failure', async () => {
    const tables = new MemoryTables();
    const caller = callerOf('enterprise', 1);
    let throttles = false;
    const client = {
      send: async (command: unknown) => (throttles ? throttled.send(command as never) : tables.send(command)),
    } as unknown as DynamoDBDocumentClient;
    const limit = rateLimiter({
      table: { client, tableName: 'RateLimits' },
      clock: new Clock(),
      deprecated: false,
      timeout: 1_000,
    });
    for (const item of [{ suspendedUntil: noon / 1000 + 17 }, {}]) {
      throttles = false;
      tables.send(new PutCommand({ TableName: 'RateLimits', Item: { keyHash: caller.keyHash, ...item } }));
      await limit(caller, new Recorder());
      throttles = true;
      const recorder = new Recorder();
      const { headers, rejection } = await limit(caller, recorder);
      const suspended = 'suspendedUntil' in item;
      expect(rejection).toMatchObject({
        code: suspended ? 'key_suspended' : 'rate_limit_exceeded',
        headers: { 'Retry-After': suspended ? '17' : '60' },
      });
      expect(headers).toMatchObject({ 'X-RateLimit-Limit': '1', 'X-RateLimit-Remaining': '0' });
      expect([...recorder.counts.keys()]).toEqual([suspended ? metrics.suspended : metrics.rejected]);
      expect(recorder.errors).toMatchObject([{ name: 'ProvisionedThroughputExceededException' }]);
    }
  });
});

test('an environment remembers the 1,000 keys that were used last', () => {
  const memory = new LimiterMemory();
  const limits = { perMinute: 1, perDay: 10 };
  const decide = (key: number) => memory.decide(String(key), limits, at(noon / 1000)()).kind;
  for (let key = 0; key < 1_000; key += 1) expect(decide(key)).toBe('admitted');
  expect(decide(0)).toBe('rejected');
  expect(decide(1_000)).toBe('admitted');
  // Key 1 made room for key 1,000.
  expect([decide(0), decide(2), decide(1)]).toEqual(['rejected', 'rejected', 'admitted']);
});
