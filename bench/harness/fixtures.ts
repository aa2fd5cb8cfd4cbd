import { toCallerContext } from '../../functions/access/caller.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import type { Route } from '../../functions/operations.ts';
import { titleCase } from '../../lib/title-case.ts';
import { proxyEvent } from '../../test/support/events.ts';
import { namesOfTables } from '../../test/support/variables.ts';

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
  ...namesOfTables(titleCase),
  LIMITER_TIMEOUT_MS: '5000',
  METRICS_NAMESPACE: 'Bench',
  AUTHORIZER_CACHE_SECONDS: '60',
};

/** A request to an operation, with parameters and a body that the service accepts. */
export function requestTo({ method, path }: Route) {
  const [, id] = /\{(\w+)\}/.exec(path) ?? [];
  const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
  return proxyEvent({
    method,
    resource: path,
    caller: caller(),
    ...(id !== undefined && { path: path.replace(`{${id}}`, '7'), pathParameters: { [id]: '7' } }),
    ...(id === undefined && !hasBody && { query: [['status', 'available']] }),
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
