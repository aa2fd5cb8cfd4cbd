import { authSubjects } from './auth-js.mjs';
import { autoIncrementSubjects } from './nasa-autoincrement.mjs';
import { castoreSubjects } from './castore.mjs';
import { dynamoDbLockClientSubjects } from './dynamodb-lock-client.mjs';
import { dynamoDbLockSubjects } from './dynamodb-lock.mjs';
import { electroSubjects } from './electrodb.mjs';
import { eventStoreSubjects } from './event-store-adapter.mjs';
import { flexibleSubjects } from './rate-limiter-flexible.mjs';
import { httpClientToolkitSubjects } from './http-client-toolkit.mjs';
import { keyvSubjects } from './keyv.mjs';
import { langGraphSubjects } from './langgraph.mjs';
import { mastraSubjects } from './mastra.mjs';
import { oneTableMigrateSubjects } from './onetable-migrate.mjs';
import { oneTableSubjects } from './onetable.mjs';
import { powertoolsSubjects } from './powertools.mjs';
import { sessionSubjects } from './sessions.mjs';
import { shopifySubjects } from './shopify.mjs';
import { useDynamoDbSubjects } from './use-dynamodb.mjs';

/*
 * What is run: a library, a property in one sentence, requests and faults. Each request returns what its code was told, so that the
 * same check judges the simulation and a running engine.
 */
export const subjects = [
  ...authSubjects,
  ...castoreSubjects,
  ...httpClientToolkitSubjects,
  ...dynamoDbLockClientSubjects,
  ...eventStoreSubjects,
  ...keyvSubjects,
  ...langGraphSubjects,
  ...mastraSubjects,
  ...oneTableSubjects,
  ...oneTableMigrateSubjects,
  ...sessionSubjects,
  ...shopifySubjects,
  ...autoIncrementSubjects,
  ...useDynamoDbSubjects,
  ...powertoolsSubjects,
  ...flexibleSubjects,
  ...dynamoDbLockSubjects,
  ...electroSubjects,
];
