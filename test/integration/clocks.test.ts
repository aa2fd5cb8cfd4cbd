import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { CallerContext } from '../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { recordIdOf } from '../../functions/pets/idempotent-creation.ts';
import { idEpoch } from '../../functions/pets/ids.ts';
import type { FunctionEntry } from '../../lib/operations.ts';
import { DynamoDbOverTls } from '../support/dynamodb-tls.ts';
import { proxyEvent } from '../support/events.ts';
import { FunctionProcesses } from '../support/function-processes.ts';
import { type Reply, reply } from '../support/lambda.ts';
import { rounds } from '../support/rounds.ts';
import { newCaller } from '../support/service.ts';

// Functions whose clock is wrong, together with one whose clock is right, on the same tables. DynamoDB rejects signatures that
// are more than five minutes off.

/** Minutes by which a clock is ahead. */
const offsets = [0, 5.1, -1_440, -5.1, 1_440, 60, -60].slice(0, rounds({ full: 7, sample: 3 }));
const groups = new Map<number, FunctionProcesses>();
const certificates = await mkdtemp(join(tmpdir(), 'animal-store-certificates-'));
let dynamoDb: DynamoDbOverTls;
let right: FunctionProcesses;

const now = () => Math.floor(Date.now() / 1000);
const midnight = () => (Math.floor(now() / 86_400) + 1) * 86_400;

beforeAll(async () => {
  dynamoDb = await DynamoDbOverTls.start();
  const certificate = join(certificates, 'certificate.pem');
  await writeFile(certificate, dynamoDb.certificate);
  for (const minutes of offsets) {
    const functions: FunctionProcesses = await FunctionProcesses.start({
      endpoint: dynamoDb.endpoint,
      entries: ['create-pet', 'authorizer'],
      ...(minutes !== 0 && { like: right }),
      variables: { NODE_EXTRA_CA_CERTS: certificate, CLOCK_OFFSET_MS: String(minutes * 60_000) },
    });
    if (minutes === 0) right = functions;
    groups.set(minutes, functions);
  }
});

afterAll(async () => {
  for (const functions of groups.values()) await functions.stop();
  dynamoDb.stop();
  await rm(certificates, { recursive: true });
});

async function invoke(functions: FunctionProcesses, entry: FunctionEntry, event: unknown): Promise<unknown> {
  const outcome = await functions.invoke(entry, event);
  if ('thrown' in outcome) throw new Error(outcome.thrown);
  return outcome.returned;
}

async function create(
  functions: FunctionProcesses,
  caller: CallerContext,
  idempotencyKey?: string,
): Promise<Reply> {
  const headers = [
    ['Content-Type', 'application/json'],
    ...(idempotencyKey === undefined ? [] : [['Idempotency-Key', idempotencyKey] as const]),
  ] as const;
  const body = '{"name":"Bella","categoryId":7}';
  const event = proxyEvent({ method: 'POST', resource: '/pets', headers, body, caller });
  return reply(await invoke(functions, 'create-pet', event));
}

const idOf = ({ body }: Reply) => z.object({ id: z.bigint() }).loose().parse(body).id;

// First, because the first call of a function is the one that does not know the time yet.
test.each(offsets)('a function that is %d minutes off serves a key that expires soon', async (minutes) => {
  const answer = await create(groups.get(minutes)!, { ...newCaller('free'), expiresAt: now() + 120 });
  expect(answer.status).toBe(201);
  const createdAt = idEpoch + Number(idOf(answer) >> 12n);
  expect(Math.abs(createdAt - Date.now())).toBeLessThan(30_000);
});

test.each(offsets)('a function that is %d minutes off rejects a key that has expired', async (minutes) => {
  const answer = await create(groups.get(minutes)!, { ...newCaller('free'), expiresAt: now() - 120 });
  expect(answer.status).toBe(401);
});

test('all count in the same windows, and say when they reset', async () => {
  const caller = newCaller('enterprise', { perMinute: 1_000, perDay: 2 * offsets.length });
  for (const [index, functions] of [...groups.values(), ...groups.values()].entries()) {
    const { status, headers } = await create(functions, caller);
    expect(status).toBe(201);
    expect(headers).toMatchObject({
      'X-RateLimit-Remaining': String(2 * offsets.length - 1 - index),
      'X-RateLimit-Reset': String(midnight()),
    });
    const [, minuteReset] = /"minute";r=\d+;t=(\d+)/.exec(headers['RateLimit']!)!;
    expect(Number(minuteReset)).toBeLessThanOrEqual(62);
  }
  for (const functions of groups.values()) {
    const { status, headers } = await create(functions, caller);
    expect(status).toBe(429);
    expect(Math.abs(now() + Number(headers['Retry-After']) - midnight())).toBeLessThan(30);
  }
});

test('windows that a wrong clock has stored do not keep a key out', async () => {
  const { rateLimits } = right.tables;
  for (const ahead of [3_600, 86_400]) {
    const caller = newCaller('free');
    const start = now() + ahead;
    const full = { minute: start, minuteCount: 60, day: start, dayCount: 1_000, rejections: 99 };
    await rateLimits.client.send(
      new PutCommand({ TableName: rateLimits.tableName, Item: { keyHash: caller['keyHash'], ...full } }),
    );
    expect(await create(right, caller)).toMatchObject({
      status: 201,
      headers: { 'X-RateLimit-Remaining': '59' },
    });
  }
});

test.each(offsets)(
  'a creation that is retried by a function %d minutes off is one animal',
  async (minutes) => {
    const caller = newCaller('enterprise');
    for (const [first, second] of [
      [groups.get(minutes)!, right],
      [right, groups.get(minutes)!],
    ] as const) {
      const key = randomUUID();
      const created = await create(first, caller, key);
      expect(created.status).toBe(201);
      expect(await create(second, caller, key)).toMatchObject({
        status: 201,
        text: created.text,
        headers: { 'Idempotency-Replayed': 'true' },
      });
      const { idempotency } = right.tables;
      const { Item: record } = await idempotency.client.send(
        new GetCommand({
          TableName: idempotency.tableName,
          Key: { id: recordIdOf(String(caller['keyHash']), key) },
        }),
      );
      // Seconds, not milliseconds.
      expect(Math.abs(Number(String(record?.['expiresAt'])) - now() - 86_400)).toBeLessThan(30);
    }
  },
);

test.each(offsets)('an authorizer that is %d minutes off knows which keys have expired', async (minutes) => {
  const { apiKeys } = right.tables;
  const methodArn = 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets';
  for (const [expiresIn, Effect] of [
    [120, 'Allow'],
    [-120, 'Deny'],
  ] as const) {
    const key = newKey('test');
    const item = { keyHash: hashOfKey(key), keyId: 'key_1', owner: 'o', plan: 'free', status: 'active' };
    await apiKeys.client.send(
      new PutCommand({ TableName: apiKeys.tableName, Item: { ...item, expiresAt: now() + expiresIn } }),
    );
    const event = { type: 'TOKEN', authorizationToken: `Bearer ${key}`, methodArn };
    const result = await invoke(groups.get(minutes)!, 'authorizer', event);
    expect(result).toMatchObject({
      policyDocument: { Statement: [{ Effect }] },
      ...(Effect === 'Allow' && { context: { dayReset: midnight() } }),
    });
  }
});
