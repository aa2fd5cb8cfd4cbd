/** A database alone, for tests that need nothing else. */
export type { DynamoDbCredentials } from './credentials.ts';
export { chooseDatabase, type DatabaseName, databaseNames } from './engines.ts';
export { type LocalDynamoDb, type LocalDynamoDbOptions, startDynamoDb } from './start.ts';
