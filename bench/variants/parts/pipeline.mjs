import { Logger } from '@aws-lambda-powertools/logger';
import { injectLambdaContext } from '@aws-lambda-powertools/logger/middleware';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { logMetrics } from '@aws-lambda-powertools/metrics/middleware';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import middy from '@middy/core';
import httpErrorHandler from '@middy/http-error-handler';
import httpHeaderNormalizer from '@middy/http-header-normalizer';
import { createError } from '@middy/util';
import { RateLimiterDynamo, RateLimiterRes, RateLimiterUnion } from 'rate-limiter-flexible';
import * as z from 'zod';

// The same work as that of the service, with well-known packages, each used as its own documentation shows:
// https://middy.js.org, https://docs.aws.amazon.com/powertools/typescript/latest,
// https://github.com/animir/node-rate-limiter-flexible/wiki/DynamoDB
const serviceName = 'animal-store';
export const logger = new Logger({ serviceName });
const metrics = new Metrics({ serviceName, namespace: 'AnimalStore' });

/** One for all: RateLimiterDynamo takes the client that has a method for each call. */
export const dynamoDb = new DynamoDB();
export const documents = DynamoDBDocumentClient.from(dynamoDb);

export const statuses = ['available', 'pending', 'sold'];

const callerSchema = z.object({
  keyHash: z.string(),
  keyId: z.string(),
  plan: z.string(),
  perMinute: z.coerce.number().int(),
  perDay: z.coerce.number().int(),
});

const errorOf = (status, code, message) => createError(status, JSON.stringify({ code, message, status }));

/** @throws an error with status 400 */
export function parse(schema, input) {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw errorOf(400, 'invalid_request', z.prettifyError(parsed.error));
}

export const keyReused = () =>
  errorOf(422, 'idempotency_key_reused', 'This Idempotency-Key was already used.');
export const inProgress = () => errorOf(409, 'request_in_progress', 'The first request has not ended.');

/** A limiter has its limits from its constructor, and each key has limits of its own. */
const limiters = new Map();

function limiterOf({ perMinute, perDay }) {
  const limits = `${perMinute} ${perDay}`;
  const windowOf = (keyPrefix, points, duration) =>
    new RateLimiterDynamo({
      storeClient: dynamoDb,
      tableName: process.env.PARTS_LIMITS_TABLE,
      tableCreated: true,
      ttlSet: true,
      keyPrefix,
      points,
      duration,
    });
  const limiter =
    limiters.get(limits) ??
    new RateLimiterUnion(windowOf('minute', perMinute, 60), windowOf('day', perDay, 86_400));
  limiters.set(limits, limiter);
  return limiter;
}

/** `X-RateLimit-*`, `RateLimit` and `RateLimit-Policy`, and of a rejection `Retry-After`. */
function rateHeaders({ perMinute, perDay }, states) {
  const windows = [
    { name: 'minute', limit: perMinute, length: 60, ...shown(states.minute) },
    { name: 'day', limit: perDay, length: 86_400, ...shown(states.day) },
  ].filter(({ remaining }) => remaining !== undefined);
  const inForce = windows.reduce((least, each) => (each.remaining < least.remaining ? each : least));
  return {
    'X-RateLimit-Limit': String(inForce.limit),
    'X-RateLimit-Remaining': String(inForce.remaining),
    'X-RateLimit-Reset': String(Math.ceil(Date.now() / 1_000) + inForce.seconds),
    'RateLimit-Policy': windows
      .map(({ name, limit, length }) => `"${name}";q=${limit};w=${length}`)
      .join(', '),
    RateLimit: windows
      .map(({ name, remaining, seconds }) => `"${name}";r=${remaining};t=${seconds}`)
      .join(', '),
    ...(inForce.remaining === 0 && { 'Retry-After': String(inForce.seconds) }),
  };
}

const shown = (state) =>
  state && { remaining: state.remainingPoints, seconds: Math.ceil(state.msBeforeNext / 1_000) };

/** Counts a request before its operation, so that a rejected request does nothing. */
function limitRequests() {
  return {
    before: async ({ event, internal }) => {
      const caller = callerSchema.parse(event.requestContext.authorizer);
      internal.caller = caller;
      try {
        internal.rateHeaders = rateHeaders(caller, await limiterOf(caller).consume(caller.keyHash));
      } catch (states) {
        const failed = Object.values(states).find((state) => !(state instanceof RateLimiterRes));
        if (failed !== undefined) throw failed;
        internal.rateHeaders = rateHeaders(caller, states);
        throw errorOf(429, 'rate_limit_exceeded', 'The rate limit of this API key is exceeded.');
      }
    },
  };
}

/** The headers of every answer, its line in the log and its metric. */
function complete(operation) {
  const finish = ({ event, response, internal }) => {
    const { requestId } = event.requestContext;
    Object.assign(response.headers, {
      'Cache-Control': 'no-store',
      'X-Request-Id': requestId,
      ...internal.rateHeaders,
    });
    const { keyId, plan } = internal.caller ?? {};
    logger.info(`${operation} ${response.statusCode}`, {
      requestId,
      keyId,
      plan,
      status: response.statusCode,
    });
    if (plan !== undefined) metrics.addDimension('Plan', plan);
    metrics.addMetric(response.statusCode === 429 ? 'Rejected' : 'Admitted', MetricUnit.Count, 1);
  };
  return { after: finish, onError: finish };
}

export const answer = (statusCode, body, headers = {}) => ({
  statusCode,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

/** `onError` and `after` run from bottom to top. */
export const pipeline = (operation) =>
  middy()
    .use(injectLambdaContext(logger))
    .use(logMetrics(metrics))
    .use(complete(operation))
    .use(
      httpErrorHandler({
        logger: (error) => logger.error('request failed', { error }),
        fallbackMessage: errorOf(500, 'internal_error', 'An internal error occurred.').message,
      }),
    )
    .use(httpHeaderNormalizer())
    .use(limitRequests());
