import type { Limits } from '../../functions/access/limits.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { toCallerContext } from '../../functions/access/caller.ts';
import { proxyEvent } from '../../test/support/events.ts';

/** The API key of every request, the same in every process. */
export const key = newKey('bench', () => 0);
export const keyHash = hashOfKey(key);

/** Above the number of requests of any benchmark. */
export const limits: Limits = { perMinute: 10_000_000, perDay: 1_000_000_000 };

const caller = () =>
  toCallerContext(
    { keyHash, keyId: 'key_bench', plan: 'enterprise', limits, expiresAt: 0 },
    Math.floor(Date.now() / 1000),
    60,
  );

export const tableNames = {
  pets: 'Pets',
  apiKeys: 'ApiKeys',
  rateLimits: 'RateLimits',
  idempotency: 'Idempotency',
};

/** Environment variables that the stack sets. */
export function stackVariables(tables = tableNames): Readonly<Record<string, string>> {
  return {
    STAGE: 'bench',
    PETS_TABLE: tables.pets,
    API_KEYS_TABLE: tables.apiKeys,
    RATE_LIMITS_TABLE: tables.rateLimits,
    IDEMPOTENCY_TABLE: tables.idempotency,
    LIMITER_TIMEOUT_MS: '5000',
    METRICS_NAMESPACE: 'Bench',
    AUTHORIZER_CACHE_SECONDS: '60',
    ALLOWED_METHODS: '{"/pets":["GET","POST"],"/pets/{petId}":["GET"]}',
  };
}

/** Events for the measurements. */
export const events = {
  list: (query: readonly (readonly [string, string])[] = [['status', 'available']]) =>
    proxyEvent({ resource: '/pets', query, caller: caller() }),
  create: () =>
    proxyEvent({
      method: 'POST',
      resource: '/pets',
      headers: [['Content-Type', 'application/json']],
      body: '{"name":"Bella","categoryId":3,"status":"available"}',
      caller: caller(),
    }),
  get: (petId: string) =>
    proxyEvent({
      resource: '/pets/{petId}',
      path: `/pets/${petId}`,
      pathParameters: { petId },
      caller: caller(),
    }),
  unmatched: () => proxyEvent({ method: 'DELETE', resource: '/pets', caller: caller() }),
  authorize: () => ({
    type: 'TOKEN',
    authorizationToken: `Bearer ${key}`,
    methodArn: 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets',
  }),
};
