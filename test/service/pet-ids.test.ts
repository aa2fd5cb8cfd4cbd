import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { anError } from '../support/expected-errors.ts';
import { ample, everyPage, pet } from './listed-animals.ts';
import { type Key, World } from './world.ts';

/** The IDs of creations, of which each has one of its own. */

const rex = { name: 'Rex', categoryId: 7, status: 'sold' };
const create = (world: World, key: Key, animal: object, idempotencyKey?: string) =>
  world.send(key, 'POST /pets', {
    body: JSON.stringify(animal),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });

describe('an ID in use', () => {
  test.each([
    [undefined, 2],
    // The wait before the next attempt is drawn, too.
    ['one', 1],
  ])('is not given again, with the Idempotency-Key %s', async (idempotencyKey, collisions) => {
    const world = new World({ isChecked: false });
    const key = world.key('free');
    world.random = () => 0;
    const first = await create(world, key, rex);
    let drawn = 0;
    world.random = () => (drawn++ < 2 ? 0 : 0.5);
    const second = await create(world, key, { ...rex, name: 'Max' }, idempotencyKey);
    expect(second).toMatchObject({
      status: 201,
      body: { name: 'Max' },
      log: { PetIdCollisions: collisions },
    });
    const all = (await everyPage(world, key, '/pets')).flat();
    expect(all.toSorted((a, b) => Number(a.id - b.id))).toEqual([first.body, second.body]);
  });

  test('five times in a row is a 503', async () => {
    const world = new World({ isChecked: false });
    const key = world.key('free');
    world.random = () => 0;
    await create(world, key, rex);
    expect(await create(world, key, rex)).toMatchObject(anError('service_unavailable'));
    expect(world.tables.items('Pets')).toHaveLength(1);
  });
});

test('after a failed call the ID of another animal, which someone stored meanwhile, is not that of the new one', async () => {
  const world = new World({ isChecked: false });
  const key = world.key('free');
  world.random = () => 0;
  const { id } = z.parse(pet, (await create(world, key, rex)).body);
  let drawn = 0;
  world.random = () => (drawn++ < 1 ? 0 : 0.5);
  let puts = 0;
  world.meets = ({ operation }) => (operation === 'PutItem' && (puts += 1) === 1 ? 'failed' : 'answered');
  const second = await create(world, key, { ...rex, name: 'Max' });
  expect(second).toMatchObject({ status: 201, body: { name: 'Max' }, log: { PetIdCollisions: 1 } });
  expect(z.parse(pet, second.body).id).not.toBe(id);
  expect(world.tables.items('Pets')).toHaveLength(2);
});

test('50 animals of one millisecond have IDs of their own', async () => {
  const world = new World({ isChecked: false });
  const answers = await world.sendAll(50, world.key(ample), 'POST /pets', { body: JSON.stringify(rex) });
  expect(new Set(answers.map(({ body }) => z.parse(pet, body).id)).size).toBe(50);
  expect(world.tables.items('Pets')).toHaveLength(50);
});
