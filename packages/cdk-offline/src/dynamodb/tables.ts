import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { localCredentials, region } from '../aws.ts';
import type { Stack } from '../template/stack.ts';

const keySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }));
const projection = z.object({
  ProjectionType: z.enum(['ALL', 'KEYS_ONLY', 'INCLUDE']),
  NonKeyAttributes: z.array(z.string()).optional(),
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

/** DynamoDB Local wants numbers for a provisioned table and does not enforce them. */
const anyThroughput = { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 };

/** A table as CreateTable takes it, and the attribute that its items expire by. */
export interface TableDefinition {
  readonly input: CreateTableCommandInput & { readonly TableName: string };
  readonly expiryAttribute: string | undefined;
}

/**
 * The tables of a stack.
 *
 * @param notes gets a line for each thing that a table asks for and that DynamoDB Local does not do here
 */
export function readTables(stack: Stack, notes: string[]): TableDefinition[] {
  return stack.resources('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable').map((resource) => {
    const { BillingMode, TimeToLiveSpecification, ...definition } = resource.read(table);
    const { GlobalSecondaryIndexes, LocalSecondaryIndexes, StreamSpecification } = definition;
    if (StreamSpecification !== undefined)
      notes.push(`${resource.logicalId}: nothing reads the table's stream in cdk-offline`);
    const throughput = BillingMode === 'PROVISIONED' ? { ProvisionedThroughput: anyThroughput } : {};
    return {
      input: {
        TableName: resource.physicalId,
        KeySchema: definition.KeySchema,
        AttributeDefinitions: definition.AttributeDefinitions,
        BillingMode,
        ...throughput,
        ...(GlobalSecondaryIndexes && {
          GlobalSecondaryIndexes: GlobalSecondaryIndexes.map((gsi) => ({ ...toIndex(gsi), ...throughput })),
        }),
        ...(LocalSecondaryIndexes && {
          LocalSecondaryIndexes: LocalSecondaryIndexes.map((lsi) => toIndex(lsi)),
        }),
      },
      expiryAttribute:
        TimeToLiveSpecification?.Enabled === true ? TimeToLiveSpecification.AttributeName : undefined,
    };
  });
}

/** Creates those of the tables that do not exist, with their indexes and expiry. */
export async function createTables(tables: readonly TableDefinition[], endpoint: string): Promise<void> {
  const client = new DynamoDBClient({ region, endpoint, credentials: localCredentials });
  try {
    await Promise.all(tables.map((definition) => createTable(client, definition)));
  } finally {
    client.destroy();
  }
}

async function createTable(
  client: DynamoDBClient,
  { input, expiryAttribute: AttributeName }: TableDefinition,
): Promise<void> {
  const { TableName } = input;
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (error instanceof ResourceInUseException) return;
    throw new Error(`The table ${TableName} cannot be created: ${String(error)}`, { cause: error });
  }
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
  if (AttributeName !== undefined) {
    await client.send(
      new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled: true } }),
    );
  }
}

function toIndex({ IndexName, KeySchema, Projection }: z.infer<typeof index>) {
  const { ProjectionType, NonKeyAttributes } = Projection;
  return {
    IndexName,
    KeySchema,
    Projection: { ProjectionType, ...(NonKeyAttributes && { NonKeyAttributes }) },
  };
}
