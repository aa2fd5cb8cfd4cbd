import { describe, expect, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { fraction, json, malformed, rex, worldWith } from './stored-animals.ts';

describe('list', () => {
  test('shows animals newest first, in pages, with every digit and the time of their IDs', async () => {
    const id = Number(newPetId(Date.UTC(2026, 6, 1), 0));
    const world = worldWith(...petStatuses.map((status, index) => ({ ...rex, id: id + index, status })));
    const first = await world.run('pets list --limit 2');
    expect(first).toMatchObject({
      exitCode: 0,
      stdout: [
        'ID              STATUS   CATEGORY             CREATED               NAME',
        `${id + 2}  sold     9223372036854775807  2026-07-01T00:00:00Z  Rex`,
        `${id + 1}  pending  9223372036854775807  2026-07-01T00:00:00Z  Rex\n`,
      ].join('\n'),
      stderr: `There are more: --cursor ${id + 1}\n`,
    });
    expect(await json(world, 'pets list --limit 2')).toMatchObject({ cursor: id + 1 });
    const rest = await json(world, `pets list --limit 2 --cursor ${id + 1}`);
    expect(rest).toMatchObject({ pets: [{ id, createdAt: '2026-07-01T00:00:00Z' }], cursor: null });
    expect(await json(world, 'pets list --status sold')).toMatchObject({ pets: [{ status: 'sold' }] });
    expect((await world.run('pets list --cursor 1')).stdout).toBe('No animals.\n');
    for (const option of ['--limit 101', '--limit 0', '--cursor 9223372036854775808'])
      expect(await world.run(`pets list ${option}`)).toMatchObject({ exitCode: 2 });
  });

  test('does not let a name change the terminal, nor do show and a question', async () => {
    const world = worldWith({ ...rex, name: 'Rex\u001b[2J\u202e' });
    for (const command of ['list', `show ${rex.id}`])
      expect((await world.run(`pets ${command}`)).stdout).toContain(String.raw`Rex\u001b[2J\u202e`);
    const { stderr } = await world.run(`pets remove ${rex.id} --stage prod`, { typed: ['n\n'] });
    expect(stderr).toContain(String.raw`(Rex\u001b[2J\u202e, available)?`);
  });

  test('--malformed finds items that are in no index, and a page names those that are in one', async () => {
    const world = worldWith(rex, malformed, fraction);
    const found = await json<{ malformed: { id: string }[] }>(world, 'pets list --malformed');
    expect(found.malformed.map(({ id }) => id).toSorted()).toEqual(['1.5', '7']);
    expect(found.malformed).toContainEqual({ id: '7', malformed: 'status: is required' });
    expect((await world.run('pets list --malformed')).stdout).toContain('7: status: is required\n');
    expect((await world.run('pets list')).stderr).toContain('The stored pet with ID 1.5 is malformed');
    expect((await worldWith(rex).run('pets list --malformed')).stdout).toBe('No malformed items.\n');
    for (const option of ['--status sold', '--cursor 1', '--added-by key_06fz1m4tqabcdefg'])
      expect(await world.run(`pets list --malformed ${option}`)).toMatchObject({ exitCode: 2, stdout: '' });
  });
});
