import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import * as z from 'zod/mini';
import { idempotencyId } from '../../../functions/pets/idempotent-creation.ts';
import type { CreationOrder } from '../../support/creation-process.ts';
import { rounds } from '../../support/rounds.ts';
import { createTable } from '../../support/tables.ts';

const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
/** The outcome, with the id as text. */
const creationReply = z.object({ kind: z.string(), petId: z.string() });

let children: readonly ChildProcess[];

beforeAll(async () => {
  const script = new URL('../../support/creation-process.ts', import.meta.url);
  children = Array.from({ length: 2 }, () => fork(script, [inject('dynamodbEndpoint')]));
  await Promise.all(children.map((child) => once(child, 'message')));
});

afterAll(() => {
  for (const child of children) child.kill();
});

test('two concurrent creations with one idempotency key from two processes create one pet, and both return it', async () => {
  const [pets, idempotency] = await Promise.all([createTable('Pets'), createTable('Idempotency')]);
  const count = rounds({ full: 200, sample: 10 });
  for (let round = 0; round < count; round += 1) {
    const order: CreationOrder = {
      pets: pets.tableName,
      idempotency: idempotency.tableName,
      id: idempotencyId('caller', String(round)),
      now: noon,
    };
    const replies = await Promise.all(
      children.map(async (child) => {
        const answer = once(child, 'message');
        child.send(order);
        return z.parse(creationReply, ((await answer) as unknown[])[0]);
      }),
    );
    expect(replies.map(({ kind }) => kind).toSorted()).toEqual(['created', 'replayed']);
    expect(new Set(replies.map(({ petId }) => petId)).size).toBe(1);
  }
  const { Count: stored } = await pets.client.send(
    new ScanCommand({ TableName: pets.tableName, Select: 'COUNT', ConsistentRead: true }),
  );
  expect(stored).toBe(count);
});
