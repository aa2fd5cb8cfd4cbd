import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';
import { putPets } from '../../../tools/contributors/local/put-pets.ts';
import { allItems, deny, isWrite, newStore, put, type Store } from './support.ts';

const id = newPetId(Date.UTC(2026, 6, 1), 0);
const rex = { id, name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'available' } as const;
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...rex, id: id + BigInt(index), name: `animal ${index}` }));

const nickname = 'export default ({ name, nickname }) => (nickname ? undefined : { nickname: `${name}!` });';

async function moduleWith({ folder }: Store, text: string, name = 'module.ts'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** A store in which someone else changes an animal just before its first write. */
function overtaken(change: (store: Store) => Promise<unknown>): Promise<Store> {
  let isChanged = false;
  const store = newStore({
    answer: async ({ headers }) => {
      if (!isChanged && String(headers['x-amz-target']).endsWith('UpdateItem')) {
        isChanged = true;
        await change(await store);
      }
      return false;
    },
  });
  return store;
}

describe('backfill', () => {
  test('sets what the module returns, once, and keeps every other attribute', async () => {
    const store = await newStore();
    const other = { weight: 3.5, born: 2020n, tags: new Set(['a', 'b']), nested: { list: [1n, null, 'x'] } };
    await put(store.table, { ...rex, ...other }, { ...rex, id: id + 1n, nickname: 'set before' });
    const before = await allItems(store.table);
    const file = await moduleWith(store, nickname);
    const run = await store.run(['backfill', file, '--json']);
    expect(JSON.parse(run.stdout)).toEqual({
      module: file,
      dryRun: false,
      animals: 2,
      toChange: 1,
      malformed: 0,
      examples: [{ id: Number(id), set: { nickname: 'Rex!' } }],
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
    expect(await allItems(store.table)).toEqual([{ ...before[0], nickname: 'Rex!' }, before[1]]);
    expect((await store.run(['backfill', file])).stdout).toBe('Changed 0 animals.\n');
  });

  test('writes nothing where the values are there already, whatever the module returns', async () => {
    const store = await newStore();
    await put(store.table, { ...rex, ageInMonths: 7n });
    const file = await moduleWith(store, 'export default (animal) => ({ ...animal, ageInMonths: 7 });');
    expect(await store.json(['backfill', file])).toMatchObject({ animals: 1, toChange: 0, changed: 0 });
  });

  test('removes an attribute that is null, and takes an async function in plain JavaScript', async () => {
    const store = await newStore();
    await put(store.table, { ...rex, oldName: 'x' });
    const text = 'export default async ({ oldName }) => ({ oldName: null, title: oldName });';
    await store.json(['backfill', await moduleWith(store, text, 'module.mjs')]);
    expect(await allItems(store.table)).toMatchObject([{ title: 'x' }]);
    expect((await allItems(store.table))[0]).not.toHaveProperty('oldName');
  });

  test('--dry-run says how many animals would change, and shows some of them', async () => {
    const store = await newStore();
    await putPets(store.table, many(30));
    const file = await moduleWith(
      store,
      'export default ({ categoryId }) => ({ categoryId: categoryId - 1n });',
    );
    const { exitCode, stdout } = await store.run(['backfill', file, '--dry-run']);
    const lines = stdout.trimEnd().split('\n');
    expect({ exitCode, last: lines.pop() }).toEqual({ exitCode: 0, last: 'To change: 30 animals of 30.' });
    expect(lines).toHaveLength(5);
    for (const line of lines)
      expect(line).toMatch(/^\d+ \(animal \d+, available\): \{"categoryId":9223372036854775806\}$/);
    expect(await store.json(['backfill', file, '--dry-run'])).toMatchObject({ toChange: 30, changed: 0 });
    expect(await allItems(store.table)).toMatchObject(many(30).map(({ name }) => ({ name })));
  });

  test.each([
    [
      'is sold',
      ({ table }: Store) => put(table, { ...rex, status: 'sold' }),
      { status: 'sold', nickname: 'Rex!' },
    ],
    [
      'is renamed',
      ({ table }: Store) => put(table, { ...rex, name: 'Max' }),
      { name: 'Max', nickname: 'Max!' },
    ],
    [
      'gets the attribute from someone else',
      ({ table }: Store) => put(table, { ...rex, nickname: 'theirs' }),
      { nickname: 'theirs' },
    ],
  ])('an animal that %s meanwhile stays so', async (_what, change, expected) => {
    const store = await overtaken(change);
    await put(store.table, rex);
    expect(await store.run(['backfill', await moduleWith(store, nickname)])).toMatchObject({ exitCode: 0 });
    expect(await allItems(store.table)).toMatchObject([expected]);
  });

  test('an animal that is removed meanwhile does not come back', async () => {
    const store = await overtaken(({ run }) => run(['remove', String(id)]));
    await put(store.table, rex);
    expect(await store.json(['backfill', await moduleWith(store, nickname)])).toMatchObject({ changed: 0 });
    expect(await allItems(store.table)).toEqual([]);
  });

  test('that is killed twice, meets lost answers and runs twice at once, changes each animal once', async () => {
    let writes = 0;
    const store = await newStore({
      losesAnswer: ({ headers }) =>
        String(headers['x-amz-target']).endsWith('UpdateItem') && (writes += 1) % 3 === 0,
    });
    await putPets(store.table, many(120));
    // Twice would be seen.
    const text = 'export default ({ name }) => (name.endsWith("!") ? undefined : { name: `${name}!` });';
    const file = await moduleWith(store, text);
    for (const steps of [1, 30]) await store.crash(['backfill', file], steps);
    const [first, second] = await Promise.all([store.run(['backfill', file]), store.run(['backfill', file])]);
    expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
    expect((await allItems(store.table)).map(({ name }) => name)).toEqual(
      many(120).map(({ name }) => `${name}!`),
    );
  });

  test('keeps to its rate, reports its progress, and counts only what it writes', async () => {
    const store = await newStore();
    await putPets(store.table, many(150));
    let now = Date.now();
    const startedAt = now;
    const file = await moduleWith(
      store,
      'export default ({ name }) => (Number(name.slice(7)) < 100 ? { nickname: name } : undefined);',
    );
    const { stderr } = await store.run(['backfill', file, '--rate', '10'], {
      clock: () => now,
      sleep: async (milliseconds) => void (now += milliseconds),
    });
    expect(now - startedAt).toBe(10_000);
    expect(stderr).toContain('75 of 100 animals\n');
  });

  test('leaves malformed items out, and names them', async () => {
    const store = await newStore();
    await put(store.table, rex, { id: 7n, name: 'No status' }, { ...rex, id: NumberValue.from('1.5') });
    const { stdout, stderr } = await store.run(['backfill', await moduleWith(store, nickname)]);
    expect(stdout).toBe('Changed 1 animal. Left out: 2 malformed items.\n');
    expect(stderr).toMatch(/^7 is malformed: .*status: is required$/m);
    expect(await allItems(store.table)).toMatchObject([
      { id: { value: '1.5' } },
      { id: { value: '7' } },
      { nickname: 'Rex!' },
    ]);
  });

  const at = (name: string) => ` (animal ${name})`;
  test.each([
    ['throws', 'export default () => { throw new Error("Oh\\n no"); };', 'the function threw "Oh no"'],
    ['rejects', 'export default () => Promise.reject("no");', 'the function threw "no"'],
    ['returns no object', 'export default () => true;', 'must return an object of attributes, or undefined'],
    [
      'returns undefined for one',
      'export default () => ({ a: undefined });',
      '"a" is undefined. Leave it out',
    ],
    ['changes the key', 'export default ({ id }) => ({ id: id + 1n });', '"id" cannot be changed'],
    ['removes the key', 'export default () => ({ id: null });', '"id" cannot be changed'],
    [
      'sets an unknown status',
      'export default () => ({ status: "lost" });',
      'could not read the animal: status:',
    ],
    [
      'removes a name',
      'export default () => ({ name: null });',
      'could not read the animal: name: is required',
    ],
    [
      'sets a fraction',
      'export default () => ({ categoryId: 1.5 });',
      'could not read the animal: categoryId:',
    ],
    [
      'sets text for a number',
      'export default () => ({ categoryId: "7" });',
      'could not read the animal: categoryId',
    ],
    [
      'returns what cannot be stored',
      'export default () => ({ at: new Date() });',
      '"at" cannot be stored: Unsupported',
    ],
  ])('refuses a module that %s, before anything is written', async (_what, text, problem) => {
    const store = await newStore();
    const pets = many(30);
    await putPets(store.table, pets);
    // The others are fine.
    const last = `const change = ${text.replace('export default ', '')}
      export default (animal) => animal.name === 'animal 29' ? change(animal) : { nickname: 'x' };`;
    const file = await moduleWith(store, last);
    const { exitCode, stdout, stderr } = await store.run(['backfill', file]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\.\n$/);
    expect(stderr.startsWith(`${file}: `)).toBe(true);
    expect(stderr).toContain(problem);
    expect(stderr).toContain(at(String(id + 29n)));
    expect((await allItems(store.table)).some((item) => 'nickname' in item)).toBe(false);
  });

  test.each([
    ['an import that fails', 'import "not-installed-here";', /cannot be loaded: Cannot find package/],
    ['no default export', 'export const change = 1;', /has no default export that is a function\.\n$/],
  ])('refuses a module with %s', async (_what, text, expected) => {
    const store = await newStore();
    const { exitCode, stderr } = await store.run(['backfill', await moduleWith(store, text, 'module.mjs')]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(expected);
  });

  test.each(['mjs', 'ts'])('refuses a module with a syntax error, in .%s', async (ending) => {
    const store = await newStore();
    const file = await moduleWith(store, 'export default () => {\n  return {;\n};', `module.${ending}`);
    // Vitest loads modules in its own way.
    const program = `
      import { loadChangeModule } from './tools/operators/pets/change-module.ts';
      await loadChangeModule(${JSON.stringify(file)}).catch(({ kind, message }) => console.log(kind, message));`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '--eval', program],
      {
        cwd: join(import.meta.dirname, '..', '..', '..'),
      },
    );
    expect(stdout).toMatch(/^usage \S.*module\.(mjs|ts) cannot be loaded: [^\n]+\n$/);
  });

  test('says that the module does not exist', async () => {
    const store = await newStore();
    const file = join(store.folder, 'none.ts');
    expect(await store.run(['backfill', file])).toMatchObject({
      exitCode: 2,
      stderr: `ENOENT: no such file or directory, stat '${file}'.\n`,
    });
  });

  test('says what was done if it stops half way', async () => {
    let writes = 0;
    const store = await newStore({
      answer: (incoming, outgoing) => isWrite(incoming) && (writes += 1) === 30 && deny(outgoing),
    });
    await putPets(store.table, many(60));
    const file = await moduleWith(store, nickname);
    const { exitCode, stderr } = await store.run(['backfill', file]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /The backfill has stopped\. The same command does what is missing\.\n.*backfilled \d\d animals\n/,
    );
    expect(await store.json(['backfill', file])).toMatchObject({ animals: 60 });
    expect((await allItems(store.table)).every((item) => 'nickname' in item)).toBe(true);
  });

  test('asks in prod, with the number of animals', async () => {
    const store = await newStore();
    await putPets(store.table, many(3));
    const file = await moduleWith(store, nickname);
    const refused = await store.runInProd(['backfill', file], { interactive: true, input: 'n\n' });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain(`prod: Change 3 animals of 3 with ${file}? [y/N]`);
    expect((await allItems(store.table)).some((item) => 'nickname' in item)).toBe(false);
    expect(await store.runInProd(['backfill', file, '--yes'])).toMatchObject({ exitCode: 0 });
  });
});
