/** DynamoDB Local alone, for tests that need only a database. */
export type { DynamoDbCredentials } from './credentials.ts';
export { type DynamoDbLocal, type DynamoDbLocalOptions, startDynamoDb } from './local.ts';
