import { isDeepStrictEqual } from 'node:util';
import { type DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod/mini';
import { parseInt64 } from './int64.ts';
import { type NewPet, type Pet, type PetStatus, petStatuses, storedPet } from './schema.ts';

/** The Pets table: partition key `id`; index `byStatus` with partition key `status` and sort key `id`. */
export interface PetTable {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
}

/** A stored item that is not a valid pet. It is logged, never returned. */
export class MalformedItemError extends Error {
  override readonly name = 'MalformedItemError';

  constructor(id: unknown, details: string) {
    super(`The stored pet with ID ${String(id)} is malformed: ${details}`);
  }
}

/** `next`: the ID of the last item, if there is another page. */
interface Page {
  readonly pets: readonly Pet[];
  readonly next: bigint | undefined;
  readonly malformed: readonly MalformedItemError[];
}

export interface Listing {
  /** Maximum number of items, at least 1. */
  readonly limit: number;
  readonly status?: PetStatus | undefined;
  /** Only pets with smaller IDs. */
  readonly before?: bigint | undefined;
}

/** One page of pets, newest first. All statuses are read in parallel, so the cost does not depend on the table's size. */
export async function listPets(
  table: PetTable,
  { limit, status, before }: Listing,
  signal?: AbortSignal,
): Promise<Page> {
  const statuses = status === undefined ? petStatuses : [status];
  // One item more than the limit shows whether there is another page, so no page but the first is empty.
  const partitions = await Promise.all(
    statuses.map((each) => readPartition(table, each, before, limit + 1, signal)),
  );
  const items = partitions.length === 1 ? partitions[0]! : partitions.flat().toSorted(newestFirst);
  return toPage(items.slice(0, limit), items.length > limit);
}

export interface Creation {
  readonly newId: () => bigint;
  /** Called for each new ID that another pet already has. */
  readonly onCollision: () => void;
  readonly signal?: AbortSignal;
  /** Maximum number of IDs to try. */
  readonly attempts?: number;
}

/** @throws ConditionalCheckFailedException if `attempts` IDs in a row are in use */
export async function createPet(
  table: PetTable,
  pet: NewPet,
  { newId, onCollision, signal, attempts = 5 }: Creation,
): Promise<Pet> {
  for (let attempt = 1; ; attempt += 1) {
    const created = { id: newId(), ...pet };
    try {
      await table.client.send(
        new PutCommand({
          TableName: table.tableName,
          Item: created,
          ConditionExpression: 'attribute_not_exists(id)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
        signal && { abortSignal: signal },
      );
      return created;
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      if (wasStored(created, error)) return created;
      onCollision();
      if (attempt >= attempts) throw error;
    }
  }
}

/** Whether the item is the new pet itself: the SDK repeats a call whose answer is lost, and the first may have stored it. */
function wasStored(pet: Pet, { $metadata, Item: item }: ConditionalCheckFailedException): boolean {
  if (item === undefined || ($metadata.attempts ?? 1) === 1) return false;
  // The document client does not unmarshall the items of errors.
  return isDeepStrictEqual(toPet(unmarshall(item, { wrapNumbers: true })), pet);
}

/** The pet with this ID, or `undefined`. @throws MalformedItemError if the stored item is not a valid pet */
export async function getPet(table: PetTable, id: bigint, signal?: AbortSignal): Promise<Pet | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { id } }),
    signal && { abortSignal: signal },
  );
  if (item === undefined) return undefined;
  const pet = toPet(item);
  if (pet instanceof MalformedItemError) throw pet;
  return pet;
}

type Item = Record<string, unknown>;

async function readPartition(
  table: PetTable,
  status: PetStatus,
  before: bigint | undefined,
  count: number,
  signal: AbortSignal | undefined,
): Promise<Item[]> {
  const items: Item[] = [];
  let startKey: Item | undefined;
  do {
    const answer = await table.client.send(
      new QueryCommand({
        TableName: table.tableName,
        IndexName: 'byStatus',
        KeyConditionExpression:
          before === undefined ? '#status = :status' : '#status = :status AND id < :before',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':status': status, ...(before !== undefined && { ':before': before }) },
        ScanIndexForward: false,
        Limit: count - items.length,
        ...(startKey && { ExclusiveStartKey: startKey }),
      }),
      signal && { abortSignal: signal },
    );
    items.push(...(answer.Items ?? []));
    startKey = answer.LastEvaluatedKey;
  } while (startKey !== undefined && items.length < count);
  return items;
}

function toPage(items: readonly Item[], more: boolean): Page {
  const pets: Pet[] = [];
  const malformed: MalformedItemError[] = [];
  for (const item of items) {
    const pet = toPet(item);
    if (pet instanceof MalformedItemError) malformed.push(pet);
    else pets.push(pet);
  }
  if (!more) return { pets, malformed, next: undefined };
  // Includes malformed items, or a page of only malformed items would end the pagination.
  const next = items.map(({ id }) => parseInt64(String(id))).findLast((id) => id !== undefined);
  if (next === undefined) throw malformed[0]!;
  return { pets, malformed, next };
}

function toPet(item: Item): Pet | MalformedItemError {
  const parsed = storedPet.safeParse(item);
  return parsed.success ? parsed.data : new MalformedItemError(item['id'], z.prettifyError(parsed.error));
}

function newestFirst(a: Item, b: Item): number {
  // An index key is a number, but that of a malformed item may have a fraction.
  const [left, right] = [a, b].map(({ id }) => parseInt64(String(id)) ?? Number(id));
  return left! < right! ? 1 : left! > right! ? -1 : 0;
}
