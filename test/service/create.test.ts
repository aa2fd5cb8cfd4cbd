import { expect, test } from 'vitest';
import { explore, World } from './world.ts';

const rex = { body: '{"name":"Rex","categoryId":7}', idempotencyKey: 'one' };

test('a creation repeated after a lost answer is answered as the first, and stores one animal', async () => {
  const world = new World();
  const key = world.key('free');
  world.meets = ({ table }) => (/Pets|Idempotency/.test(table) ? 'hungAfter' : 'answered');
  expect(await world.send(key, 'POST /pets', rex)).toMatchObject({
    status: 503,
    code: 'service_unavailable',
  });
  world.meets = () => 'answered';
  const repeated = await world.send(key, 'POST /pets', rex);
  expect(repeated).toMatchObject({ status: 201, headers: { 'Idempotency-Replayed': 'true' } });
  expect(world.tables.items('Pets')).toHaveLength(1);
});

test('two of them at the same time, and a third one later, in every order and with a fault, store one animal', async () => {
  const create = (world: World, key: Parameters<World['send']>[0]) => world.send(key, 'POST /pets', rex);
  const schedules = await explore({
    given: (world) =>
      world.key(
        { perMinute: 10, perDay: 10 },
        { minute: 1782907200, minuteCount: 1, day: 1782864000, dayCount: 1 },
      ),
    steps: [create, create],
    afterwards: [create],
    faults: 1,
    kinds: ['lostBefore', 'lostAfter', 'late', 'throttled', 'conflict'],
    check: ({ tables }) => expect(tables.items('Pets')).toHaveLength(1),
  });
  expect(schedules).toBeGreaterThan(20);
});
