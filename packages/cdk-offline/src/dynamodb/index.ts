/** Amazon's DynamoDB Local on its own, for tests that need a database and no API. */
export { requireJava } from './java.ts';
export { type DynamoDbLocal, type DynamoDbLocalOptions, startDynamoDb } from './local.ts';
