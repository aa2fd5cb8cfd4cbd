import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import { writePrivateJson } from './private-file.ts';
import { idEpoch, newPetId } from '../../../functions/pets/ids.ts';
import type { Pet, PetStatus } from '../../../functions/pets/schema.ts';
import { listPets, type PetTable } from '../../../functions/pets/store.ts';

const names = ['Bella', 'Milo', 'Luna', 'Oscar', 'Nala', 'Rocky', 'Coco', 'Simba', 'Daisy'];
const categories = 5;
/** Three of five pets are available. */
const statuses: readonly PetStatus[] = ['available', 'available', 'pending', 'available', 'sold'];

const millisecondsPerHour = 3_600_000;

/**
 * Sample pets: one hour apart, the newest one hour old, or closer together when fewer hours have passed since the first
 * possible ID.
 *
 * @param now milliseconds since the Unix epoch
 */
function sampleAnimals(count: number, now: number): Pet[] {
  const gap = Math.min(millisecondsPerHour, Math.floor((now - idEpoch) / (count + 1)));
  return Array.from({ length: count }, (_, index) => ({
    id: newPetId(now - (count - index) * gap, 0),
    name: `${names[index % names.length]!}${index < names.length ? '' : ` ${Math.floor(index / names.length) + 1}`}`,
    categoryId: BigInt((index % categories) + 1),
    status: statuses[index % statuses.length]!,
  }));
}

const unfinished = z.object({ count: z.number(), now: z.number() });

/**
 * Fills an empty table with pets, or goes on with what an earlier run did not finish.
 *
 * @param now milliseconds since the Unix epoch
 * @param dataDirectory where a later run finds that this one did not finish
 * @returns their number, 0 when the table was not empty
 */
export async function seedAnimals(
  table: PetTable,
  count: number,
  now: number,
  dataDirectory?: string,
): Promise<number> {
  const file = dataDirectory && join(dataDirectory, 'seeding.json');
  let seeding = { count, now };
  if (file !== undefined && existsSync(file)) {
    // The same IDs as before: what is stored is replaced by itself.
    seeding = unfinished.parse(JSON.parse(readFileSync(file, 'utf8')));
  } else {
    const { pets } = await listPets(table, { limit: 1 });
    if (pets.length > 0) return 0;
    if (file !== undefined) writePrivateJson(file, seeding);
  }
  await putPets(table, sampleAnimals(seeding.count, seeding.now));
  if (file !== undefined) rmSync(file);
  return seeding.count;
}

/** DynamoDB takes at most 25 items in one BatchWriteItem. */
const batchSize = 25;
const batchesAtOnce = 8;

/** Stores many pets, and replaces pets with the same ID. */
async function putPets({ client, tableName }: PetTable, pets: readonly Pet[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(pets.length / batchSize) }, (_, index) =>
    pets.slice(index * batchSize, (index + 1) * batchSize),
  );
  const waiting = batches.values();
  const work = async (): Promise<void> => {
    for (const batch of waiting) {
      const requests = batch.map((pet) => ({ PutRequest: { Item: { ...pet } } }));
      // No local database throttles, so it stores all of them.
      await client.send(new BatchWriteCommand({ RequestItems: { [tableName]: requests } }));
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, work));
}
