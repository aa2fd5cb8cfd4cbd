import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import { newKey } from '../access/keys.ts';
import { fixedPlans } from '../access/plans.ts';
import { recordIdOf } from '../pets/idempotent-creation.ts';

// What a new version of a function has to answer before it gets a request. No check stores or shows an animal.

export interface Check {
  readonly event: object;
  readonly expected: z.core.$ZodType;
}

/** The caller of the checks: no API key has this hash. */
const keyId = 'pre-traffic-check';
const keyHash = createHash('sha256').update(keyId).digest('hex');
/** Of a plan whose limits the checks of many deployments do not reach. */
const plan = 'business';
const { perMinute, perDay } = fixedPlans[plan];
const caller = {
  keyHash,
  keyId,
  plan,
  perMinute: String(perMinute),
  perDay: String(perDay),
  expiresAt: '0',
};

const headers = { 'Content-Type': ['application/json'], 'X-Forwarded-Proto': ['https'] };

/** An item of the Idempotency table. With it, an idempotent creation is refused by the transaction, and nothing is written. */
export function usedIdempotencyKey(idempotencyKey: string, now: number): Record<string, unknown> {
  return {
    id: recordIdOf(keyHash, idempotencyKey),
    bodyHash: 'of no body',
    expiresAt: now + 3_600,
    pet: { id: 0, name: keyId, categoryId: 0, status: 'sold' },
  };
}

const text = z.pipe(
  z.string(),
  z.transform((json): unknown => JSON.parse(json)),
);

/** An answer whose request was counted: if the limiter fails open, all requests remain. */
function answer(statusCode: number, body: z.core.$ZodType) {
  const remaining = z
    .string()
    .check(
      z.refine(
        (count) => Number(count) < perMinute,
        'must be less than the limit: the limiter does not count',
      ),
    );
  return z.object({
    statusCode: z.literal(statusCode),
    headers: z.object({
      'X-RateLimit-Limit': z.literal(caller.perMinute),
      'X-RateLimit-Remaining': remaining,
    }),
    body: z.pipe(text, body),
  });
}

const error = (status: number, code: string) =>
  answer(status, z.object({ code: z.literal(code), status: z.literal(status) }));

interface ProxyRequest {
  readonly httpMethod?: string;
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly multiValueQueryStringParameters?: Readonly<Record<string, string[]>>;
  readonly multiValueHeaders?: Readonly<Record<string, string[]>>;
  readonly body?: string;
}

/** What a function reads of API Gateway's event. */
function proxyEvent(resource: string, request: ProxyRequest = {}) {
  return {
    resource,
    httpMethod: 'GET',
    multiValueHeaders: headers,
    requestContext: {
      requestId: keyId,
      domainName: 'pre-traffic-check.invalid',
      path: `/v1${resource}`,
      authorizer: caller,
    },
    ...request,
  };
}

/** A function that has checks. lib/delivery/ does not compile with one that has none. */
export type CheckedFunction = keyof ReturnType<typeof checksOf>;

/** The checks of each function, by its name. @param idempotencyKey of `usedIdempotencyKey` */
export function checksOf(stage: string, idempotencyKey: string) {
  const methodArn = 'arn:aws:execute-api:us-east-1:123456789012:pre-traffic/v1/GET/pets';
  return {
    'list-pets': [
      {
        event: proxyEvent('/pets', { multiValueQueryStringParameters: { limit: ['1'] } }),
        expected: answer(200, z.array(z.object({ id: z.int(), name: z.string() }))),
      },
    ],
    'create-pet': [
      {
        event: proxyEvent('/pets', { httpMethod: 'POST', body: '{}' }),
        expected: error(400, 'invalid_request'),
      },
      {
        event: proxyEvent('/pets', {
          httpMethod: 'POST',
          multiValueHeaders: { ...headers, 'Idempotency-Key': [idempotencyKey] },
          body: JSON.stringify({ name: keyId, categoryId: 1 }),
        }),
        expected: error(422, 'idempotency_key_reused'),
      },
    ],
    'get-pet': [
      {
        // IDs are assigned from 2026 on, so none is 0.
        event: proxyEvent('/pets/{petId}', { pathParameters: { petId: '0' } }),
        expected: error(404, 'pet_not_found'),
      },
    ],
    'unmatched-route': [
      {
        event: proxyEvent('/{proxy+}', { pathParameters: { proxy: keyId } }),
        expected: error(404, 'route_not_found'),
      },
    ],
    authorizer: [
      {
        // A well-formed key that was never issued: the authorizer looks it up.
        event: { type: 'TOKEN', methodArn, authorizationToken: `Bearer ${newKey(stage)}` },
        expected: z.object({
          policyDocument: z.object({ Statement: z.tuple([z.object({ Effect: z.literal('Deny') })]) }),
        }),
      },
    ],
  } as const satisfies Readonly<Record<string, readonly Check[]>>;
}
