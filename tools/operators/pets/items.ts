import { isDeepStrictEqual } from 'node:util';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { DeleteCommand, GetCommand, paginateScan, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { marshall, NumberValueImpl as NumberValue, unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPet, type Pet, storedPet } from '../../../functions/pets/schema.ts';
import type { PetTable } from '../../../functions/pets/store.ts';
import { isKeyId } from '../keys/key-ids.ts';
import { type AuditLine, commit } from '../command-line/change.ts';
import { problemsIn } from '../command-line/errors.ts';
import { counted } from '../command-line/output.ts';
import { isImportId, isRunOf } from './import-runs.ts';
import type { PetService } from './service.ts';

/** The items of the Pets table as operators read and change them: valid or not, and never on top of a newer change. */

/** Attributes as DynamoDB has them, numbers with their exact digits. */
export type Item = Readonly<Record<string, unknown>>;

/**
 * Who added an animal. Absent from older animals. The service stores `addedBy` when a key adds an animal, the import of a file stores
 * `importId` with what it creates. Only operators see them.
 */
export interface Origin {
  /** A key ID. */
  readonly addedBy?: string | undefined;
  /** The run of an import, see import-runs.ts. */
  readonly importId?: string | undefined;
}

/** A value that is no such ID is left out: it is no reason to call an animal malformed. */
export function originOf({ addedBy, importId }: Item): Origin {
  return {
    ...(typeof addedBy === 'string' && isKeyId(addedBy) && { addedBy }),
    ...(typeof importId === 'string' && isImportId(importId) && { importId }),
  };
}

/** @param id of a key or an import. Undefined: any */
export function isAddedBy(item: Item, id: string | undefined): boolean {
  const { addedBy, importId } = originOf(item);
  return id === undefined || id === addedBy || (importId !== undefined && isRunOf(importId, id));
}

/** An animal as a line of a file, which `import` reads. */
export function lineOf(pet: Pet, item: Item): string {
  const { addedBy } = originOf(item);
  return toJson({ ...pet, ...(addedBy !== undefined && { addedBy }) });
}

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

/** All items of a table, in pages of about 100 KB, which leave capacity of their partition to the service. */
export async function* pagesOf({ client, tableName }: PetTable): AsyncGenerator<StoredItem[]> {
  const pages = paginateScan({ client, pageSize: 1_000 }, { TableName: tableName });
  for await (const { Items: items = [] } of pages) yield items.map(toStored);
}

/** The valid items of a table, in pages. Malformed ones are reported, and counted in `counts`. */
export async function* validPagesOf(
  { notify }: PetService,
  table: PetTable,
  counts: { malformed: number },
): AsyncGenerator<{ readonly item: Item; readonly pet: Pet }[]> {
  for await (const page of pagesOf(table)) {
    for (const { item, malformed } of page) {
      if (malformed === undefined) continue;
      counts.malformed += 1;
      notify(`${idOf(item)} is malformed: ${malformed}`);
    }
    yield page.flatMap(({ item, pet }) => (pet ? [{ item, pet }] : []));
  }
}

/** A sentence about the items that `validPagesOf` left out, if any. */
export function leftOutText({ malformed }: { readonly malformed: number }): string {
  return malformed === 0 ? '' : ` Left out: ${counted(malformed, 'malformed item')}.`;
}

/** Attributes to set, as they are stored, and those to remove, which are `undefined`. */
export type Attributes = Readonly<Record<string, unknown>>;

/** A write of an item that fails if one of these attributes is not as it was read. Names can be reserved words. */
function conditional(item: Item, attributes: Attributes = {}) {
  const names = Object.keys({ ...item, ...newPet.shape, ...attributes });
  const terms = names.map((name, index) =>
    item[name] === undefined ? `attribute_not_exists(#${index})` : `#${index} = :${index}`,
  );
  return {
    ConditionExpression: terms.join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(names.map((name, index) => [`#${index}`, name])),
    ExpressionAttributeValues: Object.fromEntries(names.map((name, index) => [`:${index}`, item[name]])),
  };
}

/** Sets and removes attributes of an item. @throws StaleRecordError, OutcomeUnknownError */
export async function updateItem(
  service: PetService,
  item: Item,
  attributes: Attributes,
  audit?: Audit,
): Promise<void> {
  const { client, tableName } = service.table;
  const { ExpressionAttributeValues: read, ...condition } = conditional(item, attributes);
  const changes = Object.entries(condition.ExpressionAttributeNames).flatMap(([place, name]) =>
    name in attributes ? [{ place, valuePlace: place.replace('#', ':new'), value: attributes[name] }] : [],
  );
  const set = changes.flatMap(({ place, valuePlace, value }) =>
    value === undefined ? [] : `${place} = ${valuePlace}`,
  );
  const removed = changes.flatMap(({ place, value }) => (value === undefined ? place : []));
  const command = new UpdateCommand({
    TableName: tableName,
    Key: { id: item['id'] },
    UpdateExpression: [
      set.length > 0 ? `SET ${set.join(', ')}` : '',
      removed.length > 0 ? `REMOVE ${removed.join(', ')}` : '',
    ].join(' '),
    ...condition,
    ExpressionAttributeValues: {
      ...read,
      ...Object.fromEntries(changes.map(({ valuePlace, value }) => [valuePlace, value])),
    },
  });
  await change(service, item, audit, {
    send: () => client.send(command),
    isMade: (found) =>
      found !== undefined &&
      Object.entries(attributes).every(([name, value]) => isDeepStrictEqual(found.item[name], value)),
  });
}

/** Deletes an item. @throws StaleRecordError, OutcomeUnknownError */
export async function deleteItem(service: PetService, item: Item, audit?: Audit): Promise<void> {
  const { client, tableName } = service.table;
  const command = new DeleteCommand({ TableName: tableName, Key: { id: item['id'] }, ...conditional(item) });
  await change(service, item, audit, {
    send: () => client.send(command),
    isMade: (found) => found === undefined,
  });
}

/** Puts a pet in the place of an item, which keeps who added it. @throws StaleRecordError, OutcomeUnknownError */
export function replaceItem(service: PetService, item: Item, pet: Pet, audit: Audit): Promise<void> {
  const removed = Object.fromEntries(Object.keys(item).map((name) => [name, undefined]));
  const { id: _, ...attributes }: Item = {
    ...removed,
    ...originOf(item),
    ...unmarshall(marshall(pet), { wrapNumbers: true }),
  };
  return updateItem(service, item, attributes, audit);
}

/** What the audit line of a change says. A change of many animals has one line for all of them. */
type Audit = Pick<AuditLine, 'did' | 'detail'>;

interface Write {
  readonly send: () => Promise<unknown>;
  /** Whether what is stored is what the write leaves. */
  readonly isMade: (found: StoredItem | undefined) => boolean;
}

async function change(service: PetService, item: Item, audit: Audit | undefined, { send, isMade }: Write) {
  const id = idOf(item);
  // This comes before the write, because it asks AWS who makes it.
  const line = audit && (await service.auditLine(audit.did, audit.detail));
  await commit({ id, send, isMade: async () => isMade(await readItem(service.table, id)) });
  if (line) service.report({ petId: id }, line);
}

/** Stores a pet, unless there is an item with its ID, which is then returned. */
export async function putNew(
  { table: { client, tableName } }: PetService,
  pet: Pet,
  origin: Origin,
): Promise<StoredItem | undefined> {
  try {
    await client.send(
      new PutCommand({
        TableName: tableName,
        Item: { ...pet, ...origin },
        ConditionExpression: 'attribute_not_exists(id)',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException) || error.Item === undefined) throw error;
    // The document client does not unmarshall the items of errors.
    return toStored(unmarshall(error.Item, { wrapNumbers: true }));
  }
  return undefined;
}
