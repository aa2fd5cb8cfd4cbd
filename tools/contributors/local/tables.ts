import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  ResourceInUseException,
  UpdateItemCommand,
  UpdateTableCommand,
  type UpdateTableCommandInput,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import type { DatabaseAccess } from './database.ts';
import { region, type Stack } from './template.ts';

/** The input of CreateTable, and the TTL attribute. */
export interface TableDefinition {
  readonly input: CreateTableCommandInput & { readonly TableName: string };
  readonly expiryAttribute: string | undefined;
}

export function tablesOf(stack: Stack): TableDefinition[] {
  return stack.resources('AWS::DynamoDB::GlobalTable').map(({ id: TableName, properties }) => {
    const { KeySchema, AttributeDefinitions, BillingMode, GlobalSecondaryIndexes, TimeToLiveSpecification } =
      properties;
    const indexes = GlobalSecondaryIndexes.length > 0 && { GlobalSecondaryIndexes };
    return {
      input: { TableName, KeySchema, AttributeDefinitions, BillingMode, ...indexes },
      expiryAttribute: TimeToLiveSpecification?.AttributeName,
    };
  });
}

/** The client tries three times. */
const answerTimeoutMs = 10_000;

/** Creates the tables that do not exist, and gives the others the indexes of the template. @returns how many it has created */
export async function createTables(
  tables: readonly TableDefinition[],
  { endpoint, credentials }: DatabaseAccess,
): Promise<number> {
  const requestHandler = { requestTimeout: answerTimeoutMs, throwOnRequestTimeout: true };
  const client = new DynamoDBClient({ region, endpoint, credentials, requestHandler });
  try {
    const created = await Promise.all(tables.map((definition) => createTable(client, definition)));
    await Promise.allSettled(tables.map((definition) => warm(client, definition)));
    return created.filter(Boolean).length;
  } finally {
    client.destroy();
  }
}

/** @returns false if the table exists */
async function createTable(
  client: DynamoDBClient,
  { input, expiryAttribute }: TableDefinition,
): Promise<boolean> {
  const { TableName } = input;
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (!(error instanceof ResourceInUseException))
      throw new Error(`The table ${TableName} cannot be created: ${String(error)}`, { cause: error });
    await updateIndexes(client, input);
    return false;
  }
  await untilActive(client, TableName);
  if (expiryAttribute !== undefined) {
    const TimeToLiveSpecification = { AttributeName: expiryAttribute, Enabled: true };
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
  }
  return true;
}

/** Adds the indexes that a kept table lacks, one after the other as on AWS, and deletes those that the template lacks. */
async function updateIndexes(
  client: DynamoDBClient,
  { TableName, AttributeDefinitions, GlobalSecondaryIndexes: wanted = [] }: TableDefinition['input'],
): Promise<void> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  const found = new Set((Table?.GlobalSecondaryIndexes ?? []).map(({ IndexName }) => IndexName));
  const names = new Set(wanted.map(({ IndexName }) => IndexName));
  const updates: UpdateTableCommandInput['GlobalSecondaryIndexUpdates'] = [
    ...[...found].filter((name) => !names.has(name)).map((IndexName) => ({ Delete: { IndexName } })),
    ...wanted.filter(({ IndexName }) => !found.has(IndexName)).map((Create) => ({ Create })),
  ];
  for (const update of updates) {
    const GlobalSecondaryIndexUpdates = [update];
    await client.send(
      new UpdateTableCommand({ TableName, AttributeDefinitions, GlobalSecondaryIndexUpdates }),
    );
    await untilActive(client, TableName);
  }
}

const activeTimeoutMs = 60_000;

async function untilActive(client: DynamoDBClient, TableName: string): Promise<void> {
  const end = Date.now() + activeTimeoutMs;
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const statuses = [
      Table?.TableStatus,
      ...(Table?.GlobalSecondaryIndexes ?? []).map((each) => each.IndexStatus),
    ];
    if (statuses.every((status) => status === 'ACTIVE')) return;
    if (Date.now() > end) throw new Error(`The table ${TableName} does not become active.`);
    await sleep(50);
  }
}

/**
 * Reads and writes nothing once. The first calls of DynamoDB Local take many times longer than the following ones, and the
 * time-outs of functions are made for DynamoDB.
 */
async function warm(
  client: DynamoDBClient,
  { input: { TableName, KeySchema = [], AttributeDefinitions = [] } }: TableDefinition,
): Promise<void> {
  const [hash = ''] = KeySchema.map(({ AttributeName }) => AttributeName);
  const type = AttributeDefinitions.find(({ AttributeName }) => AttributeName === hash)?.AttributeType;
  const Key = { [hash]: type === 'N' ? { N: '0' } : { S: 'key' } };
  const never = {
    ConditionExpression: 'attribute_exists(#key) AND attribute_not_exists(#key)',
    ExpressionAttributeNames: { '#key': hash },
  };
  await client.send(new GetItemCommand({ TableName, Key }));
  await client.send(new UpdateItemCommand({ TableName, Key, ...never }));
}
