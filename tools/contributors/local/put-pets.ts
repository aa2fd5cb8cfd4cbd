import { BatchWriteCommand, type BatchWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import type { Pet } from '../../../functions/pets/schema.ts';
import type { PetTable } from '../../../functions/pets/store.ts';

/** DynamoDB takes at most 25 items in one BatchWriteItem. */
const batchSize = 25;
const batchesAtOnce = 8;

/** Stores many pets, and replaces pets with the same ID. For filling a table, not for serving requests. */
export async function putPets(table: PetTable, pets: readonly Pet[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(pets.length / batchSize) }, (_, index) =>
    pets.slice(index * batchSize, (index + 1) * batchSize),
  );
  const waiting = batches.values();
  const work = async (): Promise<void> => {
    for (const batch of waiting) await putBatch(table, batch);
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, work));
}

async function putBatch({ client, tableName }: PetTable, pets: readonly Pet[]): Promise<void> {
  let requests: BatchWriteCommandInput['RequestItems'] = {
    [tableName]: pets.map((pet) => ({ PutRequest: { Item: { ...pet } } })),
  };
  // DynamoDB returns what it does not store when it throttles.
  while (Object.keys(requests ?? {}).length > 0)
    ({ UnprocessedItems: requests } = await client.send(new BatchWriteCommand({ RequestItems: requests })));
}
