import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { anError } from '../../support/answers.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import type { Reply } from '../../support/lambda.ts';
import { type Call, captureLog, newCaller, Service } from '../../support/service.ts';

const rex = { name: 'Rex', categoryId: 7 };

let proxy: DynamoDbProxy;
let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  proxy = await DynamoDbProxy.start();
  service = await Service.start({
    endpoint: proxy.endpoint,
    variables: { DYNAMODB_REQUEST_TIMEOUT_MS: '1500' },
  });
});

// Time stands still, so that no minute ends within a test. It is in the future, since DynamoDB Local deletes what has
// expired by its own clock.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2036-07-01T12:00:12Z') });
});

afterEach(() => {
  proxy.reset();
  log.length = 0;
});

afterAll(() => {
  proxy.stop();
});

const logLine = z.looseObject({
  level: z.string(),
  LimiterFailOpen: z.optional(z.number()),
  errors: z.optional(z.array(z.looseObject({ message: z.string() }))),
});
const lastLine = () => z.parse(logLine, JSON.parse(log.at(-1)!));

/** These operations fail, and all others pass. */
const faulty =
  (fate: Fate, ...operations: string[]) =>
  (operation: string): Fate =>
    operations.includes(operation) ? fate : 'pass';

/** A request to each function, with a new key. */
async function requests(to: Service): Promise<Reply[]> {
  const caller = newCaller('free');
  return Promise.all([
    to.get('/pets', caller),
    to.post(rex, caller),
    to.get('/pets/1', caller),
    to.get('/nowhere', caller),
  ]);
}

describe('the calls to DynamoDB', () => {
  test.each(['/pets?status=sold', '/pets', '/pets/1'])('count and read in parallel for %s', async (path) => {
    const reads = path === '/pets' ? 3 : 1;
    const caller = newCaller('free');
    await service.get(path, caller); // starts the windows
    proxy.reset();
    // No call is answered before all have arrived: calls one after the other would wait forever.
    const all = Promise.withResolvers<Fate>();
    proxy.fate = () => {
      if (proxy.calls.length === reads + 1) all.resolve('pass');
      return all.promise;
    };
    const answer = await service.get(path, caller);
    expect(answer.headers['X-RateLimit-Remaining']).toBe('58');
    expect(proxy.calls.toSorted()).toEqual([
      ...Array.from({ length: reads }, () => (path === '/pets/1' ? 'GetItem' : 'Query')),
      'UpdateItem',
    ]);
  });

  test('count first and store second for a creation', async () => {
    const caller = newCaller('free');
    await service.post(rex, caller); // starts the windows
    proxy.reset();
    await service.post(rex, caller);
    expect(proxy.calls).toEqual(['UpdateItem', 'PutItem']);
    proxy.reset();
    await service.post(rex, caller, 'key');
    expect(proxy.calls).toEqual(['UpdateItem', 'TransactWriteItems']);
  });

  test('do not access pets for an invalid request or an unknown path', async () => {
    await service.post('{}');
    await service.get('/nowhere');
    await service.get('/pets/abc');
    await service.get('/pets?limit=0');
    expect(new Set(proxy.calls)).toEqual(new Set(['UpdateItem']));
  });
});

describe('when the Pets table fails', () => {
  const unavailable = anError('service_unavailable', { headers: { 'Retry-After': '1' } });

  test('with errors, every operation returns 503 with Retry-After, and has counted', async () => {
    proxy.fate = faulty({ status: 500, type: 'InternalServerError' }, 'Query', 'GetItem', 'PutItem');
    const caller = newCaller('free');
    const answers = await Promise.all([
      service.get('/pets', caller),
      service.get('/pets/1', caller),
      service.post(rex, caller),
    ]);
    for (const answer of answers) expect(answer).toEqual(unavailable);
    const remaining = answers.map(({ headers }) => Number(headers['X-RateLimit-Remaining']));
    expect(remaining.toSorted((a, b) => b - a)).toEqual([59, 58, 57]);
    expect(log.filter((line) => line.includes('"level":"ERROR"'))).toHaveLength(3);
  });

  const hung: readonly Call[] = [
    { path: '/pets' },
    { path: '/pets', query: [['status', 'sold']] },
    { path: '/pets/1' },
    { method: 'POST', path: '/pets', body: JSON.stringify(rex) },
  ];

  test('by not answering, every operation returns 503 within the time of the function', async () => {
    proxy.fate = faulty('hang', 'Query', 'GetItem', 'PutItem');
    const calls = hung.map((call) => service.call({ ...call, remainingMs: 1_500 }));
    expect(await Promise.all(calls)).toEqual(hung.map(() => unavailable));
    for (const line of log) {
      const { errors } = z.parse(logLine, JSON.parse(line));
      expect(errors?.[0]?.message).toMatch(/^The operation did not finish within \d+ ms$/);
    }
  });

  test('and the RateLimits table by not answering, every operation returns 503 within the budgets of the stack', async () => {
    const deployed = await Service.start({
      endpoint: proxy.endpoint,
      variables: { LIMITER_TIMEOUT_MS: '1000', DYNAMODB_REQUEST_TIMEOUT_MS: '750' },
    });
    proxy.fate = () => 'hang';
    const start = performance.now();
    const calls = hung.map((call) => deployed.call({ ...call, remainingMs: 3_000 }));
    expect(await Promise.all(calls)).toEqual(hung.map(() => unavailable));
    // The sum is 2,700 ms. A busy machine may take longer.
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test('on creation, the message says that the animal may exist and how to retry', async () => {
    const caller = newCaller('free');
    proxy.fate = faulty('lose', 'TransactWriteItems', 'PutItem');
    for (const keys of [[], ['key']]) {
      const answer = await service.post(rex, caller, ...keys);
      expect(answer).toEqual(
        anError('service_unavailable', {
          message: expect.stringMatching(/may have been created.*same Idempotency-Key/) as unknown as string,
          headers: { 'Retry-After': '1' },
        }),
      );
    }
    proxy.reset();
    expect(await service.post(rex, caller, 'key')).toMatchObject({
      status: 201,
      headers: { 'Idempotency-Replayed': 'true' },
    });
  });

  test.each<[string, Fate]>([
    ['no answer', 'hang'],
    ['an error', { status: 500, type: 'InternalServerError' }],
  ])('once with %s, the call is retried and the client sees no error', async (_what, fate) => {
    const reads = () => proxy.calls.filter((call) => call === 'GetItem').length;
    proxy.fate = (operation) => (operation === 'GetItem' && reads() === 1 ? fate : 'pass');
    expect(await service.get('/pets/1')).toEqual(anError('pet_not_found'));
    expect(reads()).toBeGreaterThan(1);
  });
});

describe('when the RateLimits table fails', () => {
  let impatient: Service;

  beforeAll(async () => {
    impatient = await Service.start({
      endpoint: proxy.endpoint,
      variables: { LIMITER_TIMEOUT_MS: '20' },
    });
  });

  test.each<[string, Fate]>([
    ['it does not answer', 'hang'],
    ['it has errors', { status: 500, type: 'InternalServerError' }],
    ['it does not exist', { status: 400, type: 'ResourceNotFoundException' }],
  ])('because %s, every request is admitted and logged as an error', async (_what, fate) => {
    proxy.fate = faulty(fate, 'UpdateItem');
    const answers = await requests(impatient);
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 404, 404]);
    // Nothing is known of the key, so its full allowance is shown.
    for (const { headers } of answers) {
      expect(headers).toMatchObject({ 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '60' });
    }
    expect(log).toHaveLength(4);
    for (const line of log) {
      const { level, LimiterFailOpen: failOpen, errors } = z.parse(logLine, JSON.parse(line));
      expect({ level, failOpen }).toEqual({ level: 'ERROR', failOpen: 1 });
      expect(errors).toHaveLength(1);
      expect(line).not.toContain('RequestsAdmitted');
    }
  });

  test('after the usage of a full window was read, the request is rejected', async () => {
    const caller = newCaller('enterprise', { perMinute: 1, perDay: 100 });
    await service.get('/nowhere', caller);
    // Alongside the operation, and before it.
    for (const call of [() => service.get('/pets', caller), () => service.post(rex, caller)]) {
      proxy.reset();
      proxy.fate = (operation) =>
        operation === 'UpdateItem' && proxy.calls.filter((each) => each === operation).length > 1
          ? { status: 400, type: 'ResourceNotFoundException' }
          : 'pass';
      expect(await call()).toMatchObject({ status: 429, headers: { 'X-RateLimit-Remaining': '0' } });
    }
  });

  test('like the Pets table, both errors are logged', async () => {
    proxy.fate = (operation) =>
      operation === 'UpdateItem' ? 'hang' : { status: 400, type: 'AccessDeniedException' };
    expect(await impatient.get('/pets')).toEqual(anError('internal_error'));
    expect(lastLine().errors).toHaveLength(2);
  });
});
