import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { anError } from '../../support/answers.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import { captureLog, newCaller, Service } from '../../support/service.ts';

// A throttled table must not hold execution environments: with all of them waiting, the account has none left.

const rex = { name: 'Rex', categoryId: 7 };
const unavailable = anError('service_unavailable', { headers: { 'Retry-After': '1' } });
const throttles: readonly (readonly [string, Fate])[] = [
  ['table', { status: 400, type: 'ProvisionedThroughputExceededException' }],
  ['account', { status: 400, type: 'RequestLimitExceeded' }],
  ['partition', { status: 400, type: 'ThrottlingException' }],
];
const cancelled = (code: string): Fate => ({
  status: 400,
  type: 'TransactionCanceledException',
  more: { CancellationReasons: [{ Code: 'None' }, { Code: code }] },
});

let proxy: DynamoDbProxy;
let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  proxy = await DynamoDbProxy.start();
  service = await Service.start({ endpoint: proxy.endpoint });
});

afterEach(() => {
  proxy.reset();
  log.length = 0;
});

afterAll(() => {
  proxy.stop();
});

/** These operations are throttled, and all others pass. */
const throttling =
  (fate: Fate, ...operations: string[]) =>
  (operation: string): Fate =>
    operations.includes(operation) ? fate : 'pass';

/** The number of calls of each operation. */
const calls = () =>
  Object.fromEntries([...Map.groupBy(proxy.calls, (each) => each)].map(([name, all]) => [name, all.length]));

describe.each(throttles)('a throttled %s', (_name, fate) => {
  test('is asked once by the limiter, which admits the request uncounted', async () => {
    proxy.fate = throttling(fate, 'UpdateItem');
    for (const [path, status] of [
      ['/pets', 200],
      ['/pets/1', 404],
      ['/nowhere', 404],
    ] as const) {
      proxy.calls.length = 0;
      expect((await service.get(path, newCaller('free'))).status).toBe(status);
      expect(calls()['UpdateItem']).toBe(1);
    }
    expect((await service.post(rex, newCaller('free'))).status).toBe(201);
    expect(log.filter((line) => line.includes('"LimiterFailOpen":1'))).toHaveLength(4);
  });

  test('is asked at most twice by an operation, which answers 503', async () => {
    proxy.fate = throttling(fate, 'Query', 'GetItem', 'PutItem', 'TransactWriteItems');
    for (const [request, expected] of [
      [() => service.get('/pets?status=sold'), { Query: 2 }],
      [() => service.get('/pets/1'), { GetItem: 2 }],
      [() => service.post(rex), { PutItem: 2 }],
      [() => service.post(rex, newCaller('free'), 'key'), { TransactWriteItems: 2 }],
    ] as const) {
      proxy.calls.length = 0;
      expect(await request()).toEqual(unavailable);
      expect(calls()).toMatchObject(expected);
    }
  });
});

test.each(['ThrottlingError', 'ProvisionedThroughputExceeded'])(
  'a transaction that is cancelled by %s is sent once, and answered 503',
  async (code) => {
    proxy.fate = throttling(cancelled(code), 'TransactWriteItems');
    expect(await service.post(rex, newCaller('free'), 'key')).toEqual(unavailable);
    expect(calls()).toMatchObject({ TransactWriteItems: 1 });
  },
);

test('a query that fails ends those of the other statuses', async () => {
  await service.get('/pets'); // opens the connections
  proxy.reset();
  proxy.fate = (operation) => {
    if (operation !== 'Query') return 'pass';
    const queries = proxy.calls.filter((each) => each === 'Query').length;
    return queries === 3 ? { status: 400, type: 'AccessDeniedException' } : 'hang';
  };
  // The other queries would hang until the deadline.
  expect(await service.get('/pets')).toEqual(anError('internal_error'));
  await vi.waitFor(() => expect(proxy.abandoned).toBe(2));
});
