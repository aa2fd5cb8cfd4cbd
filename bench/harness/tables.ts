import { randomUUID } from 'node:crypto';
import { CreateTableCommand, type CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { dynamoDb } from '../../functions/dynamodb.ts';
import { keyHash, limits, type tableNames } from './fixtures.ts';
import { lambdaVariables } from './lambda.ts';

type Shape = Pick<CreateTableCommandInput, 'KeySchema' | 'AttributeDefinitions' | 'GlobalSecondaryIndexes'>;

const keyHashOnly: Shape = {
  KeySchema: [{ AttributeName: 'keyHash', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'keyHash', AttributeType: 'S' }],
};

/** As far as requests see them; test/infrastructure/house.test.ts compares such shapes with the stack. */
const petsShape: Shape = {
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
};

export function clientOf(endpoint: string) {
  return dynamoDb({ ...lambdaVariables, AWS_ENDPOINT_URL_DYNAMODB: endpoint });
}

type Client = ReturnType<typeof clientOf>;

export async function createPetsTable(client: Client): Promise<string> {
  return createTable(client, 'Pets', petsShape);
}

/** Every table that a request needs, with the benchmark's key in it. */
export async function createTables(client: Client): Promise<typeof tableNames> {
  const [pets, apiKeys, rateLimits] = await Promise.all([
    createPetsTable(client),
    createTable(client, 'ApiKeys', keyHashOnly),
    createTable(client, 'RateLimits', keyHashOnly),
  ]);
  const key = {
    keyHash,
    keyId: 'key_bench',
    owner: 'bench',
    plan: 'enterprise',
    status: 'active',
    ...limits,
  };
  await client.send(new PutCommand({ TableName: apiKeys, Item: key }));
  return { pets, apiKeys, rateLimits };
}

async function createTable(client: Client, name: string, shape: Shape): Promise<string> {
  const TableName = `${name}-${randomUUID()}`;
  await client.send(new CreateTableCommand({ TableName, BillingMode: 'PAY_PER_REQUEST', ...shape }));
  return TableName;
}
