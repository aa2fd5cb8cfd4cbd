import { randomUUID } from 'node:crypto';
import { CreateTableCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inject } from 'vitest';
import type { KeyTable } from '../../functions/access/key-records.ts';
import type { LimitTable } from '../../functions/access/limiter.ts';
import { dynamoDb } from '../../functions/dynamodb.ts';
import type { PetTable } from '../../functions/pets/store.ts';
import { awsVariables } from './aws-variables.ts';
import { tableShapes, timeToLiveAttribute } from './table-shapes.ts';

/** A client like that of a function, for DynamoDB Local unless another endpoint is given. */
export function newClient(endpoint: string = inject('dynamodbEndpoint')): DynamoDBDocumentClient {
  return dynamoDb(awsVariables(endpoint));
}

type Table = PetTable & KeyTable & LimitTable;

/** A new, empty table of its own for a test. */
export async function createTable(name: keyof typeof tableShapes, client = newClient()): Promise<Table> {
  const tableName = `${name}-${randomUUID()}`;
  await client.send(
    new CreateTableCommand({ ...tableShapes[name], TableName: tableName, BillingMode: 'PAY_PER_REQUEST' }),
  );
  if (name === 'RateLimits' || name === 'Idempotency') {
    await client.send(
      new UpdateTimeToLiveCommand({
        TableName: tableName,
        TimeToLiveSpecification: { AttributeName: timeToLiveAttribute, Enabled: true },
      }),
    );
  }
  return { client, tableName };
}
