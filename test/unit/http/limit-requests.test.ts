import {
  ConditionalCheckFailedException,
  ProvisionedThroughputExceededException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Caller } from '../../../functions/access/caller.ts';
import { metrics } from '../../../functions/http/metrics.ts';
import { admissionControl, type AdmissionOptions } from '../../../functions/http/limit-requests.ts';
import { Recorder } from '../../../functions/http/telemetry.ts';
import { toUnixSeconds } from '../../../functions/runtime/unix-time.ts';

const noon = Date.parse('2026-07-01T12:00:00Z') / 1000;
const minute = noon;
const day = noon - 43_200;
const caller: Caller = {
  keyHash: 'a'.repeat(64),
  keyId: 'key_1',
  plan: 'free',
  limits: { perMinute: 60, perDay: 1_000 },
  expiresAt: 0,
};
const none = { 'X-RateLimit-Limit': '0', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '0' };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: noon * 1000 + 999 });
});

afterEach(() => {
  vi.useRealTimers();
});

type Send = (command: { readonly input: object }, options?: { abortSignal?: AbortSignal }) => Promise<object>;

/** Checks one request. Every write to the table ends as `send` says. */
async function check(send: Send, { as = caller, ...more }: Partial<AdmissionOptions> & { as?: Caller } = {}) {
  const recorder = new Recorder();
  const calls: object[] = [];
  const client = {
    send: (command: { readonly input: object }, options?: object) => {
      calls.push(command.input);
      return send(command, options);
    },
  } as unknown as DynamoDBDocumentClient;
  const table = { client, tableName: 'RateLimits' };
  const { headers, rejection } = await admissionControl({
    table,
    deprecated: false,
    timeout: 60_000,
    ...more,
  })(as, toUnixSeconds(Date.now()), recorder);
  return { headers, rejection, calls, errors: recorder.errors, counts: Object.fromEntries(recorder.counts) };
}

const stored = (usage: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(usage).map(([name, value]) => [name, { value: String(value) }]));

const counting: Send = async () => ({ Attributes: stored({ minute, minuteCount: 5, day, dayCount: 7 }) });

/** As DynamoDB answers when the condition of a write fails. The document client leaves the item as it is. */
const refusing = (usage: Readonly<Record<string, number>>): Send => {
  const Item = Object.fromEntries(Object.entries(usage).map(([name, value]) => [name, { N: String(value) }]));
  return () => Promise.reject(new ConditionalCheckFailedException({ message: 'No.', Item, $metadata: {} }));
};

test('a request to a deprecated operation counts as a deprecated call, in the metrics and in the table', async () => {
  const { counts, calls } = await check(counting, { deprecated: true });
  expect(counts).toEqual({ [metrics.admitted]: 1, [metrics.deprecated]: 1 });
  expect(calls).toMatchObject([{ ExpressionAttributeValues: { ':deprecatedCalls': 1 } }]);
  const other = await check(counting);
  expect(other.calls).toMatchObject([{ ExpressionAttributeValues: { ':deprecatedCalls': 0 } }]);
});

describe('a request that cannot be counted', () => {
  test('because its item is malformed is written ten times at most, and admitted', async () => {
    // Without `minute`, no condition holds.
    const { rejection, counts, calls, errors } = await check(refusing({ day, dayCount: 7 }));
    expect(rejection).toBeUndefined();
    expect(counts).toEqual({ [metrics.failOpen]: 1 });
    expect(calls).toHaveLength(10);
    expect(errors).toMatchObject([{ message: expect.stringContaining('"dayCount":7') as unknown }]);
    const withoutItem = () =>
      Promise.reject(new ConditionalCheckFailedException({ message: 'No.', $metadata: {} }));
    const other = await check(withoutItem);
    expect(other.calls).toHaveLength(10);
    expect(other.errors).toMatchObject([{ message: expect.stringContaining('malformed') as unknown }]);
  });

  test('because the table fails is admitted with a full allowance, and the error is recorded', async () => {
    const error = new Error('unreachable');
    const { headers, rejection, counts, errors } = await check(() => Promise.reject(error));
    expect(rejection).toBeUndefined();
    expect(headers).toMatchObject({ 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '60' });
    expect(counts).toEqual({ [metrics.failOpen]: 1 });
    expect(errors).toEqual([error]);
  });

  test('because the table does not answer is admitted after the time-out', async () => {
    const silent: Send = (_command, options) =>
      new Promise((_, reject) => {
        options?.abortSignal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const { rejection, counts, errors } = await check(silent, { timeout: 5 });
    expect(rejection).toBeUndefined();
    expect(counts).toEqual({ [metrics.failOpen]: 1 });
    expect(errors).toMatchObject([{ message: 'The rate limiter did not finish within 5 ms' }]);
  });
});

describe('an execution environment whose table is throttled', () => {
  const throttling: Send = () =>
    Promise.reject(new ProvisionedThroughputExceededException({ message: 'Throttled', $metadata: {} }));

  /** One environment: `send` is how its table answers. */
  function environment(limits: Caller['limits'], send: { current: Send }) {
    const client = {
      send: (...call: Parameters<Send>) => send.current(...call),
    } as unknown as DynamoDBDocumentClient;
    const table = { client, tableName: 'RateLimits' };
    const limit = admissionControl({ table, deprecated: false, timeout: 1_000 });
    return (recorder: Recorder) => limit({ ...caller, limits }, toUnixSeconds(Date.now()), recorder);
  }

  test('admits the limit of each minute and of each day uncounted, then rejects', async () => {
    const limit = environment({ perMinute: 100, perDay: 150 }, { current: throttling });
    const admitted = async (now: number) => {
      vi.setSystemTime(now * 1000);
      const outcomes = await Promise.all(Array.from({ length: 200 }, () => limit(new Recorder())));
      return outcomes.filter(({ rejection }) => rejection === undefined).length;
    };
    const counts = [];
    for (const after of [0, 59, 60, 120, 86_400]) counts.push(await admitted(noon + after));
    expect(counts).toEqual([100, 0, 50, 0, 100]);
  });

  test.each([
    ['key_suspended', '17', metrics.suspended, { suspendedUntil: noon + 17 }],
    ['rate_limit_exceeded', '60', metrics.rejected, { minuteCount: 1, rejectedSince: noon }],
  ])(
    'says %s and until when of what it knows, and reports the failure',
    async (code, retryAfter, metric, usage) => {
      const known = { minute, day, dayCount: 1, ...usage };
      const send = { current: refusing(known) };
      const limit = environment({ perMinute: 1, perDay: 10 }, send);
      await limit(new Recorder());
      send.current = throttling;
      const recorder = new Recorder();
      const { headers, rejection } = await limit(recorder);
      expect(rejection).toMatchObject({ code, headers: { 'Retry-After': retryAfter } });
      expect(headers).toMatchObject({ 'X-RateLimit-Limit': '1', 'X-RateLimit-Remaining': '0' });
      expect([...recorder.counts.keys()]).toEqual([metric]);
      expect(recorder.errors).toMatchObject([{ name: 'ProvisionedThroughputExceededException' }]);
    },
  );
});

describe('a key whose time has run out since it was authorized', () => {
  test.each([noon, noon - 1, 1])('at %d gets 401 without an allowance, and no metric', async (expiresAt) => {
    const { headers, rejection, counts } = await check(counting, {
      as: { ...caller, expiresAt },
      deprecated: true,
    });
    expect(rejection).toMatchObject({ code: 'unauthorized', status: 401 });
    expect(headers).toEqual(none);
    expect(counts).toEqual({});
  });

  test.each([0, noon + 1])('is served if it expires at %d', async (expiresAt) => {
    const { rejection, counts } = await check(counting, { as: { ...caller, expiresAt } });
    expect(rejection).toBeUndefined();
    expect(counts).toEqual({ [metrics.admitted]: 1 });
  });
});
