import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { admit } from '../../../functions/access/limiter.ts';
import { findKey } from '../../../functions/access/key-records.ts';
import { toJson } from '../../../functions/http/exact-json.ts';
import { createPetOnce } from '../../../functions/pets/idempotent-creation.ts';
import { byStatus, createPet, getPet, listPets, type PetTable } from '../../../functions/pets/store.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { tableDefinitions } from '../../../lib/storage/table-definitions.ts';
import { createTable } from '../../support/create-tables.ts';
import { noteCommands, type SentCommand, unitsOf } from '../../support/traffic.ts';
import { at } from '../../support/times.ts';

/** The request units of docs/cost.md, as DynamoDB reports them for each operation. */
const firstId = 114_841_436_160_017n;
const animal = { name: 'Bella, tabby, three years', categoryId: 12n, status: 'available' } as const;
const limits = { perMinute: 2, perDay: 1_000 };
// This time is in the future, because DynamoDB Local deletes what has expired by its own clock.
const now = Math.floor(Date.UTC(2036, 10, 21) / 1000);
const keyHash = 'f'.repeat(64);
const addedBy = 'key_06fz1m4tqabcdefg';

const indexes = Object.keys(tableDefinitions.pets.indexes ?? {}).length;

describe('the units that an operation on pets consumes', () => {
  let pets: PetTable;
  let traffic: SentCommand[];
  let lastId = firstId;

  beforeAll(async () => {
    pets = await createTable('pets');
    const items = petStatuses.flatMap((status) =>
      Array.from({ length: 101 }, () => ({ ...animal, id: (lastId += 1n), status, addedBy })),
    );
    await Promise.all(
      items.map((Item) => pets.client.send(new PutCommand({ TableName: pets.tableName, Item }))),
    );
  });
  beforeEach(() => {
    traffic = noteCommands(pets.client);
    return () => pets.client.middlewareStack.remove('noteCommands');
  });

  it('are half a read for a page of 20 pets of one status', async () => {
    await listPets(pets, { limit: 20, filter: byStatus('sold') });
    expect(unitsOf(traffic)).toBe(0.5);
  });

  it('are half a read for each of the three statuses for a page of 20 pets', async () => {
    await listPets(pets, { limit: 20 });
    expect(unitsOf(traffic)).toBe(1.5);
  });

  it('are one and a half reads for each of the three statuses for a page of 100 pets', async () => {
    await listPets(pets, { limit: 100 });
    expect(unitsOf(traffic)).toBe(4.5);
  });

  it('are one read for one pet, because it is consistent', async () => {
    await getPet(pets, lastId);
    expect(traffic).toMatchObject([{ input: { ConsistentRead: true } }]);
    expect(unitsOf(traffic)).toBe(1);
  });

  it('are one write in the table and one in each index for a new pet', async () => {
    await createPet(pets, animal, { newId: () => (lastId += 1n), addedBy, onCollision: () => {} });
    expect(unitsOf(traffic)).toBe(1 + indexes);
  });
});

describe('the writes of the rate limit', () => {
  it('are one for a request, two for the first of a minute, and two for a rejection', async () => {
    const table = await createTable('rateLimits');
    const traffic = noteCommands(table.client);
    const writes = async (moment: number) => {
      traffic.length = 0;
      await admit(table, { keyHash, limits, now: at(moment) });
      return traffic.length;
    };
    expect(await writes(now)).toBe(2);
    expect(await writes(now)).toBe(1);
    expect(await writes(now)).toBe(2);
    expect(await writes(now + 60)).toBe(2);
  });

  it('cost one unit each', async () => {
    const table = await createTable('rateLimits');
    const traffic = noteCommands(table.client);
    await admit(table, { keyHash, limits, now: at(now) });
    await admit(table, { keyHash, limits, now: at(now) });
    expect(traffic.map(({ capacity }) => capacity?.CapacityUnits)).toEqual([undefined, 1, 1]);
  });
});

describe('the read of the authorizer', () => {
  it('costs one unit, because it is consistent', async () => {
    const table = await createTable('apiKeys');
    const traffic = noteCommands(table.client);
    await table.client.send(
      new PutCommand({
        TableName: table.tableName,
        Item: { keyHash, keyId: 'key_1', owner: 'somebody', plan: 'free', status: 'active' },
      }),
    );
    traffic.length = 0;
    await findKey(table, keyHash);
    expect(unitsOf(traffic)).toBe(1);
  });
});

describe('the writes of a creation with an Idempotency-Key', () => {
  const prepared = async () => {
    const [pets, idempotency] = await Promise.all([createTable('pets'), createTable('idempotency')]);
    let lastId = firstId;
    const creation = {
      recordId: keyHash,
      identity: toJson(animal),
      now: at(now),
      newId: () => (lastId += 1n),
      addedBy,
      onCollision: () => {},
    };
    const create = () => createPetOnce(pets, idempotency, animal, creation);
    return { client: pets.client, create };
  };

  // On AWS, where others measured it, the factor 2 of a transaction is for the table and not for its indexes:
  // https://github.com/nubo-db/dynoxide/issues/178
  const ofIndex = inject('database') === 'dynoxide' ? 'one, as on AWS' : 'two, unlike AWS';
  it(`cost two units for the pet, two for the record, and for each index ${ofIndex}`, async () => {
    const { client, create } = await prepared();
    const traffic = noteCommands(client);
    expect((await create()).kind).toBe('created');
    expect(traffic.map(({ name }) => name)).toEqual(['TransactWriteItemsCommand']);
    expect(unitsOf(traffic)).toBe(4 + indexes * (inject('database') === 'dynoxide' ? 1 : 2));
  });

  it('are one transaction for a replay too, which is cancelled', async () => {
    const { client, create } = await prepared();
    await create();
    const traffic = noteCommands(client);
    expect((await create()).kind).toBe('replayed');
    expect(traffic.map(({ name }) => name)).toEqual(['TransactWriteItemsCommand']);
  });
});
