import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, describe, expect, test } from 'vitest';
import { admit } from '../../functions/access/limiter.ts';
import type { Decision, Usage } from '../../functions/access/limits.ts';
import { createPetOnce } from '../../functions/pets/idempotent-creation.ts';
import type { NewPet } from '../../functions/pets/schema.ts';
import { createPet } from '../../functions/pets/store.ts';
import { MemoryTables } from '../support/memory-tables.ts';
import { rounds } from '../support/rounds.ts';
import { explore, type Ending, type Process } from '../support/schedules.ts';
import { at } from '../support/times.ts';

// The limiter and the creations in every order of their calls of DynamoDB, with every fate of each call. At a small
// scope, so that nothing is left to chance.

const maxFaults = rounds({ full: 2, sample: 1 });
let schedules = 0;

afterAll(() => {
  console.log(`${schedules} schedules of three concurrent requests with at most ${maxFaults} faults.`);
});

/** A request fails only if a call of it does. */
function expectErrorsOnlyWithFaults({ results, faults }: Ending<unknown>): void {
  const errors = results.filter(({ status }) => status === 'rejected');
  expect(errors.length).toBeLessThanOrEqual(faults);
}

function fulfilled<T>({ results }: Ending<T>): T[] {
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

const midnight = Date.parse('2026-04-01T00:00:00Z') / 1000;
const noon = midnight + 43_200;

describe('of three concurrent requests of a key with two requests per minute', () => {
  const keyHash = 'a'.repeat(64);
  const limits = { perMinute: 2, perDay: 10 };
  const atNoon = { minute: noon, minuteCount: 0, day: midnight, dayCount: 0, rejections: 0 };
  const soonSuspended = {
    ...atNoon,
    minuteCount: 2,
    rejections: 98,
    rejectedSince: noon + 20,
    rejectedUntil: noon + 60,
  };
  const yesterday = { ...atNoon, minute: midnight - 60, minuteCount: 2, day: midnight - 86_400, dayCount: 9 };

  /** Requests left of the windows of a request at `now`. */
  function roomIn(usage: Partial<Usage> | undefined, now: number): number {
    const minute = usage?.minute === now - (now % 60) ? usage.minuteCount! : 0;
    const day = usage?.day === now - (now % 86_400) ? usage.dayCount! : 0;
    return Math.min(limits.perMinute - minute, limits.perDay - day);
  }

  test.each<[string, Partial<Usage> | undefined, number[]]>([
    ['the first ones of the key', undefined, [noon, noon, noon]],
    ['the first ones of a day', yesterday, [midnight, midnight, midnight]],
    ['the first ones of a minute', { ...atNoon, minute: noon - 60, minuteCount: 2 }, [noon, noon, noon]],
    ['with one left in the minute', { ...atNoon, minuteCount: 1, dayCount: 1 }, [noon, noon, noon]],
    ['with one left in the day', { ...atNoon, minute: noon - 60, dayCount: 9 }, [noon, noon, noon]],
    ['the first ones that are rejected', { ...atNoon, minuteCount: 2 }, [noon, noon, noon]],
    ['before the 100th rejection', soonSuspended, [noon + 30, noon + 30, noon + 30]],
    [
      'the first ones of a minute on a day that is used up',
      { ...soonSuspended, minute: noon - 60, dayCount: 10, rejectedUntil: midnight + 86_400 },
      [noon + 30, noon + 30, noon + 30],
    ],
    ['one by a clock that is a minute ahead', atNoon, [noon, noon, noon + 60]],
    ['one by a clock that is a minute behind', { ...atNoon, minuteCount: 1 }, [noon, noon, noon - 60]],
    [
      'one by a clock that is a minute behind takes the last of the day',
      { ...atNoon, minute: noon - 60, dayCount: 9 },
      [noon, noon, noon - 60],
    ],
    ['one by a clock that is still in the previous day', yesterday, [midnight, midnight, midnight - 1]],
    ['one by a clock that is in the next day', yesterday, [midnight - 1, midnight - 1, midnight]],
  ])('no more are admitted than the limit: %s', async (_name, usage, clocks) => {
    const equalClocks = new Set(clocks).size === 1;

    function check(ending: Ending<Decision>): void {
      expectErrorsOnlyWithFaults(ending);
      const admitted = fulfilled(ending).filter(({ kind }) => kind === 'admitted');
      for (const [length, window] of [
        [60, 'minute'],
        [86_400, 'day'],
      ] as const) {
        const limit = window === 'minute' ? limits.perMinute : limits.perDay;
        const stored = ending.tables.items('RateLimits')[0] as unknown as Usage | undefined;
        for (const [reset, group] of Map.groupBy(admitted, ({ status }) => status[window].reset)) {
          const start = reset - length;
          const before = usage?.[window] === start ? usage[`${window}Count`]! : 0;
          // The numbers that the responses show are different, so no request is counted for two.
          const remaining = new Set(group.map(({ status }) => status[window].remaining));
          expect(remaining.size).toBe(group.length);
          expect(before + group.length).toBeLessThanOrEqual(limit);
          // A lost answer can count a request twice, never zero times.
          if (stored![window] === start) {
            const counted = stored![`${window}Count`] - before;
            expect(counted).toBeGreaterThanOrEqual(group.length);
            if (ending.faults === 0) expect(counted).toBe(group.length);
          }
        }
      }
      if (ending.faults === 0 && equalClocks)
        expect(admitted.length).toBe(Math.min(3, roomIn(usage, clocks[0]!)));
      if (ending.faults === 0 && usage === soonSuspended)
        expect(fulfilled(ending).map(({ kind }) => kind)).toEqual(
          expect.arrayContaining(['rejected', 'suspended', 'suspended']),
        );
    }

    schedules += await explore<Decision>({
      maxFaults,
      tables: () => {
        const tables = new MemoryTables();
        if (usage !== undefined)
          tables.send(new PutCommand({ TableName: 'RateLimits', Item: { keyHash, ...usage } }));
        return tables;
      },
      processes: () =>
        clocks.map((now): Process<Decision> => ({
          kind: String(now),
          run: (client) => admit({ client, tableName: 'RateLimits' }, { keyHash, limits, now: at(now) }),
        })),
      check,
    });
  });
});

describe('three concurrent creations', () => {
  const rex: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };
  const bella: NewPet = { ...rex, name: 'Bella' };

  /** Each process draws the same first ID, then its own. */
  function idsOf(process: number): () => bigint {
    let drawn = 0;
    return () => BigInt(drawn++ === 0 ? 1 : process * 100 + drawn);
  }

  async function exploreCreations(
    newPets: readonly NewPet[],
    create: (client: DynamoDBDocumentClient, newPet: NewPet, newId: () => bigint) => Promise<Creation>,
    check: (ending: Ending<Creation>) => void,
  ): Promise<void> {
    schedules += await explore<Creation>({
      maxFaults,
      tables: () => new MemoryTables(),
      processes: () =>
        newPets.map((newPet, index) => ({
          kind: String(index),
          run: (client) => create(client, newPet, idsOf(index + 1)),
        })),
      check: (ending) => {
        expectErrorsOnlyWithFaults(ending);
        check(ending);
      },
    });
  }

  type Creation = Awaited<ReturnType<typeof createPetOnce>>;

  test.each([
    ['and one body store one animal, and all answers are this animal', [rex, rex, rex]],
    ['and two bodies store one animal, and the other body is refused', [rex, rex, bella]],
  ])('with one Idempotency-Key %s', async (_name, newPets) => {
    await exploreCreations(
      newPets,
      (client, newPet, newId) =>
        createPetOnce({ client, tableName: 'Pets' }, { client, tableName: 'Idempotency' }, newPet, {
          recordId: 'one-key',
          body: newPet.name,
          now: at(noon)(),
          newId,
          onCollision: () => {},
          wait: async () => {},
        }),
      (ending) => {
        const stored = ending.tables.items('Pets');
        expect(stored.length).toBeLessThanOrEqual(1);
        expect(ending.tables.items('Idempotency')).toHaveLength(stored.length);
        const outcomes = fulfilled(ending);
        for (const [index, result] of ending.results.entries()) {
          if (result.status === 'rejected') continue;
          const same = newPets[index]!.name === stored[0]!['name'];
          expect(result.value.kind === 'mismatch').toBe(!same);
          if (result.value.kind !== 'mismatch')
            expect(String(result.value.pet.id)).toBe(String(stored[0]!['id']));
        }
        // The answer `created` can be lost, but not be given twice.
        const created = outcomes.filter(({ kind }) => kind === 'created').length;
        expect(created).toBeLessThanOrEqual(1);
        if (ending.faults === 0) expect(created).toBe(1);
      },
    );
  });

  test.each([
    ['without an Idempotency-Key', false],
    ['with three Idempotency-Keys', true],
  ])('%s that draw the same ID store an animal each', async (_name, idempotent) => {
    await exploreCreations(
      [rex, bella, { ...rex, name: 'Momo' }],
      async (client, newPet, newId) => {
        const pets = { client, tableName: 'Pets' };
        const creation = { newId, onCollision: () => {} };
        if (!idempotent) return { kind: 'created', pet: await createPet(pets, newPet, creation) };
        return createPetOnce(pets, { client, tableName: 'Idempotency' }, newPet, {
          ...creation,
          recordId: newPet.name,
          body: newPet.name,
          now: at(noon)(),
          wait: async () => {},
        });
      },
      (ending) => {
        const stored = new Map(ending.tables.items('Pets').map(({ id, name }) => [String(id), name]));
        expect(new Set(stored.values()).size).toBe(stored.size);
        for (const [index, result] of ending.results.entries()) {
          if (result.status === 'rejected') continue;
          // After a lost answer and a conflict, a request can find its own record.
          expect(result.value).toMatchObject({
            kind: ending.faults < 2 ? 'created' : expect.stringMatching(/created|replayed/),
            pet: { name: ['Rex', 'Bella', 'Momo'][index] },
          });
          if (result.value.kind !== 'mismatch')
            expect(stored.get(String(result.value.pet.id))).toBe(result.value.pet.name);
        }
      },
    );
  });
});
