import { allowedMethods } from '../../lib/operations.ts';
import { awsVariables } from './aws-variables.ts';
import type { Tables } from './tables.ts';

/** The environment variables of the functions, as the stack sets them. */
export function functionVariables(
  endpoint: string,
  { pets, rateLimits, idempotency, apiKeys }: Tables,
): Record<string, string> {
  return {
    ...awsVariables(endpoint),
    STAGE: 'test',
    PETS_TABLE: pets.tableName,
    RATE_LIMITS_TABLE: rateLimits.tableName,
    IDEMPOTENCY_TABLE: idempotency.tableName,
    API_KEYS_TABLE: apiKeys.tableName,
    // More than a busy machine needs: a limiter that times out admits the request.
    LIMITER_TIMEOUT_MS: '60000',
    METRICS_NAMESPACE: 'Test',
    ALLOWED_METHODS: JSON.stringify(allowedMethods()),
    AUTHORIZER_CACHE_SECONDS: '60',
  };
}
