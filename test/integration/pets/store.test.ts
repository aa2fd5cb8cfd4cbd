import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { putPets } from '../../../tools/contributors/local/put-pets.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { type NewPet, type Pet, petStatuses } from '../../../functions/pets/schema.ts';
import {
  byStatus,
  createPet,
  MalformedItemError,
  getPet,
  type Listing,
  listPets,
  type PetTable,
} from '../../../functions/pets/store.ts';
import * as arbitrary from '../../support/arbitraries.ts';
import { DynamoDbProxy } from '../../support/dynamodb-proxy.ts';
import { isFullRun, rounds } from '../../support/rounds.ts';
import { createTable, newClient } from '../../support/create-tables.ts';
import { type Sent, unitsOf, watch } from '../../support/traffic.ts';

const rex: NewPet = { name: 'Rex', categoryId: 7n, status: 'available' };

/** Animals with the ids 1 to `count`, the statuses taking turns. */
function animals(count: number): Pet[] {
  return Array.from({ length: count }, (_, index) => ({
    id: BigInt(index + 1),
    name: `Animal ${index + 1}`,
    categoryId: BigInt(index % 10),
    status: petStatuses[index % petStatuses.length]!,
  }));
}

const newestFirst = (pets: readonly Pet[]) => pets.toSorted((a, b) => Number(b.id - a.id));

/** Every page of a listing, one after the other. */
async function walk(table: PetTable, listing: Listing, betweenPages = async (): Promise<void> => {}) {
  const pages: Pet[][] = [];
  const malformed: MalformedItemError[] = [];
  let before = listing.before;
  do {
    const page = await listPets(table, { ...listing, before });
    pages.push([...page.pets]);
    malformed.push(...page.malformed);
    before = page.next;
    if (pages.length > 1_000) throw new Error('The pages do not end');
    await betweenPages();
  } while (before !== undefined);
  return { pages, pets: pages.flat(), malformed };
}

/** Creates an animal with these ids as those that are drawn. */
async function create(table: PetTable, pet: NewPet, ...ids: bigint[]) {
  let collisions = 0;
  const created = await createPet(table, pet, {
    newId: () => ids.shift()!,
    onCollision: () => (collisions += 1),
  });
  return { created, collisions };
}

const count = rounds({ full: 1_000, sample: 150 });

describe(`a table of ${count} pets`, () => {
  const stored = animals(count);
  let table: PetTable;
  let latest = 1_000_000n;

  beforeAll(async () => {
    table = await createTable('pets');
    await putPets(table, stored);
  });

  test.each([undefined, 'pending'] as const)(
    'is listed with the filter %s and the limit 20, each pet exactly once, while others are added',
    async (status) => {
      const { pets, pages } = await walk(
        table,
        { limit: 20, filter: status && byStatus(status) },
        async () => {
          latest += 1n;
          await create(table, { ...rex, status: petStatuses[Number(latest) % petStatuses.length]! }, latest);
        },
      );
      const wanted = newestFirst(stored).filter((pet) => status === undefined || pet.status === status);
      // The list also has the pets that an earlier walk added.
      expect(pets.filter(({ id }) => id <= BigInt(count))).toEqual(wanted);
      expect(new Set(pets.map(({ id }) => id)).size).toBe(pets.length);
      expect(pages.slice(0, -1).map((page) => page.length)).toEqual(pages.slice(1).map(() => 20));
    },
  );

  test('costs the same for the first and the last page, whatever its size', async () => {
    const client = newClient();
    const traffic = watch(client);
    const few = await createTable('pets');
    await putPets(few, animals(90));
    const costOf = async ({ tableName }: PetTable, listing: Listing) => {
      traffic.length = 0;
      await listPets({ client, tableName }, listing);
      return { commands: traffic.length, units: unitsOf(traffic) };
    };
    for (const status of [undefined, 'sold'] as const) {
      const cost = await costOf(few, { limit: 20, filter: status && byStatus(status) });
      expect(cost.commands).toBe(status === undefined ? 3 : 1);
      expect(await costOf(table, { limit: 20, filter: status && byStatus(status) })).toEqual(cost);
      expect(await costOf(table, { limit: 20, filter: status && byStatus(status), before: 100n })).toEqual(
        cost,
      );
    }
  });
});

describe('a listing', () => {
  let table: PetTable;

  beforeEach(async () => {
    table = await createTable('pets');
  });

  test('has a next page exactly if more pets follow', async () => {
    await putPets(table, animals(6));
    expect((await listPets(table, { limit: 5 })).next).toBe(2n);
    expect((await listPets(table, { limit: 6 })).next).toBeUndefined();
    expect((await listPets(table, { limit: 2, before: 3n })).next).toBeUndefined();
    expect((await listPets(table, { limit: 1, filter: byStatus('sold') })).next).toBe(6n);
    expect((await listPets(table, { limit: 2, filter: byStatus('sold') })).next).toBeUndefined();
  });

  test('is complete if DynamoDB returns large items in several parts', async () => {
    const large = animals(9).map((pet) => ({
      ...pet,
      status: 'sold' as const,
      portrait: 'x'.repeat(380_000),
    }));
    for (const item of large)
      await table.client.send(new PutCommand({ TableName: table.tableName, Item: item }));
    const traffic = watch(table.client);
    const { pets, next } = await listPets(table, { limit: 8, filter: byStatus('sold') });
    expect(traffic.length).toBeGreaterThan(1);
    expect(pets.map(({ id }) => Number(id))).toEqual([9, 8, 7, 6, 5, 4, 3, 2]);
    expect(next).toBe(2n);
  });
});

describe('a malformed item', () => {
  let table: PetTable;

  beforeEach(async () => {
    table = await createTable('pets');
  });

  const put = (item: object) =>
    table.client.send(new PutCommand({ TableName: table.tableName, Item: { ...item } }));

  test.runIf(isFullRun)(
    'hides no animal behind an older one of another status, however many there are',
    async () => {
      const many = Array.from({ length: 210 }, (_, index) => index + 100);
      await Promise.all(many.map((id) => put({ id, status: 'sold' })));
      await putPets(table, [
        { ...rex, id: 1n },
        { ...rex, id: 2n },
        { ...rex, id: 3n, status: 'sold' },
      ]);
      expect((await walk(table, { limit: 1 })).pets.map(({ id }) => id)).toEqual([3n, 2n, 1n]);
    },
  );

  test.each([
    ['no name', { name: undefined }],
    ['a categoryId beyond int64', { categoryId: 2n ** 63n }],
  ])('with %s is reported and omitted', async (_what, damage) => {
    await putPets(table, animals(3));
    const malformedItem = Object.entries({ ...rex, id: 2n, ...damage }).filter(
      ([, value]) => value !== undefined,
    );
    await put(Object.fromEntries(malformedItem));

    const { pets, malformed } = await listPets(table, { limit: 20 });
    expect(pets.map(({ id }) => id)).toEqual([3n, 1n]);
    expect(malformed).toHaveLength(1);
    expect(malformed[0]).toBeInstanceOf(MalformedItemError);
    expect(malformed[0]?.message).toContain('The stored pet with ID 2 is malformed');
    await expect(getPet(table, 2n)).rejects.toThrow(MalformedItemError);
  });

  test('never makes a page short or the last page empty, whatever its ID', async () => {
    await putPets(table, animals(9));
    for (const id of [4, 5, 6]) await put({ id, status: 'sold' });
    // An index takes any number as a key.
    for (const id of [0.5, 1.5, 2.25, 2.5, 7.5, 9.5]) await put({ ...rex, id });
    await put({ ...rex, id: -(10n ** 30n) });
    await put({ ...rex, id: 10n ** 30n });
    for (const limit of [1, 2, 3, 5, 6, 20]) {
      const { pages, pets, malformed } = await walk(table, { limit });
      expect(pets.map(({ id }) => Number(id))).toEqual([9, 8, 7, 3, 2, 1]);
      expect(pages.map((page) => page.length)).toEqual(
        Array.from({ length: Math.ceil(6 / limit) }, (_, page) => Math.min(limit, 6 - page * limit)),
      );
      expect(malformed).toHaveLength(11);
    }
  });

  test('is read past by queries for the rest of the page', async () => {
    await putPets(table, animals(9));
    for (const id of [7, 8]) await put({ id, status: rex.status });
    const traffic = watch(table.client);
    const { pets } = await listPets(table, { limit: 3, filter: byStatus(rex.status) });
    const ids = pets.map(({ id }) => Number(id));
    const valid = animals(9).filter(({ id, status }) => status === rex.status && id !== 7n && id !== 8n);
    expect(ids).toEqual(
      valid
        .map(({ id }) => Number(id))
        .toSorted((x, y) => y - x)
        .slice(0, 3),
    );
    const limits = traffic.map(({ input }) => Number(input['Limit']));
    expect(limits[0]).toBe(4);
    expect(limits.slice(1).every((limit) => limit < 4)).toBe(true);
    expect(limits.length).toBeGreaterThan(1);
  });
});

describe('a creation', () => {
  let table: PetTable;

  beforeEach(async () => {
    table = await createTable('pets');
  });

  test('stores every digit of its numbers and every character of its name', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitrary.int64,
        arbitrary.int64,
        arbitrary.petName,
        arbitrary.petStatus,
        async (id, categoryId, name, status) => {
          fc.pre((await getPet(table, id)) === undefined);
          const { created } = await create(table, { name, categoryId, status }, id);
          expect(created).toEqual({ id, name, categoryId, status });
          expect(await getPet(table, id)).toEqual(created);
        },
      ),
      { numRuns: rounds({ full: 40, sample: 8 }) },
    );
  });

  test('with an ID in use tries another ID, reports the collision, and does not change the other pet', async () => {
    await create(table, { ...rex, name: 'First' }, 1n);
    await create(table, { ...rex, name: 'Second' }, 2n);
    expect(await create(table, rex, 1n, 2n, 1n, 3n)).toEqual({ created: { ...rex, id: 3n }, collisions: 3 });
    expect(await getPet(table, 1n)).toMatchObject({ name: 'First' });
    expect(await getPet(table, 2n)).toMatchObject({ name: 'Second' });
  });

  test('fails after five IDs in use in a row', async () => {
    await create(table, rex, 1n);
    await expect(create(table, rex, 1n, 1n, 1n, 1n, 2n)).resolves.toMatchObject({ collisions: 4 });
    await expect(create(table, rex, 1n, 1n, 1n, 1n, 1n, 3n)).rejects.toThrow(ConditionalCheckFailedException);
    expect(await getPet(table, 3n)).toBeUndefined();
  });

  test('whose answer is lost creates one pet', async () => {
    const proxy = await DynamoDbProxy.start();
    const client = newClient(proxy.endpoint);
    proxy.fate = () => (proxy.calls.length === 1 ? 'lose' : 'pass');
    const { created, collisions } = await create({ client, tableName: table.tableName }, rex, 1n, 2n);
    expect(proxy.calls).toEqual(['PutItem', 'PutItem']);
    proxy.stop();
    expect({ created, collisions }).toEqual({ created: { ...rex, id: 1n }, collisions: 0 });
    expect((await walk(table, { limit: 10 })).pets).toEqual([created]);
  });

  test('whose answer is lost creates one pet, also if an operator changes its status before the retry', async () => {
    const proxy = await DynamoDbProxy.start();
    const client = newClient(proxy.endpoint);
    proxy.fate = async () => {
      if (proxy.calls.length === 1) return 'lose';
      await putPets(table, [{ ...rex, id: 1n, status: 'sold' }]);
      return 'pass';
    };
    const { created, collisions } = await create({ client, tableName: table.tableName }, rex, 1n, 2n);
    proxy.stop();
    expect({ created, collisions }).toEqual({ created: { ...rex, id: 1n }, collisions: 0 });
    expect((await walk(table, { limit: 10 })).pets).toEqual([{ ...created, status: 'sold' }]);
  });

  test('that is retried never returns another pet', async () => {
    await create(table, { ...rex, name: 'Other' }, 1n);
    const proxy = await DynamoDbProxy.start();
    const client = newClient(proxy.endpoint);
    proxy.fate = () => (proxy.calls.length === 1 ? { status: 500, type: 'InternalServerError' } : 'pass');
    const { created, collisions } = await create({ client, tableName: table.tableName }, rex, 1n, 2n);
    proxy.stop();
    expect({ created, collisions }).toEqual({ created: { ...rex, id: 2n }, collisions: 1 });
    expect(await getPet(table, 1n)).toMatchObject({ name: 'Other' });
  });

  const sameTime = rounds({ full: 200, sample: 50 });

  test(`of ${sameTime} pets in the same millisecond gives each a different ID`, async () => {
    const now = Date.now();
    let collisions = 0;
    const made = await Promise.all(
      Array.from({ length: sameTime }, () =>
        createPet(table, rex, {
          newId: () => newPetId(now, Math.random()),
          onCollision: () => (collisions += 1),
        }),
      ),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(sameTime);
    expect((await walk(table, { limit: 100 })).pets).toEqual(newestFirst(made));
    expect(collisions).toBeLessThan(sameTime);
  });
});

// Their units: test/deployed/database/capacity.test.ts.
describe('the requests to DynamoDB', () => {
  let table: PetTable;
  let traffic: Sent[];

  beforeEach(async () => {
    table = await createTable('pets');
    await putPets(table, animals(30));
    traffic = watch(table.client);
  });

  const names = () => traffic.map(({ name }) => name);

  test('are one consistent GetItem for a fetch, also of an unknown pet', async () => {
    await getPet(table, 7n);
    expect(await getPet(table, 10n ** 15n)).toBeUndefined();
    expect(traffic.map(({ name, capacity }) => [name, capacity?.Table?.CapacityUnits])).toEqual([
      ['GetItemCommand', 1],
      ['GetItemCommand', 1],
    ]);
  });

  test('are never a Scan or a filter expression', async () => {
    await walk(table, { limit: 7 });
    await walk(table, { limit: 7, filter: byStatus('sold') });
    await getPet(table, 1n);
    await create(table, rex, 1_000n);
    expect(new Set(names())).toEqual(new Set(['QueryCommand', 'GetItemCommand', 'PutItemCommand']));
    const queries = traffic.filter(({ name }) => name === 'QueryCommand').map(({ input }) => input);
    expect(queries.filter((input) => 'FilterExpression' in input || 'QueryFilter' in input)).toEqual([]);
    expect(new Set(queries.map((input) => input['IndexName']))).toEqual(new Set(['byStatus']));
    // One more than requested shows whether there is another page.
    expect(Math.max(...queries.map((input) => Number(input['Limit'])))).toBe(8);
  });
});
