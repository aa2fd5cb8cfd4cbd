import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { before, fraction, json, malformed, many, rex, stored, worldWith } from './stored-animals.ts';

const leaked = 'key_06fz1m4tqabcdefg';

interface Result {
  readonly run: string;
  readonly removed: number;
  readonly toRemove: number;
  readonly gone: number;
  readonly runs: readonly { readonly run: string; readonly beganAt: string; readonly animals: number }[];
  readonly kept: readonly { readonly line: number; readonly why: string }[];
}

/** What a command prints, which may name animals that it keeps. */
async function resultOf(
  world: World,
  command: string,
): Promise<Result & { readonly exitCode: number | undefined }> {
  const { exitCode, stdout } = await world.run(`${command} --json`);
  return { ...(JSON.parse(stdout) as Result), exitCode };
}

/** Imports animals into a world in which some were before, such as the first of the file. */
async function imported(count: number, animals: readonly object[] = []) {
  const [world, folder] = [new World(), await Folder.make()];
  for (const each of animals) world.put('pets', each);
  const file = await folder.write(
    'animals.jsonl',
    many(count)
      .map((each) => `${toJson(each)}\n`)
      .join(''),
  );
  const { run } = await json<Result>(world, `pets import ${file}`);
  return { world, folder, file, run };
}

const line = `{"id":${rex.id},"name":"Rex","categoryId":9223372036854775807,"status":"available"}`;

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

// These tests check docs/animals.md#undo-an-import.
describe('remove --file', () => {
  test('removes what the import has created and what still equals its line, and names the rest', async () => {
    const [first, second, third, fourth, fifth] = many(7);
    const { world, file, run } = await imported(7, [first!, { ...second, addedBy: leaked }]);
    await json(world, `pets set-status ${third!.id} sold`);
    await json(world, `pets remove ${fourth!.id}`);
    world.put('pets', { ...fifth, importId: run, weight: 3 });
    const before1 = stored(world);
    const dry = await resultOf(world, `pets remove --file ${file} --dry-run`);
    const kept = [
      { line: 1, id: first!.id, why: 'added by somebody before the store kept it' },
      { line: 2, id: second!.id, why: `added by ${leaked}` },
      { line: 3, id: third!.id, why: 'changed since' },
      { line: 5, id: fifth!.id, why: 'has "weight", which its line has not' },
    ];
    expect(dry).toMatchObject({ exitCode: 0, toRemove: 2, removed: 0, gone: 1, kept });
    expect(dry.runs).toEqual([{ run, beganAt: '2026-07-01T12:00:00Z', animals: 2 }]);
    expect(stored(world)).toEqual(before1);

    const { exitCode, stdout, stderr } = await world.run(`pets remove --file ${file}`);
    expect([exitCode, stdout]).toEqual([
      4,
      `${run}, which began at 2026-07-01T12:00:00Z: 2 animals\nRemoved 2 animals. Not there: 1.\n`,
    ]);
    expect(stderr).toMatch(
      /began to remove 2 animals\n.* in local: removed 2 that import_\w+ has added\nKept: 4 animals, line 1 \(/,
    );
    expect(stored(world)).toEqual(before1.slice(0, 3).concat(before1.find(({ id }) => id === fifth!.id)!));
    expect(await resultOf(world, `pets remove --file ${file}`)).toMatchObject({
      exitCode: 4,
      removed: 0,
      gone: 3,
    });
    // The file brings them back.
    await world.run(`pets import ${file}`);
    expect(stored(world)).toHaveLength(7);
  });

  test('removes nothing that the import of another file has created', async () => {
    const { world, folder, file } = await imported(3);
    const other = await folder.write(
      'other.jsonl',
      many(4)
        .map((each) => `${toJson(each)}\n`)
        .join(''),
    );
    await json(world, `pets import ${other}`);
    expect(await resultOf(world, `pets remove --file ${other}`)).toMatchObject({ exitCode: 4, removed: 1 });
    expect(await resultOf(world, `pets remove --file ${file}`)).toMatchObject({ exitCode: 0, removed: 3 });
  });

  test('removes what a leaked key has added, of an export', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const animals = many(4).map((each, index) => (index < 2 ? each : { ...each, addedBy: leaked }));
    for (const each of animals) world.put('pets', each);
    const file = folder.of('leaked.jsonl');
    await json(world, `pets export ${file} --added-by ${leaked}`);
    await json(world, `pets set-status ${animals[2]!.id} sold`);
    const result = await resultOf(world, `pets remove --file ${file} --added-by ${leaked}`);
    expect(result).toMatchObject({ exitCode: 4, removed: 1, kept: [{ why: 'changed since' }], runs: [] });
    expect(stored(world)).toHaveLength(3);
  });

  test('goes on after Ctrl-C and lost answers, with an audit line for each run', async () => {
    const { world, file } = await imported(120);
    const interruption = new AbortController();
    let deletions = 0;
    world.meets = ({ operation }) => {
      if (operation !== 'DeleteItem') return 'answered';
      if ((deletions += 1) === 30) interruption.abort();
      return deletions % 3 === 0 ? 'lostAfter' : 'answered';
    };
    const interrupted = await world.run(`pets remove --file ${file}`, { interrupted: interruption.signal });
    expect(interrupted).toMatchObject({ exitCode: 130, stdout: '' });
    expect(interrupted.stderr).toMatch(/removed \d+ that import_\w+ has added, then interrupted/);
    const left = stored(world).length;
    expect(left).toBeGreaterThan(60);
    const { exitCode, stdout } = await world.run(`pets remove --file ${file}`);
    expect([exitCode, stdout.split('\n').at(-2)]).toEqual([
      0,
      `Removed ${left} animals. Not there: ${120 - left}.`,
    ]);
    expect(stored(world)).toEqual([]);
  });

  test.each([
    ['is sold', { ...rex, name: 'animal 1', status: 'sold' }],
    ['is damaged', { ...rex, name: 1 }],
  ])('keeps an animal that %s meanwhile', async (_what, theirs) => {
    const { world, file, run } = await imported(1);
    before(world, 'DeleteItem', () => world.put('pets', { ...theirs, importId: run }), 1);
    expect(await resultOf(world, `pets remove --file ${file}`)).toMatchObject({
      exitCode: 4,
      removed: 0,
      kept: [{ line: 1 }],
    });
    expect(stored(world)).toEqual([{ ...theirs, importId: run }]);
  });

  // `explore` does not wait for the reading of a file. What the other does is one write, so these are all orders.
  test('never removes an animal that somebody else sells, at whatever moment, and whatever answer is lost', async () => {
    const orders = Array.from({ length: 6 }, (_, moment) =>
      (['answered', 'lostBefore', 'lostAfter'] as const).map((fate) => ({ moment, fate })),
    ).flat();
    for (const { moment, fate } of orders) {
      const { world, file, run } = await imported(1);
      const sold = { ...many(1)[0], status: 'sold', importId: run };
      let calls = 0;
      let isSold = false;
      world.meets = ({ service }) => {
        if (service !== 'DynamoDB') return 'answered';
        const isNow = (calls += 1) === moment;
        if (isNow && stored(world).length > 0) {
          world.put('pets', sold);
          isSold = true;
        }
        return isNow ? fate : 'answered';
      };
      const { exitCode } = await world.run(`pets remove --file ${file}`);
      expect([moment, fate, stored(world)]).toEqual([moment, fate, isSold ? [sold] : []]);
      expect(exitCode).toBe(isSold ? 4 : 0);
    }
  });

  test('asks in prod, with the number of animals and what has added them', async () => {
    const { world, file } = await imported(2);
    const refused = await world.run(`pets remove --file ${file} --stage prod`, { typed: ['n\n'] });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toMatch(
      /prod: Remove 2 animals of 2 in .*, which import_[0-9a-f]{16} has added\? \[y\/N\]/,
    );
    expect(stored(world)).toHaveLength(2);
    expect(await world.run(`pets remove --file ${file} --stage prod --yes`)).toMatchObject({ exitCode: 0 });
  });

  test.each([
    ['neither an animal nor a file', ''],
    ['both', '7 --file a.jsonl'],
    ['an animal and --dry-run', '7 --dry-run'],
    ['an animal and an import', '7 --added-by import_0123456789abcdef'],
    ['a file of animals without IDs', '--file FILE'],
  ])('refuses %s', async (_what, options) => {
    const file = await (await Folder.make()).write('new.jsonl', toJson({ name: 'Rex', categoryId: 7 }));
    const { exitCode, stdout } = await new World().run(`pets remove ${options.replace('FILE', file)}`);
    expect([exitCode, stdout]).toEqual([2, '']);
  });
});

describe('a run of an import', () => {
  test('that was stopped goes on under its ID, from the file beside it', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write(
      'animals.jsonl',
      many(60)
        .map((each) => `${toJson(each)}\n`)
        .join(''),
    );
    let writes = 0;
    world.meets = ({ operation }) =>
      operation === 'PutItem' && (writes += 1) === 30 ? 'denied' : 'answered';
    expect(await world.run(`pets import ${file}`)).toMatchObject({ exitCode: 1 });
    expect(existsSync(`${file}.import`)).toBe(true);
    world.wait(3_600);
    const { run } = await json<Result>(world, `pets import ${file}`);
    expect(new Set(stored(world).map(({ importId }) => importId))).toEqual(new Set([run]));
    expect(existsSync(`${file}.import`)).toBe(false);
    expect(await resultOf(world, `pets remove --file ${file}`)).toMatchObject({ exitCode: 0, removed: 60 });
  });

  test('of a file that was imported before is another one, and is undone alone', async () => {
    const { world, file, run: first } = await imported(5);
    await json(world, `pets remove ${many(1)[0]!.id}`);
    world.wait(86_400);
    const { run: second } = await json<Result>(world, `pets import ${file}`);
    const refused = await world.run(`pets remove --file ${file}`);
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain(`was imported 2 times. Choose with --added-by: `);
    const dryRun = `pets remove --file ${file} --dry-run`;
    expect((await world.run(dryRun)).stderr).toContain(`was imported 2 times. Choose with --added-by: `);
    const { runs } = await resultOf(world, dryRun);
    expect(runs).toHaveLength(2);
    expect(runs).toContainEqual({
      run: second,
      beganAt: expect.stringMatching(/^2026-07-02T12:00:0/) as string,
      animals: 1,
    });
    const undone = await resultOf(world, `pets remove --file ${file} --added-by ${second}`);
    expect(undone).toMatchObject({ exitCode: 4, removed: 1 });
    expect(stored(world).map(({ importId }) => importId)).toEqual([first, first, first, first]);
    expect(await resultOf(world, `pets remove --file ${file}`)).toMatchObject({ exitCode: 0, removed: 4 });
  });

  test('that was stopped in one stage does not go on in another', async () => {
    const world = new World();
    const folder = await Folder.make();
    const copy = await folder.write(
      'copy.jsonl',
      many(2)
        .map((each) => `${toJson(each)}\n`)
        .join(''),
    );
    const { importId } = await json<{ importId: string }>(world, `pets import ${copy} --dry-run`);
    for (const [table, goesOn] of [
      ['OtherPets', false],
      ['Pets', true],
    ] as const) {
      await folder.write('copy.jsonl.import', `${table} ${importId}-00000000\n`);
      const { run } = await json<Result>(world, `pets import ${copy}`);
      expect(run === `${importId}-00000000`).toBe(goesOn);
    }
  });
});
