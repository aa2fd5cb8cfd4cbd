import { describe, expect, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { isFullRun } from '../../support/rounds.ts';
import type { Run } from '../commands.ts';
import { explore } from '../explore.ts';
import { World } from '../world.ts';
import { before, Folder, json, malformed, rex, stored } from './files.ts';

// The commands list, show, set-status and remove: docs/animals.md.

/** What is in the way is a fraction, which an index takes as a key. */
const fraction = { ...rex, id: 1.5 };
const line = `{"id":${rex.id},"name":"Rex","categoryId":9223372036854775807,"status":"available"}`;

function worldWith(...items: readonly object[]): World {
  const world = new World();
  for (const item of items) world.put('pets', item);
  return world;
}

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
  });
});

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

test.each(['show 8', 'set-status 8 sold', 'remove 8', 'show -8', 'show 8.25'])(
  'an animal that does not exist ends %s with 3',
  async (command) => {
    const [, id] = command.split(' ');
    const stderr = `Animal ${id} does not exist in stage local. "list" shows all.\n`;
    expect(await new World().run(`pets ${command}`)).toMatchObject({ exitCode: 3, stdout: '', stderr });
  },
);

test.each(['007', '9223372036854775808', 'Rex', '1.50'])('%s is not an ID, so it ends with 2', async (id) => {
  expect(await new World().run(`pets show ${id}`)).toMatchObject({ exitCode: 2, stdout: '' });
});

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

describe('remove', () => {
  test('prints the line that adds the animal again, also in the audit trail', async () => {
    const world = worldWith(rex);
    const { stdout, stderr } = await world.run(`pets remove ${rex.id}`);
    expect([stdout, stored(world)]).toEqual([`${line}\n`, []]);
    expect(stderr).toContain(`${rex.id} in local: removed ${line}\n`);
    world.put('pets', rex);
    expect(await json(world, `pets remove ${rex.id}`)).toMatchObject({ removed: { name: 'Rex' } });
  });

  test('removes malformed items, also one whose ID has a fraction', async () => {
    const world = worldWith(malformed, fraction);
    const { stderr } = await world.run('pets remove 7 --stage prod', { typed: ['y\n'] });
    expect(stderr).toContain('Remove 7 (malformed: status: is required)? [y/N] ');
    world.put('pets', malformed);
    before(world, 'DeleteItem', () => world.put('pets', { ...malformed, status: 'sold' }), 1);
    // Someone has repaired it.
    const repaired = await world.run('pets remove 7 --stage prod', { typed: ['y\n', 'n\n'] });
    expect(repaired.stderr).toContain('Remove 7 (No status, sold)? [y/N] Nothing was changed.');
    expect(await world.run('pets remove 7')).toMatchObject({ exitCode: 0 });
    expect(await world.run('pets remove 1.5')).toMatchObject({ exitCode: 0, stdout: '1.5 is removed.\n' });
    expect(stored(world)).toEqual([]);
  });
});

describe.each([
  [`set-status ${rex.id} sold`, 'UpdateItem', `Change ${rex.id} (Rex, available) to sold?`],
  [`remove ${rex.id}`, 'DeleteItem', `Remove ${rex.id} (Rex, available)?`],
])('%s', (command, operation, question) => {
  const done = operation === 'DeleteItem' ? [] : [{ ...rex, status: 'sold' }];

  test('in prod changes nothing until someone confirms it, and says who did', async () => {
    const world = worldWith(rex);
    const inProd = `pets ${command} --stage prod`;
    expect(await world.run(inProd)).toMatchObject({ exitCode: 4, stdout: '' });
    expect(await world.run(inProd, { typed: ['n\n'] })).toMatchObject({
      exitCode: 4,
      stdout: '',
      stderr: `prod: ${question} [y/N] Nothing was changed.\n`,
    });
    expect((await world.run(inProd, { typed: [] })).stderr).toBe(
      `prod: ${question} [y/N] \nNothing was changed.\n`,
    );
    expect(stored(world)).toEqual([rex]);
    const confirmed = await world.run(inProd, { typed: ['y\n'] });
    expect([confirmed.exitCode, stored(world)]).toEqual([0, done]);
    expect(confirmed.stderr).toContain('arn:aws:iam::123456789012:user/local');
  });

  test('changes nothing if AWS does not say who does it', async () => {
    const world = worldWith(rex);
    world.meets = ({ service }) => (service === 'sts' ? 'denied' : 'answered');
    expect(await world.run(`pets ${command} --stage prod --yes`)).toMatchObject({ exitCode: 1 });
    expect(stored(world)).toEqual([rex]);
  });

  test('asks again, or decides again, if someone else changes the animal after it was read', async () => {
    const world = worldWith(rex);
    before(world, operation, () => world.put('pets', { ...rex, status: 'pending' }));
    const asked = await world.run(`pets ${command} --stage prod`, { typed: ['y\n', 'n\n'] });
    // What the first question was about is not there any more.
    expect(asked).toMatchObject({ exitCode: 4, stdout: '' });
    expect(asked.stderr).toMatch(/\(Rex, available\).*\[y\/N\] .*\(Rex, pending\).*\[y\/N\] /s);
    expect(stored(world)).toMatchObject([{ status: 'pending' }]);
    world.put('pets', rex);
    const unattended = await world.run(`pets ${command}`);
    expect(unattended).toMatchObject({ exitCode: 0 });
    expect(unattended.stderr).toMatch(/removed \{.*"pending"|pending → sold/);
  });

  test('keeps a field that someone adds meanwhile, or removes what it has read', async () => {
    const world = worldWith(rex);
    before(world, operation, () => world.put('pets', { ...rex, futureField: 'added' }), 1);
    expect(await world.run(`pets ${command}`)).toMatchObject({ exitCode: 0 });
    expect(stored(world)).toEqual(done.map((each) => ({ ...each, futureField: 'added' })));
  });

  test('does not take for its own what someone else does after its call was lost', async () => {
    const world = worldWith(rex);
    let calls = 0;
    world.meets = (call) => {
      if (call.operation !== operation || (calls += 1) > 2) return 'answered';
      if (calls === 2) world.put('pets', { ...rex, name: 'Max' });
      return calls === 1 ? 'lostBefore' : 'answered';
    };
    expect(await world.run(`pets ${command}`)).toMatchObject({ exitCode: 0 });
    expect(stored(world)).toEqual(done.map((each) => ({ ...each, name: 'Max' })));
  });

  test('gives up if changes do not end, and overwrites none', async () => {
    const world = worldWith(rex);
    let names = 0;
    before(world, operation, () => world.put('pets', { ...rex, name: `name ${(names += 1)}` }));
    const { exitCode, stderr } = await world.run(`pets ${command}`);
    expect(exitCode).toBe(4);
    expect(stderr).toContain(`${rex.id} was changed or removed by someone else. Look at it and try again.`);
    expect(stored(world)).toMatchObject([{ name: 'name 5' }]);
  });

  test('is not undone or repeated by lost answers', async () => {
    const world = worldWith(rex);
    let lost = 0;
    world.meets = (call) => (call.operation === operation && (lost += 1) < 3 ? 'lostAfter' : 'answered');
    const { exitCode, stderr } = await world.run(`pets ${command}`);
    expect([exitCode, stored(world), lost]).toEqual([0, done, 3]);
    expect(stderr.match(/ in local: /g)).toHaveLength(1);
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

interface Pet {
  readonly id: bigint;
  readonly name: string;
}

test('clients see that an animal is sold, removed and imported again', async () => {
  const folder = await Folder.make();
  const world = new World({ isChecked: false });
  const key = world.key('pro');
  const change = async (command: string) => {
    const run = await world.run(`pets ${command} --stage prod --yes`);
    expect(run).toMatchObject({ exitCode: 0 });
    return run.stdout;
  };
  const listed = async (query: string) =>
    ((await world.send(key, `GET /pets?limit=100${query}`)).body as Pet[]).map(({ name }) => name);
  const creation = { body: '{"name":"Rex","categoryId":7}', idempotencyKey: 'once' };
  const created = await world.send(key, 'POST /pets', creation);
  const { id } = created.body as Pet;

  await change(`set-status ${id} sold`);
  expect((await world.send(key, `GET /pets/${id}`)).body).toMatchObject({ status: 'sold' });
  expect([await listed('&status=sold'), await listed('&status=available')]).toEqual([['Rex'], []]);

  const removed = await change(`remove ${id}`);
  expect((await world.send(key, `GET /pets/${id}`)).status).toBe(404);
  expect(await listed('')).toEqual([]);
  // A creation that is repeated still gets its first answer, and adds nothing.
  const repeated = await world.send(key, 'POST /pets', creation);
  expect([repeated.status, repeated.text]).toEqual([201, created.text]);
  expect(await listed('')).toEqual([]);

  await change(`import ${await folder.write('again.jsonl', removed)}`);
  expect((await world.send(key, `GET /pets/${id}`)).body).toMatchObject({ name: 'Rex', status: 'sold' });
});
