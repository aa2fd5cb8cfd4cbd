/** Amazon's DynamoDB Local on its own, for tests that need a database and no API. */
export { type DynamoDbLocal, type DynamoDbLocalOptions, requireJava, startDynamoDb } from './local.ts';
