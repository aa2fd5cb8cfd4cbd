import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import type { Stack } from './template/stack.ts';

/** The credentials that every local call is signed with. Nothing verifies them. */
export const localCredentials = { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' };

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

/** What a provisioned table gets here: DynamoDB Local asks for numbers and does not hold anybody to them. */
const anyThroughput = { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 };

/**
 * Makes the stack's tables, with their indexes and expiry, in DynamoDB Local. A table that exists is left as it is.
 * DynamoDB Local always answers as an on-demand table would.
 *
 * @returns what the tables ask for that DynamoDB Local does not do here, one line each
 */
export async function createTables(
  stack: Stack,
  region: string,
  endpoint: string,
): Promise<readonly string[]> {
  const client = new DynamoDBClient({ region, endpoint, credentials: localCredentials });
  try {
    const notes = await Promise.all(
      stack.resources('AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable').map(async (resource) => {
        const definition = resource.read(table);
        await createTable(client, resource.physicalId, definition);
        return definition.StreamSpecification === undefined
          ? []
          : [`${resource.logicalId}: the table's stream is not read by anything here`];
      }),
    );
    return notes.flat();
  } finally {
    client.destroy();
  }
}

async function createTable(
  client: DynamoDBClient,
  TableName: string,
  definition: z.infer<typeof table>,
): Promise<void> {
  const { BillingMode, GlobalSecondaryIndexes, LocalSecondaryIndexes, TimeToLiveSpecification } = definition;
  const throughput = BillingMode === 'PROVISIONED' ? { ProvisionedThroughput: anyThroughput } : {};
  const input: CreateTableCommandInput = {
    TableName,
    KeySchema: definition.KeySchema,
    AttributeDefinitions: definition.AttributeDefinitions,
    BillingMode,
    ...throughput,
    ...(GlobalSecondaryIndexes && {
      GlobalSecondaryIndexes: GlobalSecondaryIndexes.map((gsi) => ({ ...toIndex(gsi), ...throughput })),
    }),
    ...(LocalSecondaryIndexes && { LocalSecondaryIndexes: LocalSecondaryIndexes.map((lsi) => toIndex(lsi)) }),
  };
  try {
    await client.send(new CreateTableCommand(input));
  } catch (error) {
    if (error instanceof ResourceInUseException) return;
    throw new Error(`The table ${TableName} cannot be made: ${String(error)}`, { cause: error });
  }
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
  if (TimeToLiveSpecification?.Enabled === true) {
    const { AttributeName } = TimeToLiveSpecification;
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
