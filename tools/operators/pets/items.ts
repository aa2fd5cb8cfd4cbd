import { isDeepStrictEqual } from 'node:util';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { NumberValueImpl as NumberValue, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { newPet, type Pet, type PetStatus, storedPet } from '../../../functions/pets/schema.ts';
import type { PetTable } from '../../../functions/pets/store.ts';
import { problemsIn, settle, ToolError } from '../command-line/errors.ts';
import type { PetService } from './service.ts';

/** The items of the Pets table as operators read and change them: valid or not, and never on top of a newer change. */

/** Attributes as DynamoDB has them, numbers with their exact digits. */
export type Item = Readonly<Record<string, unknown>>;

/** An item, as a pet or with what is wrong with it. */
export type StoredItem =
  | { readonly item: Item; readonly pet: Pet; readonly malformed?: undefined }
  | { readonly item: Item; readonly pet?: undefined; readonly malformed: string };

export function toStored(item: Item): StoredItem {
  const { data, error } = z.safeParse(storedPet, item);
  if (data !== undefined) return { item, pet: data };
  return { item, malformed: problemsIn(item, error) };
}

/** The ID of an item in all its digits. That of a malformed one may have a fraction. */
export function idOf(item: Item): string {
  return String(item['id']);
}

/** @param id a number as DynamoDB writes it */
export async function readItem({ client, tableName }: PetTable, id: string): Promise<StoredItem | undefined> {
  const { Item: item } = await client.send(
    new GetCommand({ TableName: tableName, Key: { id: NumberValue.from(id) }, ConsistentRead: true }),
  );
  return item && toStored(item);
}

/** A condition that holds as long as the item is as it was read. */
function unchanged(item: Item) {
  const names = [...new Set([...Object.keys(item), ...Object.keys(newPet.shape)])];
  const terms = names.map((name, index) =>
    name in item ? `#${index} = :${index}` : `attribute_not_exists(#${index})`,
  );
  const values = names.flatMap((name, index) => (name in item ? [[`:${index}`, item[name]]] : []));
  return {
    ConditionExpression: terms.join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#${index}`, name])),
    ExpressionAttributeValues: Object.fromEntries(values) as Record<string, unknown>,
  };
}

/** Changes the status of a pet, unless it was changed since it was read. @throws ToolError, OutcomeUnknownError */
export async function writeStatus(
  { table, ...service }: PetService,
  { item, pet }: { readonly item: Item; readonly pet: Pet },
  status: PetStatus,
): Promise<void> {
  const { client, tableName } = table;
  const {
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
    ...condition
  } = unchanged(item);
  const command = new UpdateCommand({
    TableName: tableName,
    Key: { id: pet.id },
    UpdateExpression: 'SET #status = :status',
    ...condition,
    ExpressionAttributeNames: { ...names, '#status': 'status' },
    ExpressionAttributeValues: { ...values, ':status': status },
  });
  const isMade = async () => isDeepStrictEqual((await readItem(table, idOf(item)))?.pet, { ...pet, status });
  await decided(client.send(command), idOf(item), isMade);
  await service.afterStep('write');
}

/** Deletes an item, unless it was changed since it was read. @throws ToolError, OutcomeUnknownError */
export async function deleteItem({ table, ...service }: PetService, item: Item): Promise<void> {
  const { client, tableName } = table;
  const command = new DeleteCommand({ TableName: tableName, Key: { id: item['id'] }, ...unchanged(item) });
  const isMade = async () => (await readItem(table, idOf(item))) === undefined;
  await decided(client.send(command), idOf(item), isMade);
  await service.afterStep('write');
}

/** Puts a pet in the place of an item, unless it was changed since it was read. @throws ToolError, OutcomeUnknownError */
export async function replaceItem({ table, ...service }: PetService, item: Item, pet: Pet): Promise<void> {
  const { client, tableName } = table;
  const command = new PutCommand({ TableName: tableName, Item: { ...pet }, ...unchanged(item) });
  const isMade = async () => isDeepStrictEqual((await readItem(table, idOf(item)))?.pet, pet);
  await decided(client.send(command), idOf(item), isMade);
  await service.afterStep('write');
}

/** Stores a pet, unless there is an item with its ID, which is then returned. */
export async function putNew(
  { table: { client, tableName }, afterStep }: PetService,
  pet: Pet,
): Promise<StoredItem | undefined> {
  try {
    await client.send(
      new PutCommand({
        TableName: tableName,
        Item: { ...pet },
        ConditionExpression: 'attribute_not_exists(id)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException) || error.Item === undefined) throw error;
    // The document client does not unmarshall the items of errors.
    return toStored(unmarshall(error.Item, { wrapNumbers: true }));
  }
  await afterStep('write');
  return undefined;
}

/** Waits for a conditional write. After a lost answer, what is stored decides. */
async function decided(write: Promise<unknown>, id: string, isMade: () => Promise<boolean>): Promise<void> {
  try {
    await write.catch((error: unknown) => settle(error, { id }, isMade));
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    const message = `Animal ${id} was changed or removed by someone else. Look at it and try again.`;
    throw new ToolError('refused', message, { cause: error });
  }
}
