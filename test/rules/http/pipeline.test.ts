import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ServiceError } from '../../../functions/http/errors.ts';
import { pipeline } from '../../../functions/http/pipeline.ts';
import type { Answer } from '../../../functions/http/respond.ts';
import { timeToAnswer } from '../../../functions/runtime/deadline.ts';
import { freeCaller as caller, proxyEvent } from '../../support/events.ts';
import { lambdaContext, reply } from '../../support/lambda.ts';

// These tests are about what no operation does, and no client sees. test/service/simulation/ has the rest.

const event = proxyEvent({ resource: '/pets', caller });

/** A table of limits that admits everything: an item without counts. */
const client = { send: async () => ({ Attributes: {} }) } as unknown as DynamoDBDocumentClient;

let lines: string[];

beforeEach(() => {
  lines = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => lines.push(String(chunk)) > 0);
});

afterEach(() => {
  vi.restoreAllMocks();
});

function serving(operate: () => Answer | Promise<Answer>) {
  const environment = {
    RATE_LIMITS_TABLE: 'RateLimits',
    LIMITER_TIMEOUT_MS: 1_000,
    METRICS_NAMESPACE: 'Test',
  };
  const dynamoDb = { client, impatientClient: client };
  const handler = pipeline('list-pets', { environment, dynamoDb }, async () => operate());
  return async (from: unknown = event, context = lambdaContext()) => reply(await handler(from, context));
}

test('an answer without a body has no Content-Type', async () => {
  const { status, headers, text } = await serving(() => ({ status: 204 }))();
  expect({ status, text }).toEqual({ status: 204, text: '' });
  expect(headers).not.toHaveProperty('Content-Type');
  expect(headers).toHaveProperty('X-RateLimit-Limit');
});

test.each([
  { error: new ServiceError('internal_error', 'the error'), logged: 'the error' },
  { error: new ServiceError('internal_error', 'outer', { cause: new Error('inner') }), logged: 'inner' },
])('of an error from 500 the log has $logged: its cause, if there is one', async ({ error, logged }) => {
  await serving(() => {
    throw error;
  })();
  expect(JSON.parse(lines[0]!)).toMatchObject({ errors: [{ message: logged }] });
});

test('an operation has all time but that of an answer', async () => {
  const slowly = () => new Promise<Answer>((resolve) => setTimeout(resolve, 20, { status: 204 }));
  const context = { ...lambdaContext(), getRemainingTimeInMillis: () => timeToAnswer + 1_000 };
  expect(await serving(slowly)(event, context)).toMatchObject({ status: 204 });
});

test.each(['text', null, {}, { requestContext: {} }])(
  'an event that is %j returns 500 with zero rate limit headers',
  async (from) => {
    const { status, headers } = await serving(() => ({ status: 200, body: {} }))(from);
    expect(status).toBe(500);
    expect(headers).toMatchObject({
      'X-RateLimit-Limit': '0',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '0',
    });
    expect(lines).toHaveLength(1);
  },
);

test('the log has one line for each request, with the caller, and only the first is a cold start', async () => {
  const send = serving(() => ({ status: 200, body: [] }));
  for (let request = 0; request < 3; request += 1) await send();
  expect(lines.join('')).toMatch(/^(?:\{.*\}\n){3}$/);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      coldStart: true,
      operation: 'listPets',
      requestId: event.requestContext.requestId,
      keyId: 'key_1',
      plan: 'free',
      _aws: { CloudWatchMetrics: [{ Namespace: 'Test' }] },
    },
    { coldStart: false },
    { coldStart: false },
  ]);
});
