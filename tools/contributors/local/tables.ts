import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CreateTableCommandInput,
  DynamoDB,
  type UpdateTableCommandInput,
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
  const client = new DynamoDB({ region, endpoint, credentials, requestHandler });
  try {
    const { TableNames: kept = [] } = await client.listTables();
    await Promise.all(
      tables.map(async ({ input, expiryAttribute: AttributeName }) => {
        const { TableName } = input;
        if (kept.includes(TableName)) return updateIndexes(client, input);
        await client.createTable(input);
        await untilActive(client, TableName);
        if (AttributeName === undefined) return;
        await client.updateTimeToLive({
          TableName,
          TimeToLiveSpecification: { AttributeName, Enabled: true },
        });
      }),
    );
    await Promise.all(tables.map((definition) => warm(client, definition)));
    return tables.filter(({ input }) => !kept.includes(input.TableName)).length;
  } finally {
    client.destroy();
  }
}

/** Adds the indexes that a kept table lacks, one after the other as on AWS, and deletes those that the template lacks. */
async function updateIndexes(
  client: DynamoDB,
  { TableName, AttributeDefinitions, GlobalSecondaryIndexes: wanted = [] }: TableDefinition['input'],
): Promise<void> {
  const { Table } = await client.describeTable({ TableName });
  const found = (Table?.GlobalSecondaryIndexes ?? []).map(({ IndexName }) => IndexName);
  const names = new Set(wanted.map(({ IndexName }) => IndexName));
  const updates: UpdateTableCommandInput['GlobalSecondaryIndexUpdates'] = [
    ...found.filter((name) => !names.has(name)).map((IndexName) => ({ Delete: { IndexName } })),
    ...wanted.filter(({ IndexName }) => !found.includes(IndexName)).map((Create) => ({ Create })),
  ];
  for (const update of updates) {
    await client.updateTable({ TableName, AttributeDefinitions, GlobalSecondaryIndexUpdates: [update] });
    await untilActive(client, TableName);
  }
}

async function untilActive(client: DynamoDB, TableName: string): Promise<void> {
  for (;;) {
    const { Table } = await client.describeTable({ TableName });
    const indexes = Table?.GlobalSecondaryIndexes ?? [];
    if (Table?.TableStatus === 'ACTIVE' && indexes.every(({ IndexStatus }) => IndexStatus === 'ACTIVE'))
      return;
    await sleep(50);
  }
}

/**
 * Reads and writes nothing once. The first calls of DynamoDB Local take many times longer than the following ones, and the
 * time-outs of functions are made for DynamoDB.
 */
async function warm(client: DynamoDB, { input }: TableDefinition): Promise<void> {
  const { TableName, AttributeDefinitions = [] } = input;
  const hash = input.KeySchema?.[0]?.AttributeName ?? '';
  const isNumber = AttributeDefinitions.some(
    ({ AttributeName, AttributeType }) => AttributeName === hash && AttributeType === 'N',
  );
  const Key = { [hash]: isNumber ? { N: '0' } : { S: 'key' } };
  const never = {
    ConditionExpression: 'attribute_exists(#key) AND attribute_not_exists(#key)',
    ExpressionAttributeNames: { '#key': hash },
  };
  await Promise.allSettled([
    client.getItem({ TableName, Key }),
    client.updateItem({ TableName, Key, ...never }),
  ]);
}
