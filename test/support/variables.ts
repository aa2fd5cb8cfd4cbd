import { type TableName, tableNames, tableVariables } from '../../functions/tables.ts';

/** The variables that Lambda sets for every function, aimed at this endpoint of DynamoDB. */
export function awsVariables(endpoint: string) {
  return {
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
  };
}

/** The environment variables that have the names of the tables. */
export function namesOfTables(nameOf: (table: TableName) => string): Record<string, string> {
  return Object.fromEntries(tableNames.map((table) => [tableVariables[table], nameOf(table)]));
}

/** The environment variables of the functions, as the stack sets them. */
export function functionVariables(
  endpoint: string,
  tables: Readonly<Record<TableName, { readonly tableName: string }>>,
): Record<string, string> {
  return {
    ...awsVariables(endpoint),
    STAGE: 'test',
    ...namesOfTables((table) => tables[table].tableName),
    // This is more than a busy machine needs, because a limiter that times out admits the request.
    LIMITER_TIMEOUT_MS: '60000',
    METRICS_NAMESPACE: 'Test',
    AUTHORIZER_CACHE_SECONDS: '60',
  };
}
