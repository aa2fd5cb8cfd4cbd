import { describe, expect, test } from 'vitest';
import { isFullRun } from '../../support/rounds.ts';
import type { Run } from '../commands.ts';
import { explore } from '../explore.ts';
import { json, malformed, rex, stored, worldWith } from './stored-animals.ts';

describe('set-status', () => {
  test('changes nothing but the status, says who did it, and lists find the animal by it', async () => {
    const world = worldWith({ ...rex, futureField: 'kept' });
    const { stderr, stdout } = await world.run(`pets set-status ${rex.id} sold --json`);
    expect(JSON.parse(stderr)).toEqual({
      audit: {
        at: '2026-07-01T12:00:00Z',
        by: expect.stringContaining('@') as string,
        did: 'changed status',
        detail: 'available → sold',
        petId: String(rex.id),
        stage: 'local',
      },
    });
    expect(JSON.parse(stdout)).toEqual({ id: rex.id, changed: true, status: 'sold' });
    expect(stored(world)).toEqual([{ ...rex, status: 'sold', futureField: 'kept' }]);
    // It reads what was written last.
    world.meets = ({ operation }) => (operation === 'GetItem' ? 'stale' : 'answered');
    expect(await json(world, `pets show ${rex.id}`)).toMatchObject({ status: 'sold' });
    expect(await json(world, 'pets list --status sold')).toMatchObject({ pets: [{ name: 'Rex' }] });
    expect(await json(world, 'pets list --status available')).toMatchObject({ pets: [] });
    expect(await world.run(`pets set-status ${rex.id} sold`)).toMatchObject({
      exitCode: 0,
      stdout: `${rex.id} was sold before.\n`,
      stderr: '',
    });
    expect((await world.run(`pets set-status ${rex.id} pending`)).stdout).toBe(`${rex.id} is pending.\n`);
  });

  test('refuses a malformed item', async () => {
    const world = worldWith(malformed);
    const { exitCode, stderr } = await world.run('pets set-status 7 sold');
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('import --replace malformed')]);
    expect(stored(world)).toEqual([malformed]);
  });
});

test('set-status of an animal that is removed after an answer was lost does not say that it is sold', async () => {
  const world = worldWith(rex);
  world.meets = ({ operation }) => {
    if (operation !== 'UpdateItem') return 'answered';
    if (stored(world).length === 0) return 'answered';
    world.tables.delete('Pets', { id: { N: String(rex.id) } });
    return 'lostBefore';
  };
  const { exitCode, stderr } = await world.run(`pets set-status ${rex.id} sold`);
  expect(exitCode).toBe(3);
  expect(stderr).not.toContain('changed status');
});

test('set-status beside remove, and a lost answer, say what they did in every order', async () => {
  const schedules = await explore<{ sold?: Run; removed?: Run }>({
    from: worldWith(rex),
    given: () => ({}),
    steps: [
      async (world, runs) => (runs.sold = await world.run(`pets set-status ${rex.id} sold`)),
      async (world, runs) => (runs.removed = await world.run(`pets remove ${rex.id}`)),
    ],
    faults: isFullRun ? 1 : 0,
    kinds: ['lostAfter'],
    check: ({ tables }, { sold, removed }) => {
      const statuses = tables.versions('Pets')[0]!.map(({ item }) => item?.['status']?.S);
      const isSold = statuses.includes('sold');
      expect(statuses).toEqual(['available', ...(isSold ? ['sold'] : []), undefined]);
      expect(removed).toMatchObject({ exitCode: 0 });
      expect(removed!.stdout).toContain(isSold ? '"sold"' : '"available"');
      // It was sold, its answer was lost, and it is not there any more.
      const isLost = sold!.stderr.includes('UpdateItem failed');
      expect([isSold ? 0 : 3, ...(isLost ? [3] : [])]).toContain(sold!.exitCode);
    },
  });
  expect(schedules).toBeGreaterThan(3);
});
