import { describe, expect, test } from 'vitest';
import { json, malformed, rex, worldWith } from './stored-animals.ts';
import { World } from '../world.ts';

describe('show', () => {
  test('prints an animal, and what is wrong with a malformed item', async () => {
    const world = worldWith(rex, { ...malformed, categoryId: rex.categoryId });
    expect((await world.run(`pets show ${rex.id} --json`)).stdout).toContain(
      '"categoryId": 9223372036854775807',
    );
    expect(await json(world, 'pets show 7')).toEqual({
      id: '7',
      malformed: 'status: is required',
      item: { id: '7', name: 'No status', categoryId: '9223372036854775807' },
    });
    world.put('pets', { ...rex, id: rex.categoryId });
    expect(await world.run(`pets show ${rex.categoryId}`)).toMatchObject({ exitCode: 0 });
    expect((await world.run('pets show 7')).stdout).toMatch(
      /^7 is malformed: status: is required\n\{.*\}\n$/,
    );
  });
});

test.each([
  ['categoryId', 'seven', 'must be a whole number (an int64, DynamoDB type N)'],
  ['categoryId', { a: 1 }, 'must be a whole number (an int64, DynamoDB type N)'],
  ['categoryId', 1.5, 'must be a whole number (an int64, DynamoDB type N)'],
  ['categoryId', 2n ** 63n, 'must be a whole number (an int64, DynamoDB type N)'],
  ['name', 7, 'must be a string'],
  ['status', 'lost', 'must be one of available, pending, sold'],
])('says what a stored %s must be', async (field, value, problem) => {
  const world = worldWith({ ...rex, [field]: value });
  const { stdout } = await world.run(`pets show ${rex.id}`);
  expect(stdout.split('\n')[0]).toBe(`${rex.id} is malformed: ${field}: ${problem}`);
});

test.each(['007', '9223372036854775808', 'Rex', '1.50'])('%s is not an ID, so it ends with 2', async (id) => {
  expect(await new World().run(`pets show ${id}`)).toMatchObject({ exitCode: 2, stdout: '' });
});
