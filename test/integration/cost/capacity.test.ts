import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admit } from '../../../functions/access/limiter.ts';
import { findKey } from '../../../functions/access/key-records.ts';
import { createPet, getPet, listPets, type PetTable } from '../../../functions/pets/store.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { ordinary, usesOf } from '../../../tools/cost/requests.ts';
import { createTable } from '../../support/tables.ts';
import { type Sent, unitsOf, watch } from '../../support/traffic.ts';
import { footprint } from '../../unit/cost/footprint.ts';

/** What docs/cost.md charges for is what DynamoDB says each operation consumes. */
const animal = { ...ordinary.animal, categoryId: BigInt(ordinary.animal.categoryId) };
// Without the share of the authorizer and of the first request of a minute.
const uses = usesOf(footprint, { ...ordinary, requestsPerActiveMinute: Infinity });
const limits = { perMinute: 2, perDay: 1_000 };
const now = Math.floor(Date.UTC(2026, 10, 21) / 1000);
const keyHash = 'f'.repeat(64);

describe('The capacity that an operation is charged for', () => {
  let pets: PetTable;
  let traffic: Sent[];
  let lastId = ordinary.animal.id;

  beforeAll(async () => {
    pets = await createTable('Pets');
    const items = petStatuses.flatMap((status) =>
      Array.from({ length: 101 }, () => ({ ...animal, id: BigInt((lastId += 1)), status })),
    );
    await Promise.all(
      items.map((Item) => pets.client.send(new PutCommand({ TableName: pets.tableName, Item }))),
    );
  });
  beforeEach(() => {
    traffic = watch(pets.client);
    return () => pets.client.middlewareStack.remove('watch');
  });

  it('of a listing with a status is what its query consumes', async () => {
    await listPets(pets, { limit: 20, status: 'sold' });
    expect(unitsOf(traffic)).toBe(uses.listByStatus.readUnit);
  });

  it('of a listing without a status is what its three queries consume', async () => {
    await listPets(pets, { limit: 20 });
    expect(unitsOf(traffic)).toBe(uses.list.readUnit);
    expect(uses.rejectedRead.readUnit).toBe(uses.list.readUnit);
  });

  it('of the longest page is what its three queries consume', async () => {
    await listPets(pets, { limit: 100 });
    expect(unitsOf(traffic)).toBe(uses.listLongest.readUnit);
  });

  it('of a fetch is what it consumes', async () => {
    await getPet(pets, BigInt(lastId));
    expect(unitsOf(traffic)).toBe(uses.get.readUnit);
  });

  it('of a creation is what it consumes in the table and in its index, beside the limit', async () => {
    const { name, categoryId, status } = animal;
    await createPet(
      pets,
      { name, categoryId, status },
      { drawId: () => BigInt((lastId += 1)), onCollision: () => {} },
    );
    expect(unitsOf(traffic) + 1).toBe(uses.create.writeUnit);
  });
});

describe('The writes that a limit is charged for', () => {
  it('are one, two for the first request of a minute, and two for a rejection', async () => {
    const table = await createTable('RateLimits');
    const traffic = watch(table.client);
    const writes = async (at: number) => {
      traffic.length = 0;
      await admit(table, { keyHash, limits, now: at });
      return traffic.length;
    };
    expect(await writes(now)).toBe(
      usesOf(footprint, { ...ordinary, requestsPerActiveMinute: 1 }).get.writeUnit,
    );
    expect(await writes(now)).toBe(uses.get.writeUnit);
    expect(await writes(now)).toBe(uses.rejectedRead.writeUnit);
    expect(await writes(now + 60)).toBe(2);
  });

  it('cost one unit each', async () => {
    const table = await createTable('RateLimits');
    const traffic = watch(table.client);
    await admit(table, { keyHash, limits, now });
    await admit(table, { keyHash, limits, now });
    expect(traffic.map(({ capacity }) => capacity?.CapacityUnits)).toEqual([undefined, 1, 1]);
  });
});

describe('The read that the authorizer is charged for', () => {
  it('is one unit, because it is consistent', async () => {
    const table = await createTable('ApiKeys');
    const traffic = watch(table.client);
    await table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: { keyHash, keyId: 'key_1', owner: 'somebody', plan: 'free', status: 'active' },
      }),
    );
    traffic.length = 0;
    await findKey(table, keyHash);
    expect(unitsOf(traffic)).toBe(uses.unknownKey.readUnit);
  });
});
