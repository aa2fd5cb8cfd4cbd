import { readFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withGenerated } from '../../../tools/generated.ts';
import {
  onset,
  partitionLimit,
  type Scenario,
  simulate,
  splitAfter,
  unitsOf,
} from '../../../tools/simulate/heat.ts';
import { poisson, seeded } from '../../../tools/simulate/random.ts';
import { browsing, importing, scaleParts } from '../../../tools/simulate/report.ts';

const animalBytes = 67;
const scenario: Scenario = {
  workload: browsing,
  requestsPerSecond: 10_000,
  design: { shards: 1, copies: 1 },
  seconds: 4 * splitAfter,
  seed: 1,
  animalBytes,
};

describe('docs/scale.md', () => {
  it('shows what the simulation says now (npm run simulate -- --write renews it)', async () => {
    const document = await readFile('docs/scale.md', 'utf8');
    expect(withGenerated(document, scaleParts())).toBe(document);
  });
});

describe('The simulation', () => {
  it('says the same for the same seed, and nearly the same for another', () => {
    const [first, again, other] = [1, 1, 2].map((seed) => simulate({ ...scenario, seed }));
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
    expect(other!.headReads).toBeCloseTo(first!.headReads, -2);
  });

  it('throttles nothing below what a partition serves', () => {
    const { listings, creations } = onset(importing, animalBytes);
    // A fifth below, since some seconds are busier than others.
    const requestsPerSecond = 0.8 * Math.min(listings, creations);
    const heat = simulate({ ...scenario, workload: importing, requestsPerSecond });
    expect(heat.listingsThrottled).toEqual({ atFirst: 0, inTheEnd: 0 });
    expect(heat.creationsThrottled).toEqual({ atFirst: 0, inTheEnd: 0 });
    expect(heat.headWrites).toBeCloseTo(0.8 * partitionLimit.writes, -2);
  });

  it('throttles of the creations to one status what is beyond the limit, before splits and after', () => {
    const everything = { available: 1, pending: 0, sold: 0 };
    const workload = { ...importing, list: 0, listByStatus: 0, create: 1, created: everything };
    const { creationsThrottled } = simulate({ ...scenario, workload, requestsPerSecond: 4_000 });
    expect(creationsThrottled.atFirst).toBeCloseTo(3 / 4, 2);
    expect(creationsThrottled.inTheEnd).toBeCloseTo(3 / 4, 2);
  });

  it('helps what is older by splits, and leaves first pages as they are', () => {
    const listed = { ...browsing, create: 0 };
    const throttled = (firstPages: number) =>
      simulate({ ...scenario, workload: { ...listed, firstPages }, requestsPerSecond: 15_000 })
        .listingsThrottled;
    expect(throttled(0).atFirst).toBeGreaterThan(0.3);
    expect(throttled(0).inTheEnd).toBe(0);
    expect(throttled(1).atFirst).toBeGreaterThan(0.3);
    expect(throttled(1).inTheEnd).toBeCloseTo(throttled(1).atFirst, 2);
  });

  it('divides the writes of a head among shards, and not its reads', () => {
    const [whole, sharded] = [1, 4].map((shards) => simulate({ ...scenario, design: { shards, copies: 1 } }));
    expect(sharded!.headWrites / whole!.headWrites).toBeCloseTo(1 / 4, 2);
    expect(sharded!.headReads / whole!.headReads).toBeCloseTo(1, 1);
    // A listing fails when any of its shards does.
    expect(sharded!.listingsThrottled.atFirst).toBeGreaterThan(2 * whole!.listingsThrottled.atFirst);
  });

  it('divides the reads of a head among copies, and not its writes', () => {
    const workload = { ...browsing, firstPages: 1 };
    const [one, two] = [1, 2].map((copies) =>
      simulate({ ...scenario, workload, design: { shards: 1, copies } }),
    );
    expect(two!.headReads / one!.headReads).toBeCloseTo(1 / 2, 2);
    expect(two!.headWrites / one!.headWrites).toBeCloseTo(1, 1);
  });

  it('charges a listing for every shard, and a creation for every copy', () => {
    const plain = unitsOf({ shards: 1, copies: 1 }, animalBytes);
    expect(plain).toEqual({ query: 0.5, listing: 1.5, creation: 2 });
    expect(unitsOf({ shards: 8, copies: 1 }, animalBytes)).toEqual({ ...plain, listing: 12 });
    expect(unitsOf({ shards: 1, copies: 3 }, animalBytes)).toEqual({ ...plain, creation: 4 });
  });

  it('needs time for splits to show', () => {
    expect(() => simulate({ ...scenario, seconds: 2 * splitAfter - 1 })).toThrow(RangeError);
  });
});

describe('The dice', () => {
  it('fall in [0, 1), and evenly', () => {
    const random = seeded(7);
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let throws = 0; throws < 10_000; throws += 1) tenths[Math.floor(random() * 10)]! += 1;
    for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  it('give counts with the mean and the variance of a Poisson distribution', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 0.5, 5, 29, 30, 500),
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        (mean, seed) => {
          const random = seeded(seed);
          const counts = Array.from({ length: 4_000 }, () => poisson(mean, random));
          const average = counts.reduce((sum, count) => sum + count, 0) / counts.length;
          const variance = counts.reduce((sum, count) => sum + (count - average) ** 2, 0) / counts.length;
          expect(counts.every((count) => Number.isInteger(count) && count >= 0)).toBe(true);
          // Six standard deviations of the average.
          expect(Math.abs(average - mean)).toBeLessThanOrEqual(6 * Math.sqrt(mean / counts.length));
          expect(Math.abs(variance - mean)).toBeLessThanOrEqual(0.25 * mean + 0.1);
        },
      ),
      { numRuns: 30, seed: 1 },
    );
  });
});
