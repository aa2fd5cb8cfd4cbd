import { randomUUID } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { GetCommand, PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { isUnavailable } from '../../../functions/dynamodb/failures.ts';
import {
  createPetOnce,
  recordIdOf,
  idempotencyRetention,
  type IdempotencyTable,
} from '../../../functions/pets/idempotent-creation.ts';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { newPet, type NewPet } from '../../../functions/pets/schema.ts';
import { getPet, type PetTable } from '../../../functions/pets/store.ts';
import { DynamoDbProxy, type Fate } from '../../support/dynamodb-proxy.ts';
import { createTable, newClient } from '../../support/create-tables.ts';
import { toUnixSeconds } from '../../../functions/runtime/unix-time.ts';
import { at } from '../../support/times.ts';

const rex: NewPet = { name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'available' };
// In the future: DynamoDB Local deletes what has expired by its own clock.
const noon = toUnixSeconds(Date.parse('2036-07-01T12:00:00Z'));

let pets: PetTable;
let idempotency: IdempotencyTable;

beforeAll(async () => {
  [pets, idempotency] = await Promise.all([createTable('pets'), createTable('idempotency')]);
});

const newRecordId = () => recordIdOf('caller', randomUUID());
const newId = () => newPetId(Date.now(), Math.random());

const newRequest = () => ({
  recordId: newRecordId(),
  body: toJson(rex),
  now: noon,
  newId,
  onCollision: () => {},
});

async function create(recordId: string, pet: NewPet = rex, now: number = noon, more: object = {}) {
  const body = toJson(pet);
  return createPetOnce(pets, idempotency, pet, { ...newRequest(), recordId, body, now: at(now), ...more });
}

/** Replaces the waits between attempts for the rest of a test. */
function onWait(wait: (milliseconds: number, signal: AbortSignal | undefined) => void): void {
  const spy = vi.spyOn(timers, 'setTimeout').mockImplementation(async (milliseconds, value, options) => {
    wait(milliseconds!, options?.signal);
    return value!;
  });
  // Named imports of a module of Node.js change with this only.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

/** The client of a process of its own, behind a proxy. */
async function behindProxy<T>(work: (proxy: DynamoDbProxy, table: PetTable) => Promise<T>): Promise<T> {
  const proxy = await DynamoDbProxy.start();
  try {
    return await work(proxy, { ...pets, client: newClient(proxy.endpoint) });
  } finally {
    proxy.stop();
  }
}

async function storedPets(): Promise<number> {
  const { Count: count } = await pets.client.send(
    new ScanCommand({ TableName: pets.tableName, Select: 'COUNT', ConsistentRead: true }),
  );
  return count ?? 0;
}

describe('an idempotency key', () => {
  test('used again with the same pet returns the first pet', async () => {
    const id = newRecordId();
    const first = await create(id);
    expect(first).toMatchObject({ kind: 'created', pet: rex });
    const before = await storedPets();
    expect(await create(id)).toEqual({ ...first, kind: 'replayed' });
    expect(await storedPets()).toBe(before);
  });

  test.each(Object.keys(newPet.shape))(
    'used again for a pet with another %s stores nothing',
    async (field) => {
      const id = newRecordId();
      await create(id);
      const before = await storedPets();
      expect(await create(id, { ...rex, [field]: 'other' })).toEqual({ kind: 'mismatch' });
      expect(await storedPets()).toBe(before);
    },
  );

  // A canary release runs two versions.
  test.each([
    ['same request, to a version that knows fewer fields, returns the first pet', 'one', 'replayed'],
    ['request that differs in a field that the version does not know stores nothing', 'two', 'mismatch'],
  ])('used again with the %s', async (_name, description, kind) => {
    const id = newRecordId();
    const of = (value: string) => ({ body: toJson({ ...rex, description: value }) });
    const first = { ...rex, description: 'one' };
    await create(id, first, noon, of('one'));
    expect(await create(id, rex, noon, of(description))).toMatchObject({ kind });
  });

  test('is kept for 24 hours, even if DynamoDB deletes its record later', async () => {
    const id = newRecordId();
    const first = await create(id);
    expect(await create(id, rex, noon + idempotencyRetention - 1)).toMatchObject({ kind: 'replayed' });
    const second = await create(id, { ...rex, name: 'Max' }, noon + idempotencyRetention);
    expect(second).toMatchObject({ kind: 'created', pet: { name: 'Max' } });
    expect(second).not.toMatchObject({ pet: { id: 'pet' in first && first.pet.id } });
    expect(await create(id, { ...rex, name: 'Max' }, noon + idempotencyRetention + 1)).toEqual({
      ...second,
      kind: 'replayed',
    });
  });

  test('is stored as a hash, in a record that expires', async () => {
    const id = newRecordId();
    const outcome = await create(id);
    const { Item: record } = await idempotency.client.send(
      new GetCommand({ TableName: idempotency.tableName, Key: { id } }),
    );
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(record ?? {}).toSorted()).toEqual(['expiresAt', 'id', 'pet', 'requestHash']);
    expect(String(record?.['expiresAt'])).toBe(String(noon + 86_400));
    if (outcome.kind === 'mismatch') throw new Error('Not created');
    expect(await getPet(pets, outcome.pet.id)).toEqual(outcome.pet);
  });
});

describe('creations with one idempotency key', () => {
  test('at the same time create one pet, and all return it', async () => {
    const id = newRecordId();
    const before = await storedPets();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => create(id)));
    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
    expect(new Set(outcomes.map((outcome) => ('pet' in outcome ? outcome.pet.id : undefined))).size).toBe(1);
    expect(await storedPets()).toBe(before + 1);
  });
});

describe('a creation', () => {
  test('with an ID in use is repeated with another ID', async () => {
    const taken = newId();
    await pets.client.send(new PutCommand({ TableName: pets.tableName, Item: { ...rex, id: taken } }));
    let collisions = 0;
    const ids = [taken, taken, newId()];
    const outcome = await create(newRecordId(), rex, noon, {
      newId: () => ids.shift(),
      onCollision: () => (collisions += 1),
    });
    expect(outcome.kind).toBe('created');
    expect(collisions).toBe(2);
  });

  const cancelledBy = (code: string): Fate => ({
    status: 400,
    type: 'TransactionCanceledException',
    more: { CancellationReasons: [{ Code: 'None' }, { Code: code, Message: 'No.' }] },
  });

  test.each([
    [0.999, [25, 50, 100, 200, 400, 400, 400]],
    [0.2, [5, 10, 20, 40, 80, 80, 80]],
    [0, [0, 0, 0, 0, 0, 0, 0]],
  ])(
    'that conflicts with another transaction is repeated, after random delays that grow: %d',
    async (random, delays) => {
      await behindProxy(async (proxy, table) => {
        proxy.fate = () => (proxy.calls.length <= 7 ? cancelledBy('TransactionConflict') : 'pass');
        vi.spyOn(Math, 'random').mockReturnValue(random);
        onTestFinished(() => vi.mocked(Math.random).mockRestore());
        const waits: number[] = [];
        onWait((milliseconds) => waits.push(Math.round(milliseconds)));
        const outcome = await createPetOnce(table, idempotency, rex, newRequest());
        expect(outcome.kind).toBe('created');
        expect(waits).toEqual(delays);
      });
    },
  );

  test('that keeps conflicting ends with its signal', async () => {
    await behindProxy(async (proxy, table) => {
      const abort = new AbortController();
      proxy.fate = () => cancelledBy('TransactionConflict');
      onWait((_, signal) => {
        if (proxy.calls.length === 10) abort.abort();
        signal?.throwIfAborted();
      });
      const creation = createPetOnce(table, idempotency, rex, { ...newRequest(), signal: abort.signal });
      await expect(creation).rejects.toMatchObject({ name: 'AbortError' });
      expect(proxy.calls).toHaveLength(10);
    });
  });

  test('that gets no answer ends with its signal', async () => {
    await behindProxy(async (proxy, table) => {
      const abort = new AbortController();
      proxy.fate = () => {
        setImmediate(() => abort.abort());
        return 'hang';
      };
      const creation = createPetOnce(table, idempotency, rex, { ...newRequest(), signal: abort.signal });
      await expect(creation).rejects.toMatchObject({ name: 'AbortError' });
    });
  });

  test.each(['ThrottlingError', 'ProvisionedThroughputExceeded'])(
    'that is cancelled by %s is not repeated, but can be',
    async (code) => {
      await behindProxy(async (proxy, table) => {
        proxy.fate = () => cancelledBy(code);
        const creation = createPetOnce(table, idempotency, rex, newRequest());
        expect(await creation.catch(isUnavailable)).toBe(true);
        expect(proxy.calls).toHaveLength(1);
      });
    },
  );

  test('that is cancelled for another reason is not retried', async () => {
    await behindProxy(async (proxy, table) => {
      proxy.fate = () => cancelledBy('ValidationError');
      const creation = createPetOnce(table, idempotency, rex, newRequest());
      expect(await creation.catch(isUnavailable)).toBe(false);
      expect(proxy.calls).toHaveLength(1);
    });
  });
});
