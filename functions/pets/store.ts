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

/** A stored item that is no animal. It is reported, never returned. */
export class DamagedItemError extends Error {
  override readonly name = 'DamagedItemError';

  constructor(id: unknown, faults: string) {
    super(`The stored item with id ${String(id)} is no animal: ${faults}`);
  }
}

export interface Page {
  readonly pets: readonly Pet[];
  /** Id of the last item of the page, where more follow. */
  readonly next: bigint | undefined;
  readonly damaged: readonly DamagedItemError[];
}

export interface Listing {
  /** How many items at most, at least 1. */
  readonly limit: number;
  readonly status?: PetStatus | undefined;
  /** Only animals with smaller ids. */
  readonly before?: bigint | undefined;
}

/**
 * One page of animals, newest first. Without a filter the status partitions are read side by side and
 * merged, so both kinds of listing share one order and cost what the page costs, never what the store holds.
 */
export async function listPets(
  table: PetTable,
  { limit, status, before }: Listing,
  signal?: AbortSignal,
): Promise<Page> {
  const statuses = status === undefined ? petStatuses : [status];
  // One more than asked for tells whether a page follows, without ever sending the client to an empty one.
  const partitions = await Promise.all(
    statuses.map((each) => readPartition(table, { status: each, before, count: limit + 1 }, signal)),
  );
  const found = partitions.length === 1 ? partitions[0]! : partitions.flat().toSorted(newestFirst);
  return toPage(found.slice(0, limit), found.length > limit);
}

export interface Creation {
  /** Gives a new id at every call. */
  readonly drawId: () => bigint;
  /** Called for every id that is already taken. */
  readonly onCollision: () => void;
  readonly signal?: AbortSignal;
  /** How many ids are tried. */
  readonly attempts?: number;
}

/**
 * Stores a new animal under an id that is not taken yet.
 *
 * @throws ConditionalCheckFailedException if `attempts` ids in a row are taken
 */
export async function createPet(
  table: PetTable,
  pet: NewPet,
  { drawId, onCollision, signal, attempts = 5 }: Creation,
): Promise<Pet> {
  for (let attempt = 1; ; attempt += 1) {
    const created = { id: drawId(), ...pet };
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

/**
 * Whether the item with the taken id is the very animal that was to be stored: when an answer is lost the SDK sends the
 * call again, and the first call may have reached the table.
 */
function wasStored(pet: Pet, { $metadata, Item: item }: ConditionalCheckFailedException): boolean {
  if (item === undefined || ($metadata.attempts ?? 1) === 1) return false;
  // The document client does not unmarshall the items of errors.
  const stored = toPet(unmarshall(item, { wrapNumbers: true }));
  return isDeepStrictEqual(stored, pet);
}

/** The animal with this id, or `undefined`. @throws DamagedItemError when what is stored is no animal */
export async function getPet(table: PetTable, id: bigint, signal?: AbortSignal): Promise<Pet | undefined> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { id } }),
    signal && { abortSignal: signal },
  );
  if (item === undefined) return undefined;
  const pet = toPet(item);
  if (pet instanceof DamagedItemError) throw pet;
  return pet;
}

type Item = Record<string, unknown>;

async function readPartition(
  table: PetTable,
  { status, before, count }: { status: PetStatus; before: bigint | undefined; count: number },
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
  const damaged: DamagedItemError[] = [];
  for (const item of items) {
    const pet = toPet(item);
    if (pet instanceof DamagedItemError) damaged.push(pet);
    else pets.push(pet);
  }
  if (!more) return { pets, damaged, next: undefined };
  // The place of a damaged item counts too, or a page of nothing but damage would end the walk.
  const next = items.map(({ id }) => parseInt64(String(id))).findLast((id) => id !== undefined);
  if (next === undefined) throw damaged[0]!;
  return { pets, damaged, next };
}

function toPet(item: Item): Pet | DamagedItemError {
  const parsed = storedPet.safeParse(item);
  return parsed.success ? parsed.data : new DamagedItemError(item['id'], z.prettifyError(parsed.error));
}

function newestFirst(a: Item, b: Item): number {
  const [left, right] = [sortKey(a), sortKey(b)];
  return left < right ? 1 : left > right ? -1 : 0;
}

/** The index holds numbers only, but a damaged one may have a fraction. */
function sortKey({ id }: Item): bigint | number {
  return parseInt64(String(id)) ?? Number(id);
}
