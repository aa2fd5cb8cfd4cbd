import { PutCommand } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { DynamoDbProxy } from '../../support/dynamodb-proxy.ts';
import { lambdaContext } from '../../support/lambda.ts';
import { rounds } from '../../support/rounds.ts';
import { captureLog, Service } from '../../support/service.ts';
import * as arbitrary from '../../support/arbitraries.ts';

const api = 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234';
const wholeStage = `${api}/v1/*/*`;

/** What API Gateway takes from a Lambda authorizer: strings, numbers and booleans in the context, nothing nested. */
const authorizerResult = z.strictObject({
  principalId: z.string(),
  policyDocument: z.strictObject({
    Version: z.literal('2012-10-17'),
    Statement: z
      .array(
        z.strictObject({ Action: z.literal('execute-api:Invoke'), Effect: z.string(), Resource: z.string() }),
      )
      .check(z.length(1)),
  }),
  usageIdentifierKey: z.optional(z.string().check(z.regex(/^[0-9A-Za-z]{20,128}$/))),
  context: z.optional(z.record(z.string(), z.union([z.string(), z.number()]))),
});

let proxy: DynamoDbProxy;
let service: Service;
const log: string[] = [];
const everythingLogged: string[] = [];

beforeAll(async () => {
  captureLog();
  // What the function logs, as it is handed to the console that Lambda wraps.
  for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const) {
    vi.spyOn(console, level).mockImplementation((...values: unknown[]) => log.push(JSON.stringify(values)));
  }
  proxy = await DynamoDbProxy.start();
  service = await Service.start({ endpoint: proxy.endpoint });
});

afterEach(() => {
  everythingLogged.push(...log.splice(0));
  proxy.reset();
});

afterAll(() => {
  proxy.stop();
});

async function authorize(authorizationToken: string, methodArn = `${api}/v1/GET/pets`, remainingMs?: number) {
  const event = { type: 'TOKEN', authorizationToken, methodArn };
  const result = z.parse(
    authorizerResult,
    await service.authorizer(event as never, lambdaContext(remainingMs)),
  );
  const [statement] = result.policyDocument.Statement;
  return { ...result, effect: statement?.Effect, resource: statement?.Resource };
}

/** Stores a key and gives its plain text. A field that is `undefined` is left out. */
async function issue(record: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const key = newKey('test');
  const fields = { keyHash: hashOfKey(key), keyId: 'key_1', plan: 'free', status: 'active', ...record };
  const item = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  await service.tables.apiKeys.client.send(
    new PutCommand({ TableName: service.tables.apiKeys.tableName, Item: item }),
  );
  return key;
}

const denied = { effect: 'Deny', resource: wholeStage };

describe('a key that was issued', () => {
  test('is granted every method of the stage, with the caller and its limits', async () => {
    const key = await issue({ owner: 'Ada', createdAt: 1_790_000_000 });
    const { effect, resource, principalId, usageIdentifierKey, context } = await authorize(`Bearer ${key}`);
    expect({ effect, resource, principalId }).toEqual({
      effect: 'Allow',
      resource: wholeStage,
      principalId: 'key_1',
    });
    expect(usageIdentifierKey).toBe(hashOfKey(key));
    // The first minute that starts after the result is no longer cached, which is for 60 seconds.
    const throttleReset = Number((context as Record<string, unknown>)['throttleReset']);
    const now = Date.now() / 1000;
    expect(throttleReset).toBeGreaterThan(now + 55);
    expect(throttleReset).toBeLessThanOrEqual(now + 120);
    expect(context).toEqual({
      keyHash: hashOfKey(key),
      keyId: 'key_1',
      plan: 'free',
      perMinute: 60,
      perDay: 1_000,
      expiresAt: 0,
      throttleReset,
      dayReset: expect.any(Number) as unknown,
    });
  });

  test('is metered under the API Gateway key that its record names after a change of plan', async () => {
    const gatewayKeyValue = '0a'.repeat(32);
    const { usageIdentifierKey } = await authorize(`Bearer ${await issue({ gatewayKeyValue })}`);
    expect(usageIdentifierKey).toBe(gatewayKeyValue);
  });

  test('of the custom plan is granted the limits and the expiry of its record', async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 3600;
    const own = { plan: 'enterprise', perMinute: 60_000, perDay: 10_000_000, expiresAt };
    expect((await authorize(`Bearer ${await issue(own)}`)).context).toMatchObject(own);
  });

  test('costs one consistent read of one item', async () => {
    const key = await issue();
    proxy.reset();
    await authorize(`Bearer ${key}`);
    expect(proxy.calls).toEqual(['GetItem']);
  });
});

describe('a key that is denied', () => {
  test('is one that was never issued', async () => {
    const { effect, principalId, context, usageIdentifierKey } = await authorize(`Bearer ${newKey('test')}`);
    expect([effect, principalId, context, usageIdentifierKey]).toEqual([
      'Deny',
      'unknown',
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['was revoked', { status: 'revoked' }, 'revoked'],
    ['version 1.0.0 had not finished creating', { status: 'pending' }, 'pending'],
    ['has expired', { expiresAt: 1_790_000_000 }, 'expired'],
  ])('is one that %s', async (_what, record, reason) => {
    const result = await authorize(`Bearer ${await issue(record)}`);
    expect(result).toMatchObject({ ...denied, principalId: 'key_1' });
    expect(log.join('')).toContain(`"reason":"${reason}","keyId":"key_1"`);
  });

  test('is one of another stage, without a lookup', async () => {
    const key = newKey('prod');
    const item = { keyHash: hashOfKey(key), keyId: 'key_2', plan: 'free', status: 'active' };
    await service.tables.apiKeys.client.send(
      new PutCommand({ TableName: service.tables.apiKeys.tableName, Item: item }),
    );
    expect(await authorize(`Bearer ${key}`)).toMatchObject(denied);
    expect(proxy.calls).toEqual([]);
    expect(log.join('')).toContain('"reason":"other_stage"');
  });

  test('is one that is malformed, without a lookup', async () => {
    const key = await issue();
    const last = key.endsWith('a') ? 'b' : 'a';
    proxy.reset();
    expect(await authorize(`Bearer ${key.slice(0, -1)}${last}`)).toMatchObject(denied);
    expect(proxy.calls).toEqual([]);
    expect(log.join('')).toContain('"reason":"malformed"');
  });

  test('is any other header, without a lookup', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          arbitrary.text(),
          fc.string().map((text) => `Bearer ${text}`),
          fc.stringMatching(/^Bearer as_test_[0-9A-Za-z]{36}$/),
        ),
        async (header) => {
          expect(await authorize(header)).toMatchObject({ ...denied, principalId: 'unknown' });
        },
      ),
      { numRuns: rounds({ full: 60, sample: 20 }) },
    );
    expect(proxy.calls).toEqual([]);
  });
});

describe('an internal error', () => {
  test.each([
    ['a record without a plan', { plan: undefined }],
    ['a record of an unknown plan', { plan: 'gold' }],
    ['an Enterprise record without limits', { plan: 'enterprise' }],
  ])('such as %s is thrown, neither granted nor denied', async (_what, damage) => {
    const key = await issue(damage);
    await expect(authorize(`Bearer ${key}`)).rejects.toThrow(/plan/);
  });

  test('such as a lookup without an answer is thrown within the time of the function', async () => {
    const key = await issue();
    proxy.fate = () => 'hang';
    await expect(authorize(`Bearer ${key}`, undefined, 500)).rejects.toMatchObject({
      name: 'TimeoutError',
      // 500 ms less the 300 ms for the response, and less the time that has passed.
      message: expect.stringMatching(
        /^The lookup of the API key did not finish within (?:1?\d{1,2}|200) ms$/,
      ) as unknown,
    });
  });

  test('such as a missing table is thrown', async () => {
    const key = await issue();
    proxy.fate = () => ({ status: 400, type: 'ResourceNotFoundException' });
    await expect(authorize(`Bearer ${key}`)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });
});

describe('the context', () => {
  test('is accepted by the functions', async () => {
    const { context } = await authorize(`Bearer ${await issue({ plan: 'pro' })}`);
    const answer = await service.get('/pets', context);
    expect(answer).toMatchObject({ status: 200, headers: { 'X-RateLimit-Limit': '300' } });
  });
});

test('logs each outcome with its key ID, and the plan or the reason', async () => {
  await authorize(`Bearer ${await issue({ keyId: 'key_granted', plan: 'pro' })}`);
  await authorize(`Bearer ${await issue({ keyId: 'key_revoked', status: 'revoked' })}`);
  await authorize(`Bearer ${newKey('test')}`);
  await authorize(`Bearer ${newKey('prod')}`);
  await authorize('Bearer nonsense');
  const line = (fields: object) => ({ operation: 'authorize', ...fields });
  expect(log.flatMap((each) => JSON.parse(each) as unknown)).toEqual([
    line({ outcome: 'granted', keyId: 'key_granted', plan: 'pro' }),
    line({ outcome: 'denied', reason: 'revoked', keyId: 'key_revoked' }),
    line({ outcome: 'denied', reason: 'unknown' }),
    line({ outcome: 'denied', reason: 'other_stage' }),
    line({ outcome: 'denied', reason: 'malformed' }),
  ]);
});

test('logs no key, no hash of a key and no bearer header', () => {
  expect(everythingLogged.length).toBeGreaterThan(30);
  expect(everythingLogged.filter((line) => /as_[a-z]|[0-9a-f]{64}|bearer/i.test(line))).toEqual([]);
});
