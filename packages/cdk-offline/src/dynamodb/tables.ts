import { setTimeout } from 'node:timers/promises';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  UpdateTableCommand,
  type UpdateTableCommandInput,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { region } from '../template/aws.ts';
import type { Stack } from '../template/stack.ts';
import { tableTypes } from '../template/stack-with-imports.ts';
import type { DynamoDbCredentials } from './credentials.ts';
import { warm } from './warm.ts';

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));
const projection = z.object({
  ProjectionType: z.enum(['ALL', 'KEYS_ONLY', 'INCLUDE']),
  NonKeyAttributes: z.array(z.string()).exactOptional(),
});
const index = z.object({ IndexName: z.string(), KeySchema: keySchema, Projection: projection });
const billingMode = z.enum(['PROVISIONED', 'PAY_PER_REQUEST']).default('PROVISIONED');

const table = z.object({
  KeySchema: keySchema,
  AttributeDefinitions: z.array(
    z.object({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) }),
  ),
  BillingMode: billingMode,
  GlobalSecondaryIndexes: z.array(index).optional(),
  LocalSecondaryIndexes: z.array(index).optional(),
  TimeToLiveSpecification: z
    .object({ AttributeName: z.string().optional(), Enabled: z.boolean() })
    .optional(),
  StreamSpecification: z.unknown().optional(),
});

/** The databases require numbers for a provisioned table and do not enforce them. */
const anyThroughput = { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 };

/** The input of CreateTable, and the TTL attribute. */
export interface TableDefinition {
  readonly input: CreateTableCommandInput & { readonly TableName: string };
  readonly expiryAttribute: string | undefined;
}

/**
 * The tables of a stack.
 *
 * @param notes gets one line for each setting that has no effect here
 */
export function readTables(stack: Stack, notes: string[]): TableDefinition[] {
  return stack.resources(...tableTypes).map((resource) => {
    const { BillingMode, TimeToLiveSpecification, ...definition } = resource.read(table);
    const { GlobalSecondaryIndexes, LocalSecondaryIndexes, StreamSpecification } = definition;
    if (StreamSpecification !== undefined) {
      notes.push(`${resource.logicalId}: table streams are not supported by cdk-offline`);
    }
    const throughput = BillingMode === 'PROVISIONED' ? { ProvisionedThroughput: anyThroughput } : {};
    return {
      input: {
        TableName: resource.physicalId,
        KeySchema: definition.KeySchema,
        AttributeDefinitions: definition.AttributeDefinitions,
        BillingMode,
        ...throughput,
        ...(GlobalSecondaryIndexes && {
          GlobalSecondaryIndexes: GlobalSecondaryIndexes.map((gsi) => ({ ...gsi, ...throughput })),
        }),
        ...(LocalSecondaryIndexes && { LocalSecondaryIndexes }),
      },
      expiryAttribute:
        TimeToLiveSpecification?.Enabled === true ? TimeToLiveSpecification.AttributeName : undefined,
    };
  });
}

const tableArn = /"arn:[\w-]+:dynamodb:[^:"]*:[^:"]*:table\/([\w.-]+)["/]/g;

/** The names of the tables that the IAM policies of a stack permit to use. */
export function tableNamesInPolicies(stack: Stack): string[] {
  return stack
    .resources('AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy', 'AWS::IAM::Role')
    .flatMap((resource) => [
      ...resource.readEach(['PolicyDocument', 'Statement'], '').values(),
      ...resource.readEach(['Policies'], '').values(),
    ])
    .flatMap((statement) => [...JSON.stringify(statement).matchAll(tableArn)].map(([, name = '']) => name));
}

/** The client tries three times. */
const answerTimeoutMs = 10_000;

/**
 * Creates the tables that do not exist, with their indexes and TTL, gives the others the indexes of the template, and warms the
 * database. @returns how many it has created
 */
export async function createTables(
  tables: readonly TableDefinition[],
  endpoint: string,
  credentials: DynamoDbCredentials,
): Promise<number> {
  const requestHandler = { requestTimeout: answerTimeoutMs, throwOnRequestTimeout: true };
  const client = new DynamoDBClient({ region, endpoint, credentials, requestHandler });
  try {
    const created = await Promise.all(tables.map((definition) => createTable(client, definition)));
    if (tables[0] !== undefined) await warm(client, tables[0].input);
    return created.filter(Boolean).length;
  } finally {
    client.destroy();
  }
}

/** @returns false if the table exists */
async function createTable(
  client: DynamoDBClient,
  { input, expiryAttribute: AttributeName }: TableDefinition,
): Promise<boolean> {
  const { TableName } = input;
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (error instanceof ResourceInUseException) {
      await updateIndexes(client, input);
      return false;
    }
    throw new Error(`The table ${TableName} cannot be created: ${String(error)}`, { cause: error });
  }
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
  if (AttributeName !== undefined) {
    await client.send(
      new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled: true } }),
    );
  }
  return true;
}

/** Adds the global indexes that a kept table lacks, one after the other as on AWS, and deletes those that the template lacks. */
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
    await client.send(
      new UpdateTableCommand({ TableName, AttributeDefinitions, GlobalSecondaryIndexUpdates: [update] }),
    );
    await indexesAreActive(client, TableName);
  }
}

const indexTimeoutMs = 60_000;

async function indexesAreActive(client: DynamoDBClient, TableName: string): Promise<void> {
  const end = Date.now() + indexTimeoutMs;
  for (;;) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName }));
    const indexes = Table?.GlobalSecondaryIndexes ?? [];
    if (Table?.TableStatus === 'ACTIVE' && indexes.every(({ IndexStatus }) => IndexStatus === 'ACTIVE'))
      return;
    if (Date.now() > end) throw new Error(`The indexes of the table ${TableName} do not become active.`);
    await setTimeout(50);
  }
}
