import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { admit } from '../../functions/access/limiter.ts';
import { createPetOnce } from '../../functions/pets/idempotent-creation.ts';
import { createPet } from '../../functions/pets/store.ts';
import { MemoryTables } from '../support/memory-tables.ts';
import { rounds } from '../support/rounds.ts';
import { createTables, type Tables } from '../support/tables.ts';
import { at } from '../support/times.ts';

// test/unit/interleavings.test.ts relies on this: the tables in memory do what DynamoDB does with the same writes.

// DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;

const request = fc.record({
  keyHash: fc.constantFrom('a', 'b'),
  limits: fc.record({ perMinute: fc.integer({ min: 1, max: 3 }), perDay: fc.integer({ min: 1, max: 5 }) }),
  now: fc.constantFrom(noon, noon + 60, noon + 86_400),
});
const creation = fc.record({
  petId: fc.bigInt({ min: 1n, max: 4n }),
  idempotencyKey: fc.option(fc.constantFrom('x', 'y')),
  name: fc.constantFrom('Rex', 'Bella'),
  now: fc.constantFrom(noon, noon + 86_401),
});
const call = fc.oneof(
  request.map((values) => ({ kind: 'request', ...values }) as const),
  creation.map((values) => ({ kind: 'creation', ...values }) as const),
);
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

let tables: Tables;

beforeAll(async () => {
  tables = await createTables();
});

/** The outcome of a call, or the name of its error. Each run has its own keys and IDs. */
async function outcome(
  client: DynamoDBDocumentClient,
  each: Call,
  run: number,
): Promise<string | { readonly kind: string }> {
  const table = (name: keyof Tables) => ({ client, tableName: tables[name].tableName });
  if (each.kind === 'request')
    return admit(table('rateLimits'), {
      ...each,
      keyHash: `${run} ${each.keyHash}`,
      now: at(each.now),
    });
  const newPet = { name: each.name, categoryId: 7n, status: 'available' } as const;
  const options = {
    newId: () => BigInt(run) * 10n + each.petId,
    onCollision: () => {},
    attempts: 1,
  };
  const created =
    each.idempotencyKey === null
      ? createPet(table('pets'), newPet, options).then((pet) => ({ kind: 'created', pet }))
      : createPetOnce(table('pets'), table('idempotency'), newPet, {
          ...options,
          recordId: `${run} ${each.idempotencyKey}`,
          body: each.name,
          now: at(each.now)(),
        });
  return created.catch((error: unknown) => (error as Error).name);
}

test('the same writes end as on DynamoDB', async () => {
  const outcomes = new Set<unknown>();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 10, maxLength: 20 }), async (calls) => {
      run += 1;
      const memory = new MemoryTables();
      const send = async (command: unknown) => memory.send(command);
      const inMemory = { send } as unknown as DynamoDBDocumentClient;
      for (const each of calls) {
        const expected = await outcome(tables.pets.client, each, run);
        expect(await outcome(inMemory, each, run)).toEqual(expected);
        outcomes.add(typeof expected === 'string' ? expected : expected.kind);
      }
    }),
    { numRuns: rounds({ full: 200, sample: 12 }) },
  );
  expect(outcomes).toEqual(
    new Set([
      'ConditionalCheckFailedException',
      'TransactionCanceledException',
      'admitted',
      'created',
      'mismatch',
      'rejected',
      'replayed',
    ]),
  );
});
