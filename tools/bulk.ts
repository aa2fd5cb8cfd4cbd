import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import type { Pet } from '../functions/pets/schema.ts';
import type { PetTable } from '../functions/pets/store.ts';

/** DynamoDB takes at most 25 items in one BatchWriteItem. */
const batchSize = 25;
const batchesAtOnce = 8;

/**
 * Stores many pets, and replaces pets with the same ID. For filling a table, not for serving requests.
 *
 * @param onStored called with the number of pets stored so far
 */
export async function putPets(
  table: PetTable,
  pets: readonly Pet[],
  onStored: (count: number) => void = () => {},
): Promise<void> {
  const batches = Array.from({ length: Math.ceil(pets.length / batchSize) }, (_, index) =>
    pets.slice(index * batchSize, (index + 1) * batchSize),
  );
  const waiting = batches.values();
  let stored = 0;
  const work = async (): Promise<void> => {
    for (const batch of waiting) {
      await putBatch(table, batch);
      stored += batch.length;
      onStored(stored);
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, work));
}

async function putBatch({ client, tableName }: PetTable, pets: readonly Pet[]): Promise<void> {
  let items: { PutRequest: { Item: Record<string, unknown> } }[] = pets.map((pet) => ({
    PutRequest: { Item: { ...pet } },
  }));
  while (items.length > 0) {
    const { UnprocessedItems: unprocessed = {} } = await client.send(
      new BatchWriteCommand({ RequestItems: { [tableName]: items } }),
    );
    items = (unprocessed[tableName] ?? []).flatMap(({ PutRequest }) =>
      PutRequest?.Item === undefined ? [] : [{ PutRequest: { Item: PutRequest.Item } }],
    );
  }
}
