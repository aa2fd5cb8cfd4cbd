import { randomUUID } from 'node:crypto';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inject } from 'vitest';
import type { KeyTable } from '../../functions/access/key-records.ts';
import type { LimitTable } from '../../functions/access/limiter.ts';
import { connect } from '../../functions/dynamodb/connection.ts';
import type { PetTable } from '../../functions/pets/store.ts';
import { awsVariables } from './variables.ts';

type Shape = Omit<CreateTableCommandInput, 'TableName' | 'BillingMode'>;

const keyIdRange = { AttributeName: 'keyId', KeyType: 'RANGE' } as const;

/** The tables as the stack declares them, which test/infrastructure/consistency.test.ts compares with these. */
export const tableShapes = {
  Pets: {
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [
      { AttributeName: 'id', AttributeType: 'N' },
      { AttributeName: 'status', AttributeType: 'S' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byStatus',
        KeySchema: [
          { AttributeName: 'status', KeyType: 'HASH' },
          { AttributeName: 'id', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
  ApiKeys: {
    KeySchema: [{ AttributeName: 'keyHash', KeyType: 'HASH' }],
    AttributeDefinitions: [
      { AttributeName: 'keyHash', AttributeType: 'S' },
      { AttributeName: 'keyId', AttributeType: 'S' },
      { AttributeName: 'owner', AttributeType: 'S' },
      { AttributeName: 'plan', AttributeType: 'S' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byKeyId',
        KeySchema: [{ AttributeName: 'keyId', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
      {
        IndexName: 'byOwner',
        KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }, keyIdRange],
        Projection: { ProjectionType: 'ALL' },
      },
      {
        IndexName: 'byPlan',
        KeySchema: [{ AttributeName: 'plan', KeyType: 'HASH' }, keyIdRange],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  },
  RateLimits: {
    KeySchema: [{ AttributeName: 'keyHash', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'keyHash', AttributeType: 'S' }],
  },
  Idempotency: {
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  },
} as const satisfies Record<string, Shape>;

export const timeToLiveAttribute = 'expiresAt';

/** A client like that of a function, for DynamoDB Local unless another endpoint is given. */
export function newClient(endpoint: string = inject('dynamodbEndpoint')): DynamoDBDocumentClient {
  return connect(awsVariables(endpoint)).client;
}

type Table = PetTable & KeyTable & LimitTable;
export type Tables = Readonly<Record<'pets' | 'rateLimits' | 'idempotency' | 'apiKeys', Table>>;

/** A new, empty table. */
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

/** One new table of each kind. */
export async function createTables(): Promise<Tables> {
  const [pets, rateLimits, idempotency, apiKeys] = await Promise.all([
    createTable('Pets'),
    createTable('RateLimits'),
    createTable('Idempotency'),
    createTable('ApiKeys'),
  ]);
  return { pets, rateLimits, idempotency, apiKeys };
}
