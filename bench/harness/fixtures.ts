import { toCallerContext } from '../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { allowedMethods, type Operation } from '../../lib/operations.ts';
import { proxyEvent } from '../../test/support/events.ts';

/** The API key of every request, the same in every process. */
const key = newKey('bench', () => 0);
export const keyHash = hashOfKey(key);

const caller = () =>
  toCallerContext(
    // Above the number of requests of any benchmark.
    {
      keyHash,
      keyId: 'key_bench',
      plan: 'enterprise',
      limits: { perMinute: 1e7, perDay: 1e9 },
      expiresAt: 0,
    },
    Math.floor(Date.now() / 1000),
    60,
  );

/** Environment variables that the stack sets. */
export const stackVariables: Readonly<Record<string, string>> = {
  STAGE: 'bench',
  PETS_TABLE: 'Pets',
  API_KEYS_TABLE: 'ApiKeys',
  RATE_LIMITS_TABLE: 'RateLimits',
  IDEMPOTENCY_TABLE: 'Idempotency',
  LIMITER_TIMEOUT_MS: '5000',
  METRICS_NAMESPACE: 'Bench',
  AUTHORIZER_CACHE_SECONDS: '60',
  ALLOWED_METHODS: JSON.stringify(allowedMethods()),
};

/** A request to an operation, with parameters and a body that the service accepts. */
export function requestTo({ method, path }: Pick<Operation, 'method' | 'path'>) {
  const hasId = path.includes('{petId}');
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  return proxyEvent({
    method,
    resource: path,
    caller: caller(),
    ...(hasId && { path: path.replace('{petId}', '7'), pathParameters: { petId: '7' } }),
    ...(!hasId && !hasBody && { query: [['status', 'available']] }),
    ...(hasBody && {
      headers: [['Content-Type', 'application/json']],
      body: '{"name":"Bella","categoryId":3,"status":"available"}',
    }),
  });
}

/** Events for the measurements. */
export const events = {
  list: () => requestTo({ method: 'GET', path: '/pets' }),
  create: () => requestTo({ method: 'POST', path: '/pets' }),
  get: () => requestTo({ method: 'GET', path: '/pets/{petId}' }),
  unmatched: () => proxyEvent({ method: 'OPTIONS', resource: '/pets', caller: caller() }),
  authorize: () => ({
    type: 'TOKEN',
    authorizationToken: `Bearer ${key}`,
    methodArn: 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1/GET/pets',
  }),
};
