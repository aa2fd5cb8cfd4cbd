import { DescribeTableCommand, ResourceNotFoundException } from '@aws-sdk/client-dynamodb';
import type { PetTable } from '../../functions/pets/store.ts';
import { ToolError, usageError } from '../command-line/errors.ts';

/**
 * What no other table has: the ARN, with account and Region, and the time of creation, since a table can be created again by
 * the same name.
 *
 * @throws ToolError if the table does not exist, or is not one of animals
 */
export async function identityOf({ client, tableName }: PetTable): Promise<string> {
  const { Table: table } = await client
    .send(new DescribeTableCommand({ TableName: tableName }))
    .catch((error: Error) => {
      const [notFound, invalid] = [ResourceNotFoundException.name, 'ValidationException'];
      if (error.name !== notFound && error.name !== invalid) throw error;
      const message = `Table ${tableName} does not exist in this account and Region.`;
      throw new ToolError('not_found', message, { cause: error });
    });
  const { TableArn: arn, CreationDateTime: created, KeySchema: schema = [] } = table ?? {};
  const keys = schema.map(({ AttributeName: name }) => name).join(', ');
  if (keys !== 'id') throw usageError(`Table ${tableName} has no animals: its key is ${keys}, not id.`);
  return `${arn}, created ${created?.toISOString()}`;
}
