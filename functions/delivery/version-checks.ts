import * as z from 'zod/mini';
import { hashOfKey, newKey } from '../access/keys.ts';
import { fixedPlans } from '../access/plans.ts';
import { type FunctionEntry, operations } from '../operations.ts';
import { newRecord, recordIdOf } from '../pets/idempotent-creation.ts';
import type { UnixSeconds } from '../runtime/unix-time.ts';
import { type CheckRequest, requestsOfOperations } from './requests.ts';

// What a new version of a function has to answer before it gets a request. No check stores or shows an animal.

export interface VersionCheck {
  readonly event: object;
  readonly expected: z.core.$ZodType;
}

/** The caller of the checks: no API key has this hash. */
const keyId = 'pre-traffic-check';
const keyHash = hashOfKey(keyId);
/** The checks of many deployments do not reach the limits of this plan. */
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

/** An item of the Idempotency table. With it, an idempotent creation is refused by the transaction, and nothing is written. */
export function usedIdempotencyKey(idempotencyKey: string, now: UnixSeconds): Record<string, unknown> {
  const pet = { id: 0n, name: keyId, categoryId: 0n, status: 'sold' } as const;
  return newRecord(recordIdOf(keyHash, idempotencyKey), 'no body', pet, now);
}

/** The value of a JSON text. */
export const json = z.pipe(
  z.string(),
  z.transform((text): unknown => JSON.parse(text)),
);

/** If the limiter fails open, the request is not counted, and all remain (`decideUncounted`). */
const isCounted = z.refine<string>(
  (remaining) => Number(remaining) < perMinute,
  'must be less than the limit: the limiter does not count',
);

/** An answer whose request was counted. @param body the JSON, if there is one */
function answer(statusCode: number, body?: z.core.$ZodType) {
  return z.object({
    statusCode: z.literal(statusCode),
    headers: z.object({
      'X-RateLimit-Limit': z.literal(caller.perMinute),
      'X-RateLimit-Remaining': z.string().check(isCounted),
    }),
    body: body === undefined ? z.literal('') : z.pipe(json, body),
  });
}

const error = (status: number, code: string) =>
  answer(status, z.object({ code: z.literal(code), status: z.literal(status) }));

function expectedOf(request: CheckRequest): z.core.$ZodType {
  if (request.code !== undefined) return error(request.status, request.code);
  return answer(request.status, request.shows === 'no body' ? undefined : request.shows);
}

/** What a function reads of API Gateway's event. */
function proxyEvent(resource: string, request: Partial<CheckRequest>, idempotencyKey: string) {
  const { pathParameters = {}, query = {}, body, keyIsUsed = false } = request;
  const lists = Object.entries(query).map(([name, value]) => [name, [value]]);
  return {
    resource,
    pathParameters,
    multiValueQueryStringParameters: Object.fromEntries(lists) as Record<string, string[]>,
    multiValueHeaders: {
      'Content-Type': ['application/json'],
      'X-Forwarded-Proto': ['https'],
      ...(keyIsUsed && { 'Idempotency-Key': [idempotencyKey] }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    requestContext: {
      requestId: keyId,
      domainName: 'pre-traffic-check.invalid',
      path: `/v1${resource}`,
      authorizer: caller,
    },
  };
}

/** The checks of each function. @param idempotencyKey of `usedIdempotencyKey` */
export function checksOf(
  stage: string,
  idempotencyKey: string,
): Readonly<Record<FunctionEntry, readonly VersionCheck[]>> {
  const methodArn = 'arn:aws:execute-api:us-east-1:123456789012:pre-traffic/v1/GET/pets';
  const ofOperations = operations.map(({ entry, path }) => [
    entry,
    requestsOfOperations[entry].map((request) => ({
      event: proxyEvent(path, request, idempotencyKey),
      expected: expectedOf(request),
    })),
  ]);
  return {
    ...(Object.fromEntries(ofOperations) as Record<(typeof operations)[number]['entry'], VersionCheck[]>),
    'unmatched-route': [
      {
        event: proxyEvent('/{proxy+}', { pathParameters: { proxy: keyId } }, idempotencyKey),
        expected: error(404, 'route_not_found'),
      },
    ],
    authorizer: [
      {
        // The key is well-formed but was never issued, so the authorizer looks it up.
        event: { type: 'TOKEN', methodArn, authorizationToken: `Bearer ${newKey(stage)}` },
        expected: z.object({
          policyDocument: z.object({ Statement: z.tuple([z.object({ Effect: z.literal('Deny') })]) }),
        }),
      },
    ],
  };
}
