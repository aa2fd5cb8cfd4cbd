import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { timeToAnswer } from '../../../functions/runtime/deadline.ts';
import { errorCatalogue, ServiceError } from '../../../functions/http/errors.ts';
import { metrics } from '../../../functions/http/metrics.ts';
import type { RequestEntry } from '../../../functions/operations.ts';
import { pipeline } from '../../../functions/http/pipeline.ts';
import type { Answer } from '../../../functions/http/respond.ts';
import { freeCaller as caller, proxyEvent } from '../../support/events.ts';
import { lambdaContext, reply } from '../../support/lambda.ts';

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

const settingsWith = (stub: DynamoDBDocumentClient) => ({
  environment: { RATE_LIMITS_TABLE: 'RateLimits', LIMITER_TIMEOUT_MS: 1_000, METRICS_NAMESPACE: 'Test' },
  dynamoDb: { client: stub, impatientClient: stub },
});

function serving(operate: () => Answer) {
  const handler = pipeline('list-pets', settingsWith(client), async () => operate());
  return async (from: unknown = event) => reply(await handler(from as never, lambdaContext()));
}

/** Serves one request with an operation. Returns the reply and what was logged. */
async function serve(operate: () => Answer, from: unknown = event) {
  const served = await serving(operate)(from);
  return { ...served, log: lines.join('\n') };
}

const serveFailure = (error: unknown) =>
  serve(() => {
    throw error;
  });

/** An error such as the SDK throws: one that DynamoDB names if there was an answer. */
function sdkError(name: string, httpStatusCode: number | undefined, more: object = {}): Error {
  const message = `${name}: as_prod_secret`;
  if (httpStatusCode === undefined) return Object.assign(new Error(message), { name, ...more });
  const $fault = httpStatusCode < 500 ? 'client' : 'server';
  return new DynamoDBServiceException({ name, message, $fault, $metadata: { httpStatusCode } });
}

describe('an answer', () => {
  test('without a body has no Content-Type', async () => {
    const { status, headers, text } = await serve(() => ({ status: 204 }));
    expect({ status, text }).toEqual({ status: 204, text: '' });
    expect(headers).not.toHaveProperty('Content-Type');
    expect(headers).toHaveProperty('X-RateLimit-Limit');
  });

  test('is JSON that must not be cached, with the request ID', async () => {
    const { status, headers, text } = await serve(() => ({ status: 200, body: [2n ** 63n - 1n] }));
    expect(status).toBe(200);
    expect(text).toBe('[9223372036854775807]');
    expect(headers).toMatchObject({
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Request-Id': event.requestContext.requestId,
    });
  });
});

describe('an error of the catalogue', () => {
  test('is answered in the Error shape, with its own headers and those of every answer', async () => {
    const error = new ServiceError('method_not_allowed', undefined, { headers: { Allow: 'GET, POST' } });
    const { status, body, headers } = await serveFailure(error);
    const { message } = errorCatalogue.method_not_allowed;
    expect({ status, body }).toEqual({
      status: 405,
      body: { code: 'method_not_allowed', message, status: 405n },
    });
    expect(headers).toMatchObject({ 'Content-Type': 'application/json', Allow: 'GET, POST' });
  });

  test('from 500 is logged with its cause, or itself if it has none', async () => {
    const logged = () => (JSON.parse(lines.at(-1)!) as { errors: unknown[] }).errors;
    await serveFailure(new ServiceError('internal_error', 'without cause'));
    expect(logged()).toMatchObject([{ name: 'ServiceError', message: 'without cause' }]);
    await serveFailure(new ServiceError('internal_error', 'outer', { cause: new TypeError('inner') }));
    expect(logged()).toMatchObject([{ name: 'TypeError', message: 'inner' }]);
  });

  test('below 500 is not logged as an error', async () => {
    expect((await serveFailure(new ServiceError('invalid_request'))).log).toContain('"level":"INFO"');
  });
});

describe('a failing AWS service', () => {
  test.each([
    ['throttling', sdkError('ProvisionedThroughputExceededException', 400)],
    ['throttling of another name', sdkError('ThrottlingException', 400)],
    ['an internal error', sdkError('InternalServerError', 500)],
    ['being out of service', sdkError('ServiceUnavailable', 503)],
    ['a status that nobody has a name for', sdkError('SomethingNew', 507)],
    ['a time-out', sdkError('TimeoutError', undefined)],
    ['a refused connection', sdkError('Error', undefined, { code: 'ECONNREFUSED' })],
    ['a lost connection', sdkError('Error', undefined, { code: 'ECONNRESET' })],
  ])('with %s returns 503 with Retry-After, and logs the cause', async (_what, error) => {
    const { status, body, text, headers, log } = await serveFailure(error);
    expect(status).toBe(503);
    expect(body).toMatchObject({ code: 'service_unavailable' });
    expect(headers['Retry-After']).toBe('1');
    expect(text).not.toContain('secret');
    expect(log).toContain(error.name);
    expect(log).toContain('"level":"ERROR"');
  });
});

describe('any other error', () => {
  test.each([
    ['a bug', new TypeError('x is undefined: as_prod_secret')],
    [
      'a missing table',
      new ResourceNotFoundException({ message: 'as_prod_secret', $metadata: { httpStatusCode: 400 } }),
    ],
    ['missing rights', sdkError('AccessDeniedException', 400)],
    [
      'a condition nobody minded',
      new ConditionalCheckFailedException({ message: 'as_prod_secret', $metadata: { httpStatusCode: 400 } }),
    ],
    ['text', 'as_prod_secret'],
    ['an object', { secret: 'as_prod_secret' }],
    ['null', null],
    ['nothing', undefined],
  ])('such as %s returns 500 without details', async (_what, error) => {
    const { status, body, text, headers, log } = await serveFailure(error);
    expect(status).toBe(500);
    expect(body).toEqual({
      code: 'internal_error',
      message: errorCatalogue.internal_error.message,
      status: 500n,
    });
    expect(text).not.toContain('secret');
    expect(headers).not.toHaveProperty('Retry-After');
    expect(log).toContain('"level":"ERROR"');
    expect(lines).toHaveLength(1);
  });

  test('is logged with its stack', async () => {
    const { log } = await serveFailure(new TypeError('x is undefined'));
    expect(log).toContain('x is undefined');
    expect(log).toContain('pipeline.test.ts');
  });
});

describe('an event that is not a request', () => {
  test.each(['text', null, {}, { requestContext: {} }])(
    '%j returns 500 with zero rate limit headers',
    async (from) => {
      const { status, headers } = await serve(() => ({ status: 200, body: {} }), from);
      expect(status).toBe(500);
      expect(headers).toMatchObject({
        'X-RateLimit-Limit': '0',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': '0',
      });
      expect(lines).toHaveLength(1);
    },
  );
});

describe('the rate limit', () => {
  /** A table in which the key is suspended until far in the future. */
  const suspending = {
    send: () =>
      Promise.reject(
        new ConditionalCheckFailedException({
          message: 'The conditional request failed',
          $metadata: {},
          Item: { suspendedUntil: { N: '99999999999' } },
        }),
      ),
  } as unknown as DynamoDBDocumentClient;

  async function rejected(entry: RequestEntry, operate: () => Answer) {
    let operated = false;
    const handler = pipeline(entry, settingsWith(suspending), async () => {
      operated = true;
      return operate();
    });
    return { ...reply(await handler(event as never, lambdaContext())), operated };
  }

  const anAnswer = () => ({ status: 200, body: {} });

  test('that rejects a request before its operation keeps the operation from running', async () => {
    const { status, body, operated } = await rejected('create-pet', anAnswer);
    expect({ status, operated }).toEqual({ status: 429, operated: false });
    expect(body).toMatchObject({ code: 'key_suspended' });
  });

  test('that rejects a request alongside its operation replaces the answer', async () => {
    const { status, body, operated, headers } = await rejected('list-pets', anAnswer);
    expect({ status, operated }).toEqual({ status: 429, operated: true });
    expect(body).toMatchObject({ code: 'key_suspended' });
    expect(headers).toMatchObject({ 'X-RateLimit-Remaining': '0', 'Retry-After': '86400' });
  });

  test('goes before every error of the operation, which is not logged then', async () => {
    const { status } = await rejected('list-pets', () => {
      throw new Error('failed');
    });
    expect(status).toBe(429);
    expect(lines.join('')).toContain('"level":"INFO"');
  });
});

describe('an operation that runs out of time', () => {
  test('is aborted while there is time to answer, with 503 and the message of the operation', async () => {
    const patient = pipeline(
      'create-pet',
      settingsWith(client),
      ({ signal }) =>
        new Promise((_, fail) => {
          signal.addEventListener('abort', () => fail(new Error('aborted')));
        }),
    );
    const context = { ...lambdaContext(), getRemainingTimeInMillis: () => timeToAnswer + 5 };
    const { status, body } = reply(await patient(event as never, context));
    expect(status).toBe(503);
    expect(body).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('may have been created') as unknown,
    });
    expect(lines.join('')).toContain('The operation did not finish within 5 ms');
  });
});

describe('an operation', () => {
  test('is called with the request, the recorder of its log line and a signal that is not aborted', async () => {
    const handler = pipeline('list-pets', settingsWith(client), async (context) => {
      context.recorder.count(metrics.created);
      return { status: 200, body: [context.request.requestId, context.signal.aborted] };
    });
    const { body } = reply(await handler(event as never, lambdaContext()));
    expect(body).toEqual([event.requestContext.requestId, false]);
    expect(JSON.parse(lines[0]!)).toMatchObject({ [metrics.created]: 1, [metrics.admitted]: 1 });
  });
});

describe('the log', () => {
  test('names the operation, the caller, the namespace and the time a request took', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    vi.advanceTimersByTime(1_000);
    try {
      await serving(() => {
        vi.advanceTimersByTime(12);
        return { status: 200, body: [] };
      })();
    } finally {
      vi.useRealTimers();
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      operation: 'listPets',
      requestId: event.requestContext.requestId,
      keyId: 'key_1',
      plan: 'free',
      durationMs: 12,
      _aws: { CloudWatchMetrics: [{ Namespace: 'Test' }] },
    });
  });

  test('has one line for each request, and only the first is a cold start', async () => {
    const send = serving(() => ({ status: 200, body: [] }));
    for (let request = 0; request < 3; request += 1) await send();
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { coldStart: true, status: 200 },
      { coldStart: false, status: 200 },
      { coldStart: false, status: 200 },
    ]);
  });
});
