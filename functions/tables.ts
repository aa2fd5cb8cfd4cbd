/** The tables of a stage, each with the environment variable in which a function has its name. */
export const tableVariables = {
  pets: 'PETS_TABLE',
  apiKeys: 'API_KEYS_TABLE',
  rateLimits: 'RATE_LIMITS_TABLE',
  idempotency: 'IDEMPOTENCY_TABLE',
} as const;
export type TableName = keyof typeof tableVariables;
export const tableNames = Object.keys(tableVariables) as readonly TableName[];
