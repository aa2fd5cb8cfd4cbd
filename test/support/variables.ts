import { allowedMethods } from '../../lib/operations.ts';

/** The variables that Lambda sets for every function, aimed at this endpoint of DynamoDB. */
export function awsVariables(endpoint: string): Record<string, string> {
  return {
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
  };
}

type Table = 'pets' | 'rateLimits' | 'idempotency' | 'apiKeys';

/** The environment variables of the functions, as the stack sets them. */
export function functionVariables(
  endpoint: string,
  { pets, rateLimits, idempotency, apiKeys }: Record<Table, { readonly tableName: string }>,
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
