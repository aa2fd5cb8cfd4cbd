import { describe, expect, test } from 'vitest';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { before, rex, stored, worldWith } from './stored-animals.ts';

// These tests are about what is the same for several commands about one animal.

test.each(['show 8', 'set-status 8 sold', 'remove 8', 'show -8', 'show 8.25'])(
  'an animal that does not exist ends %s with 3',
  async (command) => {
    const [, id] = command.split(' ');
    const stderr = `Animal ${id} does not exist in stage local. "list" shows all.\n`;
    expect(await new World().run(`pets ${command}`)).toMatchObject({ exitCode: 3, stdout: '', stderr });
  },
);

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
