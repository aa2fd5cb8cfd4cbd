import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { checksOf, usedIdempotencyKey } from '../../../functions/delivery/version-checks.ts';
import { type FunctionEntry, functionEntries } from '../../../functions/operations.ts';
import { toUnixSeconds } from '../../../functions/runtime/unix-time.ts';
import { FunctionProcesses } from '../../support/function-processes.ts';
import { DynamoDbProxy, type ProxyFate } from '../../support/dynamodb-proxy.ts';
import { type HttpRequest, newCaller, proxyEvent } from '../../support/events.ts';
import { type Reply, reply } from '../../support/lambda.ts';

/**
 * The functions as they are deployed, with DynamoDB behind TLS. The other tests run the sources, so only these show what a
 * bundle leaves out.
 */

const log: string[] = [];
const certificates = await mkdtemp(join(tmpdir(), 'animal-store-certificates-'));
let dynamoDb: DynamoDbProxy;
let functions: FunctionProcesses;

beforeAll(async () => {
  dynamoDb = await DynamoDbProxy.start({ tls: true });
  const certificate = join(certificates, 'certificate.pem');
  await writeFile(certificate, dynamoDb.certificate!);
  functions = await FunctionProcesses.start({
    endpoint: dynamoDb.endpoint,
    variables: { NODE_EXTRA_CA_CERTS: certificate },
    onLine: (line) => log.push(line),
  });
});

afterEach(() => {
  const { signatureFaults: faults } = dynamoDb;
  if (faults.length > 0) throw new Error(`DynamoDB would have refused: ${faults.join(', ')}`);
  dynamoDb.reset();
  log.length = 0;
});

afterAll(async () => {
  await functions.stop();
  dynamoDb.stop();
  await rm(certificates, { recursive: true });
});

async function invoke(entry: FunctionEntry, event: unknown): Promise<unknown> {
  const outcome = await functions.invoke(entry, event);
  if ('thrown' in outcome) throw new Error(outcome.thrown);
  return outcome.returned;
}

async function send(
  entry: FunctionEntry,
  request: Omit<HttpRequest, 'caller'> & Partial<HttpRequest>,
): Promise<Reply> {
  return reply(await invoke(entry, proxyEvent({ caller: newCaller('business'), ...request })));
}

const list = (query: HttpRequest['query'] = []) => send('list-pets', { resource: '/pets', query });
const create = (body: string, more: Pick<Partial<HttpRequest>, 'caller' | 'headers'> = {}) =>
  send('create-pet', {
    method: 'POST',
    resource: '/pets',
    headers: [['Content-Type', 'application/json']],
    body,
    ...more,
  });
const get = (petId: string) =>
  send('get-pet', { resource: '/pets/{petId}', path: `/pets/${petId}`, pathParameters: { petId } });

const attemptsOf = (operation: string) =>
  dynamoDb.attempts.filter((each) => each.startsWith(`${operation} `));
/** The next calls of an operation get these fates, one each. */
function fail(operation: string, ...fates: ProxyFate[]): void {
  dynamoDb.fate = (called) => (called === operation && fates.shift()) || 'pass';
}
const newPet = '{"name":"Bella","categoryId":9223372036854775807,"status":"pending"}';

describe('a bundled function', () => {
  test.each(functionEntries)('answers as a new version of it has to: %s', async (entry) => {
    const { idempotency } = functions.tables;
    const key = randomUUID();
    const Item = usedIdempotencyKey(key, toUnixSeconds(Date.now()));
    await idempotency.client.send(new PutCommand({ TableName: idempotency.tableName, Item }));
    for (const { event, expected } of checksOf('test', key)[entry])
      expect(z.safeParse(expected, await invoke(entry, event))).toMatchObject({ success: true });
  });

  test('creates, lists, pages and fetches pets with every digit', async () => {
    const created = await create(newPet);
    expect(created).toMatchObject({ status: 201, body: { name: 'Bella', categoryId: 9223372036854775807n } });
    await create('{"name":"Milo","categoryId":1}');
    const page = await list([['limit', '1']]);
    expect(page).toMatchObject({
      status: 200,
      body: [{ name: 'Milo', categoryId: 1n, status: 'available' }],
    });
    const cursor = new URL(/<(.+)>/.exec(page.headers['Link'] ?? '')?.[1] ?? '').searchParams.get('cursor');
    expect(
      await list([
        ['limit', '1'],
        ['cursor', String(cursor)],
      ]),
    ).toMatchObject({ status: 200, body: [created.body] });
    expect(await list([['status', 'pending']])).toMatchObject({ status: 200, body: [created.body] });
    const { id } = z.object({ id: z.bigint() }).parse(created.body);
    expect(await get(String(id))).toMatchObject({ status: 200, body: created.body });
  });

  test('reads the record in a cancelled transaction if an Idempotency-Key is used again', async () => {
    const caller = newCaller('business');
    const headers = [['Idempotency-Key', 'order 1']] as const;
    const created = await create(newPet, { caller, headers });
    expect(created.status).toBe(201);
    expect(await create(newPet, { caller, headers })).toMatchObject({
      status: 201,
      text: created.text,
      headers: { 'Idempotency-Replayed': 'true' },
    });
    expect(await create('{"name":"Milo","categoryId":1}', { caller, headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    });
  });

  test('grants stored keys and denies others', async () => {
    const key = newKey('test');
    const { apiKeys } = functions.tables;
    await apiKeys.client.send(
      new PutCommand({
        TableName: apiKeys.tableName,
        Item: { keyHash: hashOfKey(key), keyId: 'key_1', owner: 'o', plan: 'free', status: 'active' },
      }),
    );
    const methodArn = 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets';
    const authorize = (authorizationToken: string) =>
      invoke('authorizer', { type: 'TOKEN', authorizationToken, methodArn });
    expect(await authorize(`Bearer ${key}`)).toMatchObject({
      usageIdentifierKey: hashOfKey(key),
      policyDocument: { Statement: [{ Effect: 'Allow' }] },
    });
    const denied = { policyDocument: { Statement: [{ Effect: 'Deny' }] } };
    expect(await authorize(`Bearer ${newKey('test')}`)).toMatchObject(denied);
    expect(await authorize(`Bearer ${newKey('other')}`)).toMatchObject(denied);
    expect(await authorize(`Bearer ${key.slice(0, -1)}`)).toMatchObject(denied);
  });
});

const throttle = { __type: 'com.amazon.coral.availability#ThrottlingException', message: 'No.' };
const serverError = { status: 500, type: 'InternalServerError' } as const;

describe('when DynamoDB fails', () => {
  test.each<[string, ProxyFate]>([
    ['with a server error', serverError],
    ['for a throttle', { status: 400, body: JSON.stringify(throttle) }],
    ['by breaking the connection', 'reset'],
  ])('once %s, the call is retried', async (_, fault) => {
    fail('Query', fault);
    expect((await list([['status', 'available']])).status).toBe(200);
    expect(attemptsOf('Query')).toEqual(['Query attempt=1; max=4', 'Query attempt=2; max=4']);
  });

  test('repeatedly, the answer is 503 and the error is logged', async () => {
    fail('Query', ...Array.from({ length: 4 }, () => serverError));
    const answer = await list([['status', 'available']]);
    expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    expect(attemptsOf('Query')).toHaveLength(4);
    expect(log.join('\n')).toContain('"name":"InternalServerError"');
    expect(log.join('\n')).toMatch(/\bat async \S+ \(functions\/pets\/store\.ts:\d+:\d+\)/);
  });

  test.each([
    ['that the bundle knows', 'ResourceNotFoundException'],
    ['that the bundle does not know', 'BackupInUseException'],
    ['that nobody knows', 'TotallyNewException'],
  ])('permanently with an error %s, the answer is 500 and the error is logged', async (_, type) => {
    fail('GetItem', { status: 400, type });
    expect((await get('1')).status).toBe(500);
    expect(attemptsOf('GetItem')).toHaveLength(1);
    expect(log.join('\n')).toContain(`"name":"${type}"`);
  });

  test('to answer a creation, it is retried and creates one pet', async () => {
    fail('PutItem', 'reset');
    const created = await create(newPet);
    expect(created.status).toBe(201);
    expect(attemptsOf('PutItem')).toHaveLength(2);
  });

  test('because of conflicts with transactions, five IDs are tried, and then the answer is 503', async () => {
    const conflict = { status: 400, type: 'TransactionConflictException' } as const;
    fail('PutItem', ...Array.from({ length: 5 }, () => conflict));
    const answer = await create(newPet);
    expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    expect(attemptsOf('PutItem')).toHaveLength(5);
    fail('PutItem', conflict, conflict, conflict, conflict);
    expect((await create(newPet)).status).toBe(201);
  });

  test('to count, requests are admitted and logged', async () => {
    fail('UpdateItem', { status: 400, type: 'ResourceNotFoundException' });
    expect((await list()).status).toBe(200);
    expect(log.join('\n')).toContain('"LimiterFailOpen":1');
  });

  test('to answer when it counts, few requests wait for it, and soon after it answers again all are counted', async () => {
    // lib/compute/functions.ts deploys functions with this time-out.
    const invokeOne = await functions.another('list-pets', { LIMITER_TIMEOUT_MS: '1000' });
    const event = proxyEvent({ resource: '/pets', caller: newCaller('business') });
    const sendInTurn = async (count: number) => {
      const [asked, startedAt, linesBefore] = [
        attemptsOf('UpdateItem').length,
        performance.now(),
        log.length,
      ];
      for (let sent = 0; sent < count; sent += 1) {
        const outcome = await invokeOne(event);
        expect('returned' in outcome && reply(outcome.returned).status).toBe(200);
      }
      await expect.poll(() => log.length).toBe(linesBefore + count);
      return {
        seconds: (performance.now() - startedAt) / 1_000,
        attempts: attemptsOf('UpdateItem').length - asked,
        counted: log.slice(linesBefore).filter((line) => line.includes('"RequestsAdmitted":1')).length,
      };
    };
    expect(await sendInTurn(2)).toMatchObject({ counted: 2 });

    dynamoDb.fate = (operation) => (operation === 'UpdateItem' ? 'hang' : 'pass');
    const first = await sendInTurn(12);
    expect(first.counted).toBe(0);
    expect(first.seconds).toBeLessThan(6);
    const more = await sendInTurn(200);
    expect(more.attempts).toBeLessThanOrEqual(20);

    dynamoDb.fate = () => 'pass';
    await sleep(5_000);
    expect(await sendInTurn(10)).toMatchObject({ counted: 10 });
  });
});
