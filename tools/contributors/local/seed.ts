import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { putPets } from './put-pets.ts';
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
  const text = file && (await readFile(file, 'utf8').catch(() => undefined));
  if (text === undefined) {
    const { pets } = await listPets(table, { limit: 1 });
    if (pets.length > 0) return 0;
  }
  // The same IDs as before: what is stored is replaced by itself.
  const seeding = text === undefined ? { count, now } : unfinished.parse(JSON.parse(text));
  if (file !== undefined) await writePrivateJson(file, seeding);
  await putPets(table, sampleAnimals(seeding.count, seeding.now));
  if (file !== undefined) await rm(file);
  return seeding.count;
}
