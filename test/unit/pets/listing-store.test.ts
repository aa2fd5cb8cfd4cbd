import { setTimeout } from 'node:timers/promises';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from 'vitest';
import { listPets } from '../../../functions/pets/store.ts';
import type { PetStatus } from '../../../functions/pets/schema.ts';

// Listings whose three partitions are read at different moments.

type Answer = (status: PetStatus) => Promise<readonly number[]>;

/** A table whose partition of a status has these IDs, newest first. */
function tableOf(answer: Answer) {
  const send = async (command: unknown) => {
    if (!(command instanceof QueryCommand)) throw new Error('Not a query');
    const { ExpressionAttributeValues: values, Limit: limit } = command.input;
    const status = values?.[':value'] as PetStatus;
    const before = Number(values?.[':before'] ?? Infinity);
    const ids = (await answer(status)).filter((id) => id < before);
    const items = ids.slice(0, limit).map((id) => itemOf(id, status));
    return { Items: items, ...(ids.length > items.length && { LastEvaluatedKey: items.at(-1) }) };
  };
  return { client: { send } as unknown as DynamoDBDocumentClient, tableName: 'Pets' };
}

const itemOf = (id: number, status: PetStatus) => ({
  id: { value: String(id), toString: () => String(id) },
  name: `Pet ${id}`,
  categoryId: { value: '7' },
  status,
});

test.each<[string, Record<PetStatus, number[]>, PetStatus]>([
  ['sold', { available: [5, 3, 1], pending: [4], sold: [3, 2] }, 'sold'],
  ['pending', { available: [5, 3, 1], pending: [4, 3], sold: [2] }, 'pending'],
  ['available again', { available: [5, 3, 1], pending: [4, 3], sold: [3, 2] }, 'sold'],
])('an animal that becomes %s while a page is read is listed once', async (_, partitions, status) => {
  const table = tableOf(async (each) => partitions[each]);
  for (const limit of [1, 2, 3, 5, 20]) {
    const pets = [];
    let before: bigint | undefined;
    do {
      const page = await listPets(table, { limit, before });
      expect(page.pets.length).toBeLessThanOrEqual(limit);
      pets.push(...page.pets);
      before = page.next;
    } while (before !== undefined);
    expect(pets.map(({ id }) => Number(id))).toEqual([5, 4, 3, 2, 1]);
    expect(pets.find(({ id }) => id === 3n)).toMatchObject({ status });
  }
});

test('a listing that fails has waited for all its calls', async () => {
  let running = 0;
  const table = tableOf(async (status) => {
    if (status === 'sold') throw new Error('No.');
    running += 1;
    await setTimeout(5);
    running -= 1;
    return [];
  });
  await expect(listPets(table, { limit: 20 })).rejects.toThrow('No.');
  expect(running).toBe(0);
});
