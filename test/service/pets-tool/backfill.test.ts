import { describe, expect, test } from 'vitest';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { before, json, malformed, many, rex, stored } from './stored-animals.ts';

const nickname =
  'export default ({ name, title = "", nickname }) => (nickname ? undefined : { nickname: `${title}${name}!` });';

/** Most tests write a field that animals do not have. */
const any = ' --allow-invalid';

/** Makes a world with these animals, and a module for the command. */
async function prepare(text: string, animals: readonly object[], name = 'module.ts') {
  const [world, folder] = [new World(), await Folder.make()];
  for (const each of animals) world.put('pets', each);
  return { world, file: await folder.write(name, text) };
}

describe('backfill', () => {
  test('sets what the module returns, once, and keeps every other attribute', async () => {
    const other = { weight: 3.5, born: 2020, tags: new Set(['a', 'b']), nested: { list: [1, null, 'x'] } };
    const animals = [
      { ...rex, ...other },
      { ...rex, id: rex.id + 1, nickname: 'set before' },
    ];
    const { world, file } = await prepare(nickname, animals);
    const run = await world.run(`pets backfill ${file}${any} --json`);
    expect(JSON.parse(run.stdout)).toEqual({
      module: file,
      dryRun: false,
      animals: 2,
      toChange: 1,
      malformed: 0,
      examples: [{ id: rex.id, set: { nickname: 'Rex!' } }],
      changed: 1,
    });
    const audits = run.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(audits).toMatchObject([
      { audit: { did: 'began to backfill', detail: '1 animal', file } },
      { audit: { did: 'backfilled', detail: '1 animal', file } },
    ]);
    expect(stored(world)).toEqual([{ ...animals[0], nickname: 'Rex!' }, animals[1]]);
    expect(await world.run(`pets backfill ${file}${any}`)).toMatchObject({
      exitCode: 0,
      stdout: 'Changed 0 animals.\n',
      stderr:
        'Nothing to change. If that is unexpected: whole numbers are bigint, so compare with 7n, not with 7.\n',
    });
  });

  test('gives modules exact numbers, and writes nothing where the values are there already', async () => {
    const text = `export default (animal) => {
      if (animal.id !== ${rex.id}n || animal.categoryId !== 2n ** 63n - 1n || animal.weight !== 3.5) throw new Error();
      return { ...animal, ageInMonths: 7 };
    };`;
    const { world, file } = await prepare(text, [{ ...rex, ageInMonths: 7, weight: 3.5 }]);
    expect(await json(world, `pets backfill ${file}${any}`)).toMatchObject({
      animals: 1,
      toChange: 0,
      changed: 0,
    });
  });

  test('removes an attribute that is null, and takes an async function in plain JavaScript', async () => {
    const text =
      'export default async ({ oldName, title = oldName }) => ({ oldName: null, title, note: "" });';
    const { world, file } = await prepare(text, [{ ...rex, oldName: 'x' }], 'module.mjs');
    await json(world, `pets backfill ${file}${any}`);
    expect(stored(world)).toEqual([{ ...rex, title: 'x', note: '' }]);
  });

  test('--dry-run says how many animals would change, and shows some of them', async () => {
    const text = String.raw`export default () => ({ categoryId: 9223372036854775806n, note: '\u202e' });`;
    const { world, file } = await prepare(text, many(30));
    const { exitCode, stdout } = await world.run(`pets backfill ${file}${any} --dry-run`);
    const lines = stdout.trimEnd().split('\n');
    expect({ exitCode, last: lines.pop() }).toEqual({ exitCode: 0, last: 'To change: 30 animals of 30.' });
    expect(lines).toHaveLength(5);
    for (const line of lines)
      expect(line).toMatch(
        /^\d+ \(animal \d+, available\): \{"categoryId":9223372036854775806,"note":"\\u202e"\}$/,
      );
    expect(await json(world, `pets backfill ${file}${any} --dry-run`)).toMatchObject({
      toChange: 30,
      changed: 0,
    });
    expect(stored(world)).toEqual(many(30));
  });

  test('checks a table of several pages, and says how far it is', async () => {
    const { world, file } = await prepare(nickname, many(30));
    world.meets = ({ operation }) => (operation === 'Scan' ? 'shortPage' : 'answered');
    const { stderr, stdout } = await world.run(`pets backfill ${file}${any}`);
    expect(stdout).toBe('Changed 30 animals.\n');
    expect(stderr).toMatch(/^Checked [1-9]\d* animals?\n/);
    expect(stored(world).every((each) => 'nickname' in each)).toBe(true);
  });

  test.each([
    ['is sold', { ...rex, status: 'sold' }, 1, { ...rex, status: 'sold', nickname: 'Rex!' }],
    ['is renamed', { ...rex, name: 'Max' }, 1, { ...rex, name: 'Max', nickname: 'Max!' }],
    [
      'gets the attribute from someone else',
      { ...rex, nickname: 'theirs' },
      0,
      { ...rex, nickname: 'theirs' },
    ],
    ['gets another title', { ...rex, title: 'Dr' }, 1, { ...rex, title: 'Dr', nickname: 'DrRex!' }],
    ['is damaged', { ...rex, name: 1 }, 0, { ...rex, name: 1 }],
  ])('an animal that %s meanwhile stays so', async (_what, theirs, changed, expected) => {
    const { world, file } = await prepare(nickname, [{ ...rex, title: 'Mr' }]);
    before(world, 'UpdateItem', () => world.put('pets', theirs), 1);
    expect(await json(world, `pets backfill ${file}${any}`)).toMatchObject({ changed });
    expect(stored(world)).toEqual([expected]);
  });

  test('an animal that is removed meanwhile does not come back', async () => {
    const { world, file } = await prepare(nickname, [rex]);
    before(world, 'UpdateItem', () => world.tables.delete('Pets', { id: { N: String(rex.id) } }), 1);
    const { stdout, stderr } = await world.run(`pets backfill ${file}${any}`);
    expect([stdout, stored(world)]).toEqual(['Changed 0 animals.\n', []]);
    expect(stderr).not.toContain('backfilled');
  });

  test('that is cut off twice, meets lost answers and runs twice at once, changes each animal once', async () => {
    // Twice would be seen.
    const text = 'export default ({ name }) => (name.endsWith("!") ? undefined : { name: `${name}!` });';
    const { world, file } = await prepare(text, many(120));
    let writes = 0;
    let permitted = 0;
    world.meets = ({ operation }) => {
      if (operation !== 'UpdateItem') return 'answered';
      if ((permitted -= 1) < 0) return 'hungBefore';
      return (writes += 1) % 3 === 0 ? 'lostAfter' : 'answered';
    };
    for (const writesOfRun of [1, 30]) {
      permitted = writesOfRun;
      expect(await world.run(`pets backfill ${file}${any}`)).toMatchObject({ exitCode: 1 });
    }
    permitted = Infinity;
    const runs = await Promise.all([
      world.run(`pets backfill ${file}${any}`),
      world.run(`pets backfill ${file}${any}`),
    ]);
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(stored(world).map(({ name }) => name)).toEqual(many(120).map(({ name }) => `${name}!`));
  });

  test('keeps to its rate, reports its progress, and counts only what it writes', async () => {
    const text =
      'export default ({ name }) => (Number(name.slice(7)) <= 100 ? { nickname: name } : undefined);';
    const { world, file } = await prepare(text, many(150));
    const { now } = world;
    const { stderr } = await world.run(`pets backfill ${file}${any} --rate 10`);
    expect(world.now - now).toBe(10);
    expect(stderr).toContain('75 of 100 animals\n');
  });

  test('leaves malformed items out, and names them', async () => {
    const items = [{ ...rex, id: 1.5 }, malformed, rex];
    const { world, file } = await prepare(nickname, items);
    const { stdout, stderr } = await world.run(`pets backfill ${file}${any}`);
    expect(stdout).toBe('Changed 1 animal. Left out: 2 malformed items.\n');
    expect(stderr).toMatch(/^7 is malformed: status: is required$/m);
    expect(stored(world)).toEqual([...items.slice(0, 2), { ...rex, nickname: 'Rex!' }]);
  });

  test.each([
    ['throws', '() => { throw new Error("Oh\\n no"); }', 'the function threw "Oh no"'],
    ['rejects', '() => Promise.reject("no")', 'the function threw "no"'],
    ['returns no object', '() => true', 'must return an object of attributes, or undefined'],
    ['returns undefined for one', '() => ({ a: undefined })', '"a" is undefined. Leave it out'],
    ['changes the key', '({ id }) => ({ id: id + 1n })', '"id" cannot be changed'],
    ['removes the key', '() => ({ id: null })', '"id" cannot be changed'],
    ['sets an unknown status', '() => ({ status: "lost" })', 'could not read the animal: status:'],
    ['removes a name', '() => ({ name: null })', 'could not read the animal: name: is required'],
    ['sets a fraction', '() => ({ categoryId: 1.5 })', 'could not read the animal: categoryId:'],
    ['sets text for a number', '() => ({ categoryId: "7" })', 'could not read the animal: categoryId'],
    ['returns a Date', '() => ({ at: new Date() })', '"at" cannot be stored: Unsupported'],
  ])('refuses a module that %s, before anything is written', async (_what, change, problem) => {
    // The others are fine.
    const text = `const change = ${change};
      export default (animal) => animal.name === 'animal 3' ? change(animal) : { nickname: 'x' };`;
    const { world, file } = await prepare(text, many(3));
    const { exitCode, stdout, stderr } = await world.run(`pets backfill ${file}${any}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\.\n$/);
    expect(stderr.startsWith(`${file}: `)).toBe(true);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(` (animal ${rex.id + 2})`);
    expect(stored(world)).toEqual(many(3));
  });

  test.each([
    ['an import that fails', 'mjs', 'import "not-installed-here";', /cannot be loaded: Cannot find package/],
    ['no default export', 'mjs', 'export const change = 1;', /has no default export that is a function\.\n$/],
    ['a syntax error', 'mjs', 'export default () => {\n  return {;\n};', /cannot be loaded: [^\n]+\n$/],
    ['a syntax error', 'ts', 'export default () => {\n  return {;\n};', /cannot be loaded: [^\n]+\n$/],
  ])('refuses a module with %s, in .%s', async (_what, ending, text, expected) => {
    const { world, file } = await prepare(text, [rex], `module.${ending}`);
    const { exitCode, stderr } = await world.run(`pets backfill ${file}${any}`);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(expected)]);
    expect(stderr).toMatch(/^[^\n]+\n$/);
  });

  test('says that the module does not exist', async () => {
    const file = (await Folder.make()).of('none.ts');
    expect(await new World().run(`pets backfill ${file}${any}`)).toMatchObject({
      exitCode: 2,
      stderr: `ENOENT: no such file or directory, stat '${file}'.\n`,
    });
  });

  test('says what was done if it stops half way', async () => {
    const { world, file } = await prepare(nickname, many(60));
    let writes = 0;
    world.meets = ({ operation }) =>
      operation === 'UpdateItem' && (writes += 1) === 30 ? 'denied' : 'answered';
    const { exitCode, stderr } = await world.run(`pets backfill ${file}${any}`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /The backfill has stopped\. The same command does what is missing\.\n.*backfilled 49 animals\n/,
    );
    expect(await json(world, `pets backfill ${file}${any}`)).toMatchObject({ animals: 60, changed: 11 });
    expect(stored(world).every((item) => 'nickname' in item)).toBe(true);
  });

  test('asks in prod, with the number of animals', async () => {
    const { world, file } = await prepare(nickname, many(3));
    const refused = await world.run(`pets backfill ${file}${any} --stage prod`, { typed: ['n\n'] });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain(`prod: Change 3 animals of 3 with ${file}? [y/N]`);
    expect(stored(world)).toEqual(many(3));
    expect(await world.run(`pets backfill ${file}${any} --stage prod --yes`)).toMatchObject({ exitCode: 0 });
  });

  const more = (field: string) =>
    `the function would change "${field}" once more. Return undefined for an animal that is changed already`;
  test.each([
    ['adds to the name', '({ name }) => ({ name: `${name} !` })', more('name')],
    ['makes the name too long', '({ name }) => ({ name: name.repeat(20) })', more('name')],
    ['counts down', '({ categoryId }) => ({ categoryId: categoryId - 1n })', more('categoryId')],
    ['swaps', '({ status }) => ({ status: status === "sold" ? "pending" : "sold" })', more('status')],
    ['is random', '() => ({ name: String(Math.random()) })', more('name')],
    ['removes what it has set', '({ old }) => ({ old: old ? null : "x" })', more('old')],
    [
      'sets what it removes',
      '({ name, old = name }) => (old === "x" ? { name: undefined } : { name: "y", old: "x" })',
      '"name" is undefined. Leave it out, or use null to remove it',
    ],
    [
      'throws',
      '({ status }) => { if (status === "sold") throw "no"; return { status: "sold" }; }',
      'the function threw "no"',
    ],
  ])('refuses a module that %s in a second run', async (_what, change, problem) => {
    // The others are fine.
    const text = `const change = ${change};
      export default (animal) => animal.id === ${rex.id + 2}n ? change(animal) : { nickname: 'x' };`;
    const { world, file } = await prepare(text, many(3));
    for (const options of ['', ' --dry-run'])
      expect(await world.run(`pets backfill ${file}${any}${options}`)).toMatchObject({
        exitCode: 2,
        stdout: '',
        stderr: `${file}: in a second run, ${problem} (animal ${rex.id + 2}).\n`,
      });
    expect(stored(world)).toEqual(many(3));
  });

  test.each([
    [
      'a field that animals do not have',
      '() => ({ statsu: "sold" })',
      'an animal has no field "statsu", but name, categoryId, status',
    ],
    [
      'an attribute of the store',
      '() => ({ addedBy: "key_06fz1m4tqabcdefg" })',
      'an animal has no field "addedBy"',
    ],
    [
      'a name that is too long',
      '() => ({ name: "x".repeat(256) })',
      '"name" must be at most 255 characters long',
    ],
    ['an empty name', '() => ({ name: " " })', '"name" must not be empty'],
  ])('refuses %s, in a dry run too, unless a flag allows it', async (_what, change, problem) => {
    const { world, file } = await prepare(`export default ${change};`, [rex]);
    for (const options of ['', ' --dry-run']) {
      const { exitCode, stdout, stderr } = await world.run(`pets backfill ${file}${options}`);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(problem);
      expect(stderr).toContain(`To write it nevertheless, add --allow-invalid (animal ${rex.id}).`);
    }
    expect(stored(world)).toEqual([rex]);
    expect(await json(world, `pets backfill ${file} --allow-invalid`)).toMatchObject({ changed: 1 });
  });

  test('changes fields of the schema, and removes any, without a flag', async () => {
    const text = 'export default () => ({ name: "Max", categoryId: 7n, status: "sold", old: null });';
    const { world, file } = await prepare(text, [{ ...rex, old: 1 }]);
    expect(await json(world, `pets backfill ${file}`)).toMatchObject({ changed: 1 });
    expect(stored(world)).toEqual([{ ...rex, name: 'Max', categoryId: 7, status: 'sold' }]);
  });
});
