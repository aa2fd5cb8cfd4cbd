/** DynamoDB Local alone, for tests that need only a database. */
export { requireJava } from './java.ts';
export { type DynamoDbLocal, type DynamoDbLocalOptions, startDynamoDb } from './local.ts';
