import { randomUUID } from 'node:crypto';
import { CreateTableCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inject } from 'vitest';
import type { KeyTable } from '../../functions/access/key-records.ts';
import type { LimitTable } from '../../functions/access/limiter.ts';
import { connect } from '../../functions/dynamodb/connection.ts';
import type { PetTable } from '../../functions/pets/store.ts';
import { type TableName, tableNames } from '../../functions/tables.ts';
import { tableShape } from './table-shapes.ts';
import { awsVariables } from './variables.ts';

/** A client like that of a function, for the database of the tests unless another endpoint is given. */
function newClient(endpoint: string = inject('dynamodbEndpoint')): DynamoDBDocumentClient {
  return connect(awsVariables(endpoint)).client;
}

type Table = PetTable & KeyTable & LimitTable;
export type Tables = Readonly<Record<TableName, Table>>;

/** A new, empty table. */
export async function createTable(name: TableName, client = newClient()): Promise<Table> {
  const tableName = `${name}-${randomUUID()}`;
  const { TimeToLiveSpecification, ...definition } = tableShape(name, tableName);
  await client.send(new CreateTableCommand({ ...definition, BillingMode: 'PAY_PER_REQUEST' }));
  if (TimeToLiveSpecification.Enabled)
    await client.send(new UpdateTimeToLiveCommand({ TableName: tableName, TimeToLiveSpecification }));
  return { client, tableName };
}

/** One new table of each kind. */
export async function createTables(): Promise<Tables> {
  const created = tableNames.map(async (name) => [name, await createTable(name)] as const);
  return Object.fromEntries(await Promise.all(created)) as Record<TableName, Table>;
}
