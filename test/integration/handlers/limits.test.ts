import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { anError, commonHeaders } from '../../support/answers.ts';
import { DynamoDbProxy } from '../../support/dynamodb-proxy.ts';
import { everyPage } from '../../support/pets.ts';
import type { Reply } from '../../support/lambda.ts';
import { type Call, captureLog, newCaller, Service } from '../../support/service.ts';

const noon = Date.parse('2036-07-01T12:00:00Z');
const rex = { name: 'Rex', categoryId: 7 };

let proxy: DynamoDbProxy;
let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  proxy = await DynamoDbProxy.start();
  service = await Service.start({ endpoint: proxy.endpoint });
});

afterAll(() => {
  proxy.stop();
});

// Time stands still, so that no minute ends within a test. It is in the future, because DynamoDB Local deletes what has
// expired by its own clock.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: noon + 12_000 });
});

/** One request of each kind, all of which use up allowance. */
const kinds: readonly (readonly [string, number, Omit<Call, 'caller'>])[] = [
  ['a listing', 200, { path: '/pets' }],
  ['a creation', 201, { method: 'POST', path: '/pets', body: JSON.stringify(rex) }],
  ['an invalid listing', 400, { path: '/pets', query: [['limit', '0']] }],
  ['an invalid creation', 400, { method: 'POST', path: '/pets', body: '{}' }],
  ['an unknown animal', 404, { path: '/pets/1' }],
  ['an unknown path', 404, { path: '/nowhere' }],
  ['a method that is not supported', 405, { method: 'DELETE', path: '/pets' }],
  ['a body that is too large', 413, { method: 'POST', path: '/pets', body: ' '.repeat(65_537) }],
  [
    'a body that is not JSON',
    415,
    { method: 'POST', path: '/pets', body: '', headers: [['Content-Type', 'text/plain']] },
  ],
];

const spend = (caller: ReturnType<typeof newCaller>, count: number): Promise<Reply[]> =>
  Promise.all(Array.from({ length: count }, () => service.get('/nowhere', caller)));

describe('the rate headers', () => {
  test('count down on every kind of answer', async () => {
    const caller = newCaller('free');
    for (const [index, [, status, call]] of kinds.entries()) {
      const answer = await service.call({ ...call, caller });
      expect(answer.status).toBe(status);
      expect(answer.headers).toMatchObject({
        ...commonHeaders,
        'X-RateLimit-Limit': '60',
        'X-RateLimit-Remaining': String(59 - index),
        'X-RateLimit-Reset': String(noon / 1000 + 60),
        'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
        RateLimit: `"minute";r=${59 - index};t=48, "day";r=${999 - index};t=43188`,
      });
    }
  });

  test('show the day if it has fewer requests remaining', async () => {
    const caller = newCaller('enterprise', { perMinute: 60, perDay: 3 });
    const { headers } = await service.get('/pets', caller);
    expect(headers).toMatchObject({
      'X-RateLimit-Limit': '3',
      'X-RateLimit-Remaining': '2',
      'X-RateLimit-Reset': String(Date.parse('2036-07-02T00:00:00Z') / 1000),
    });
  });
});

describe('a full minute', () => {
  test.each(kinds)('returns 429 with Retry-After for %s (otherwise %i)', async (_what, _status, call) => {
    const caller = newCaller('enterprise', { perMinute: 1, perDay: 100 });
    await spend(caller, 1);
    expect(await service.call({ ...call, caller })).toEqual(
      anError('rate_limit_exceeded', {
        headers: {
          'Retry-After': '48',
          'X-RateLimit-Limit': '1',
          'X-RateLimit-Remaining': '0',
          'X-RateLimit-Reset': String(noon / 1000 + 60),
        },
      }),
    );
  });

  test('ends with the minute', async () => {
    const caller = newCaller('enterprise', { perMinute: 1, perDay: 100 });
    await spend(caller, 2);
    vi.setSystemTime(noon + 59_999);
    expect(await service.get('/pets', caller)).toMatchObject({
      status: 429,
      headers: { 'Retry-After': '1' },
    });
    vi.setSystemTime(noon + 60_000);
    expect(await service.get('/pets', caller)).toMatchObject({ status: 200 });
  });

  test('keeps the deprecation headers', async () => {
    const caller = newCaller('enterprise', { perMinute: 1, perDay: 100 });
    await spend(caller, 1);
    expect(await service.get('/pets/1', caller)).toEqual(
      anError('rate_limit_exceeded', { headers: { Deprecation: '@1767225600' } }),
    );
  });

  test('rejects a creation before it is stored', async () => {
    const name = 'One of ten';
    const caller = newCaller('enterprise', { perMinute: 5, perDay: 100 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => service.post({ ...rex, name }, caller)),
    );
    const statuses = Map.groupBy(answers, ({ status }) => status);
    expect([statuses.get(201)?.length, statuses.get(429)?.length]).toEqual([5, 5]);
    const stored = (await everyPage(service, '/pets')).flat();
    expect(stored.filter((pet) => pet.name === name)).toHaveLength(5);
  });

  test('of one key does not affect other keys', async () => {
    const limits = { perMinute: 10, perDay: 1_000 };
    const [full, other] = [newCaller('enterprise', limits), newCaller('enterprise', limits)];
    await spend(full, 11);
    expect((await service.get('/pets', full)).status).toBe(429);
    expect(await service.get('/pets', other)).toMatchObject({
      status: 200,
      headers: { 'X-RateLimit-Remaining': '9' },
    });
  });
});

describe('a key that keeps sending after a 429', () => {
  test('is suspended for ten minutes with Retry-After, and then works again', async () => {
    const caller = newCaller('enterprise', { perMinute: 10, perDay: 1_000 });
    await spend(caller, 10);
    // Instead of 99 rejections after a first one that was 10 seconds ago.
    await service.rateLimits.client.send(
      new UpdateCommand({
        TableName: service.rateLimits.tableName,
        Key: { keyHash: caller['keyHash'] },
        UpdateExpression: 'SET rejections = :rejections, rejectedSince = :since, rejectedUntil = :until',
        ExpressionAttributeValues: {
          ':rejections': 99,
          ':since': noon / 1000 + 2,
          ':until': noon / 1000 + 60,
        },
      }),
    );
    log.length = 0;
    const suspension = anError('key_suspended', {
      headers: {
        'Retry-After': '600',
        'X-RateLimit-Limit': '10',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': String(noon / 1000 + 612),
      },
    });
    expect(await service.get('/pets', caller)).toEqual(suspension);
    expect(await service.post(rex, caller)).toEqual(suspension);
    vi.setSystemTime(noon + 611_000);
    expect(await service.get('/pets', caller)).toEqual(
      anError('key_suspended', {
        headers: { 'Retry-After': '1', 'X-RateLimit-Reset': String(noon / 1000 + 612) },
      }),
    );
    vi.setSystemTime(noon + 612_000);
    expect(await service.get('/pets', caller)).toMatchObject({
      status: 200,
      headers: { 'X-RateLimit-Remaining': '9' },
    });
    expect(log.map((line) => /"Requests\w+":1/.exec(line)?.[0])).toEqual([
      '"RequestsSuspended":1',
      '"RequestsSuspended":1',
      '"RequestsSuspended":1',
      '"RequestsAdmitted":1',
    ]);
  });
});

describe('a key that expires while the result of the authorizer is cached', () => {
  test('gets 401 with zero rate limit headers', async () => {
    const caller = newCaller('free');
    for (const expiresAt of [1, noon / 1000, noon / 1000 + 12]) {
      const { headers, body, status } = await service.get('/pets', { ...caller, expiresAt });
      expect(status).toBe(401);
      expect(body).toMatchObject({ code: 'unauthorized', status: 401n });
      expect(headers).toMatchObject({
        'X-RateLimit-Limit': '0',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': '0',
      });
    }
    expect((await service.get('/pets', { ...caller, expiresAt: noon / 1000 + 13 })).status).toBe(200);
  });
});
