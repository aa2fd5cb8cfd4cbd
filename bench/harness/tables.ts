import { randomUUID } from 'node:crypto';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { dynamoDb } from '../../functions/dynamodb/client.ts';
import { tableShapes } from '../../test/support/table-shapes.ts';
import { keyHash, limits, type tableNames } from './fixtures.ts';
import { lambdaVariables } from './lambda.ts';

export function clientOf(endpoint: string) {
  return dynamoDb({ ...lambdaVariables, AWS_ENDPOINT_URL_DYNAMODB: endpoint });
}

type Client = ReturnType<typeof clientOf>;

export async function createPetsTable(client: Client): Promise<string> {
  return createTable(client, 'Pets');
}

/** The tables of the service, with the benchmark's key. */
export async function createTables(client: Client): Promise<typeof tableNames> {
  const [pets, apiKeys, rateLimits, idempotency] = await Promise.all([
    createPetsTable(client),
    createTable(client, 'ApiKeys'),
    createTable(client, 'RateLimits'),
    createTable(client, 'Idempotency'),
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
  return { pets, apiKeys, rateLimits, idempotency };
}

async function createTable(client: Client, name: keyof typeof tableShapes): Promise<string> {
  const TableName = `${name}-${randomUUID()}`;
  await client.send(
    new CreateTableCommand({ ...tableShapes[name], TableName, BillingMode: 'PAY_PER_REQUEST' }),
  );
  return TableName;
}
