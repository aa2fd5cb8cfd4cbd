import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { findKey } from '../../functions/access/key-records.ts';
import { admit } from '../../functions/access/limiter.ts';
import { createPetOnce } from '../../functions/pets/idempotent-creation.ts';
import { createPet, getPet, listPets } from '../../functions/pets/store.ts';
import { clientInMemory } from '../simulation/client.ts';
import { petStatus, statusFilter } from '../support/arbitraries.ts';
import { rounds } from '../support/rounds.ts';
import { createTables, type Tables } from '../support/dynamodb-tables.ts';
import { at } from '../support/times.ts';

// test/unit/simulation.test.ts relies on this: the tables in memory answer the calls of the service as DynamoDB does.

// DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
const midnight = noon - 43_200;

const keyHash = fc.constantFrom('a'.repeat(64), 'b'.repeat(64));
const now = fc.constantFrom(noon, noon + 20, noon + 60, noon + 86_400);
const perMinute = fc.integer({ min: 1, max: 3 });
const petId = fc.bigInt({ min: 1n, max: 5n });

/** What the functions do with the tables. */
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('request'),
      keyHash,
      now,
      limits: fc.record({ perMinute, perDay: fc.integer({ min: 1, max: 5 }) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rejections'),
      keyHash,
      rejections: fc.constantFrom(98, 99),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('creation'),
      petId,
      idempotencyKey: fc.option(fc.constantFrom('x', 'y')),
      name: fc.constantFrom('Rex', 'Bella'),
      status: petStatus,
      now,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('listing'),
      limit: fc.integer({ min: 1, max: 4 }),
      status: statusFilter,
      before: fc.option(petId),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reading'), petId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('lookup'), keyHash, isNew: fc.boolean() }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

let tables: Tables;

beforeAll(async () => {
  tables = await createTables();
});

/** The outcome of a step. Each run has its own keys and IDs. */
async function take(client: DynamoDBDocumentClient, each: Step, run: number): Promise<unknown> {
  const table = (name: keyof Tables) => ({ client, tableName: tables[name].tableName });
  const put = (name: keyof Tables, Item: object) =>
    client.send(new PutCommand({ TableName: tables[name].tableName, Item }));
  const hash = 'keyHash' in each ? `${String(run).padStart(8, '0')}${each.keyHash.slice(8)}` : '';
  switch (each.kind) {
    case 'request':
      return admit(table('rateLimits'), { ...each, keyHash: hash, now: at(each.now) });
    case 'rejections': {
      const full = {
        minute: noon,
        minuteCount: 3,
        day: midnight,
        dayCount: 3,
        rejectedSince: noon,
        rejectedUntil: noon + 60,
      };
      await put('rateLimits', { keyHash: hash, ...full, rejections: each.rejections });
      const limits = { perMinute: 3, perDay: 10 };
      return admit(table('rateLimits'), { keyHash: hash, limits, now: at(noon + 20) });
    }
    case 'creation': {
      const newPet = { name: each.name, categoryId: 7n, status: each.status };
      const options = { newId: () => BigInt(run) * 10n + each.petId, onCollision: () => {}, attempts: 1 };
      if (each.idempotencyKey === null) return createPet(table('pets'), newPet, options);
      return createPetOnce(table('pets'), table('idempotency'), newPet, {
        ...options,
        recordId: `${run} ${each.idempotencyKey}`,
        body: each.name,
        now: at(each.now)(),
      });
    }
    case 'listing': {
      const before = each.before === null ? BigInt(run) * 10n + 10n : BigInt(run) * 10n + each.before;
      const { pets } = await listPets(table('pets'), { ...each, before });
      // Below are the animals of earlier runs.
      return pets.filter(({ id }) => id > BigInt(run) * 10n);
    }
    case 'reading':
      return getPet(table('pets'), BigInt(run) * 10n + each.petId);
    case 'lookup':
      if (each.isNew) await put('apiKeys', { keyHash: hash, keyId: 'key_1', plan: 'free', status: 'active' });
      return findKey(table('apiKeys'), hash);
  }
}

test('the same calls end as on DynamoDB', async () => {
  const outcomes = new Set<unknown>();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 30 }), async (steps) => {
      run += 1;
      const { client: inMemory } = clientInMemory();
      for (const each of steps) {
        const [expected, found] = await Promise.all(
          [tables.pets.client, inMemory].map((client) =>
            take(client, each, run).catch((error: unknown) => ({ kind: (error as Error).name })),
          ),
        );
        expect(found).toEqual(expected);
        if (['request', 'rejections', 'creation'].includes(each.kind))
          outcomes.add((expected as { kind?: string }).kind ?? 'pet');
      }
    }),
    { numRuns: rounds({ full: 200, sample: 20 }) },
  );
  const reached = [
    'ConditionalCheckFailedException',
    'TransactionCanceledException',
    'admitted',
    'created',
    'mismatch',
    'pet',
    'rejected',
    'replayed',
    'suspended',
  ];
  expect(outcomes).toEqual(new Set(reached));
});
