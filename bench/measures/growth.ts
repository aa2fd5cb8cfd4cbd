import { putPets } from '../../tools/bulk.ts';
import { type Listing, listPets } from '../../functions/pets/store.ts';
import { watch, unitsOf } from '../../test/support/traffic.ts';
import { sampleAnimals } from '../../tools/seed.ts';
import { median, round } from '../harness/stats.ts';
import { clientOf, createPetsTable } from '../harness/tables.ts';

export interface GrowthResult {
  readonly animals: number;
  readonly filter: 'one status' | 'all';
  readonly page: number;
  /** Median, in milliseconds. */
  readonly latency: number;
  /** Read units of the page. */
  readonly units: number;
}

const pageSize = 20;
const deepPage = 1_000;
const samples = 200;

/** Latency and capacity of a first and a late page in stores of several sizes, read alternately. */
export async function measureGrowth(
  endpoint: string,
  sizes: readonly number[],
  onProgress: (message: string) => void,
): Promise<GrowthResult[]> {
  const client = clientOf(endpoint);
  const pages: (Omit<GrowthResult, 'latency' | 'units'> & {
    readonly tableName: string;
    readonly listing: Listing;
    readonly latencies: number[];
  })[] = [];
  for (const size of sizes) {
    const tableName = await createPetsTable(client);
    const animals = sampleAnimals(size, Date.now());
    await putPets({ client, tableName }, animals, (stored) => {
      if (stored % 10_000 < 25) onProgress(`Growth: ${stored} of ${size} animals stored`);
    });
    const newestFirst = animals.toReversed();
    for (const status of ['available', undefined] as const) {
      const listed = status === undefined ? newestFirst : newestFirst.filter((pet) => pet.status === status);
      const last = Math.min(deepPage, Math.floor(listed.length / pageSize));
      for (const page of [1, last]) {
        const before = page === 1 ? undefined : listed[(page - 1) * pageSize - 1]!.id;
        pages.push({
          animals: size,
          filter: status === undefined ? 'all' : 'one status',
          page,
          tableName,
          listing: { limit: pageSize, status, before },
          latencies: [],
        });
      }
    }
  }

  // The first rounds are warm-up.
  for (let sample = -samples / 4; sample < samples; sample += 1) {
    for (const { tableName, listing, latencies } of pages) {
      const start = performance.now();
      const { pets } = await listPets({ client, tableName }, listing);
      if (sample >= 0) latencies.push(performance.now() - start);
      if (pets.length !== pageSize) throw new Error(`A page of ${pets.length}`);
    }
  }

  const traffic = watch(client);
  const results: GrowthResult[] = [];
  for (const { animals, filter, page, tableName, listing, latencies } of pages) {
    traffic.length = 0;
    await listPets({ client, tableName }, listing);
    results.push({ animals, filter, page, latency: round(median(latencies), 2), units: unitsOf(traffic) });
  }
  return results;
}
