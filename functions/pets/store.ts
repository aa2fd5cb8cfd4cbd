import { isDeepStrictEqual } from 'node:util';
import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandOutput,
} from '@aws-sdk/lib-dynamodb';
import { ConditionalCheckFailedException, TransactionConflictException } from '@aws-sdk/client-dynamodb';
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
class MalformedItemError extends Error {
  override readonly name = 'MalformedItemError';

  constructor(id: unknown, details: string) {
    super(`The stored pet with ID ${String(id)} is malformed: ${details}`);
  }
}

/** `next`: the following pages have only smaller IDs. Undefined on the last page. */
interface Page {
  readonly pets: readonly Pet[];
  readonly next: bigint | undefined;
  readonly malformed: readonly MalformedItemError[];
}

export interface Listing {
  /** Maximum number of pets, at least 1. */
  readonly limit: number;
  /** Undefined: all pets. */
  readonly filter?: Partition | undefined;
  /** A list has only pets with smaller IDs than this. */
  readonly before?: bigint | undefined;
}

/** Pets with one value of the partition key of an index. Its sort key is `id`. */
export interface Partition {
  readonly index: string;
  readonly key: string;
  readonly value: string | bigint;
}

export function byStatus(status: PetStatus): Partition {
  return { index: 'byStatus', key: 'status', value: status };
}

/**
 * One page of pets, newest first, each at most once. All statuses are read in parallel, so the cost does not depend on the
 * table's size.
 */
export async function listPets(
  table: PetTable,
  { limit, filter, before }: Listing,
  signal?: AbortSignal,
): Promise<Page> {
  const reads = (filter === undefined ? petStatuses.map(byStatus) : [filter]).map((each) =>
    // One pet more than the limit shows whether there is another page, so no page but the first is empty.
    readPartition(table, each, before, limit + 1, signal),
  );
  // If one fails, the others are waited for: no call may outlive the request, or the environment would be frozen with it.
  await Promise.allSettled(reads);
  return toPage(await Promise.all(reads), limit);
}

export interface Creation {
  readonly newId: () => bigint;
  /** ID of the API key that adds the pet. It is stored beside the pet, and never shown to clients. */
  readonly addedBy: string;
  /** Called for each new ID that another pet already has. */
  readonly onCollision: () => void;
  readonly signal?: AbortSignal;
}

/** IDs that a creation tries. */
const maxIds = 5;

/** @throws ConditionalCheckFailedException or TransactionConflictException, marked as retryable, if `maxIds` in a row are in use */
export async function createPet(
  table: PetTable,
  pet: NewPet,
  { newId, addedBy, onCollision, signal }: Creation,
): Promise<Pet> {
  for (let attempt = 1; ; attempt += 1) {
    const created = { id: newId(), ...pet };
    try {
      await table.client.send(
        new PutCommand({
          TableName: table.tableName,
          Item: { ...created, addedBy },
          ConditionExpression: 'attribute_not_exists(id)',
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
        signal && { abortSignal: signal },
      );
      return created;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) {
        if (wasStored(created, error)) return created;
      } else if (!isTaken(error)) throw error;
      onCollision();
      // The SDK marks errors like this that a later request may not meet.
      if (attempt >= maxIds) throw Object.assign(error, { $retryable: {} });
    }
  }
}

/** Whether the item is the new pet itself: the SDK repeats a call whose answer is lost, and the first may have stored it. */
function wasStored(pet: Pet, { $metadata, Item: item }: ConditionalCheckFailedException): boolean {
  if (item === undefined || ($metadata.attempts ?? 1) === 1) return false;
  // The document client does not unmarshall the items of errors.
  const stored = toPet(unmarshall(item, { wrapNumbers: true }));
  // An operator can change the status between the two attempts.
  return isDeepStrictEqual({ ...stored, status: pet.status }, pet);
}

/** Whether a transaction is writing a pet with the new ID, and nothing was written. */
function isTaken(error: unknown): error is TransactionConflictException {
  return error instanceof TransactionConflictException && (error.$metadata.attempts ?? 1) === 1;
}

/**
 * The pet with this ID, or `undefined`. Read consistently, so that a new pet is found at once.
 *
 * @throws MalformedItemError if the stored item is not a valid pet
 */
export async function getPet(table: PetTable, id: bigint, signal?: AbortSignal): Promise<Pet | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { id }, ConsistentRead: true }),
    signal && { abortSignal: signal },
  );
  if (item === undefined) return undefined;
  const pet = toPet(item);
  if (pet instanceof MalformedItemError) throw pet;
  return pet;
}

type Item = Record<string, unknown>;

/*
 * How a page is merged. With a limit of 3, each partition is read for 4 valid pets, so nothing of the page is missing. `x` is
 * malformed.
 *
 *   available   9 . 7 . . . 3 2   and more
 *   pending     . 8 . x . . . .
 *   sold        . . . . 5 4 . .
 *   page        9 8 7             next: 7. `x` is reported with the page after it
 *
 * The ID of a malformed item may be any number, such as 6.5, but a page begins at a whole number n: `id < n`. Rounded down, 6.5 is
 * reported once, with the page that has 6.5 >= next.
 */

/** An item, and its ID, rounded down. */
interface StoredItem {
  readonly id: bigint;
  readonly pet: Pet | MalformedItemError;
}

/** Reads until there are `count` valid pets, or no more items. */
async function readPartition(
  table: PetTable,
  { index, key, value }: Partition,
  before: bigint | undefined,
  count: number,
  signal: AbortSignal | undefined,
): Promise<StoredItem[]> {
  const items: StoredItem[] = [];
  let startKey: Item | undefined;
  for (let missing = count; missing > 0; missing = count - items.filter(isValid).length) {
    const answer: QueryCommandOutput = await table.client.send(
      new QueryCommand({
        TableName: table.tableName,
        IndexName: index,
        KeyConditionExpression: before === undefined ? '#key = :value' : '#key = :value AND id < :before',
        ExpressionAttributeNames: { '#key': key },
        ExpressionAttributeValues: { ':value': value, ...(before !== undefined && { ':before': before }) },
        ScanIndexForward: false,
        Limit: missing,
        ...(startKey && { ExclusiveStartKey: startKey }),
      }),
      signal && { abortSignal: signal },
    );
    items.push(...(answer.Items ?? []).map((item) => ({ id: wholeId(item), pet: toPet(item) })));
    startKey = answer.LastEvaluatedKey;
    if (startKey === undefined) break;
  }
  return items;
}

function toPage(parts: readonly (readonly StoredItem[])[], limit: number): Page {
  const items = onceEach(parts.flat().toSorted(newestFirst));
  const pets = items.flatMap(({ pet }) => (pet instanceof MalformedItemError ? [] : [pet]));
  const page = pets.slice(0, limit);
  const next = pets.length > limit ? page.at(-1)!.id : undefined;
  const malformed = items.flatMap(({ id, pet }) =>
    pet instanceof MalformedItemError && (next === undefined || id >= next) ? [pet] : [],
  );
  return { pets: page, next, malformed };
}

/**
 * The partitions are no snapshot: a pet whose status changes while they are read can be in two of them. The later status is
 * kept, because most pets go from `available` to `sold`.
 */
function onceEach(items: readonly StoredItem[]): StoredItem[] {
  const latest = new Map<bigint, Pet>();
  for (const { pet } of items) {
    if (pet instanceof MalformedItemError) continue;
    const other = latest.get(pet.id);
    if (other === undefined || petStatuses.indexOf(pet.status) > petStatuses.indexOf(other.status))
      latest.set(pet.id, pet);
  }
  return items.filter(({ pet }) => pet instanceof MalformedItemError || latest.get(pet.id) === pet);
}

function isValid({ pet }: StoredItem): boolean {
  return !(pet instanceof MalformedItemError);
}

function toPet(item: Item): Pet | MalformedItemError {
  const parsed = storedPet.safeParse(item);
  return parsed.success ? parsed.data : new MalformedItemError(item['id'], z.prettifyError(parsed.error));
}

function wholeId({ id }: Item): bigint {
  return parseInt64(String(id)) ?? BigInt(Math.floor(Number(id)));
}

function newestFirst(a: StoredItem, b: StoredItem): number {
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}
