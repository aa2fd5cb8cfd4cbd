import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { listPets } from '../../../functions/pets/store.ts';
import { putPets } from '../../../tools/contributors/local/put-pets.ts';
import { createTable } from '../../support/create-tables.ts';
import { allItems, allPets, deny, isWrite, newStore, put, type Store } from './support.ts';

const moment = Date.UTC(2026, 6, 1);
const id = newPetId(moment, 0);
const rex = { id, name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'available' } as const;

/** Lines of new animals, each with a name of its own. */
const linesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"name":"animal ${index + 1}","categoryId":7}\n`).join('');
const linesWithIds = (count: number) =>
  linesOf(count)
    .split('\n')
    .map((line, index) => line.replace('{', `{"id":${id + BigInt(index)},`))
    .join('\n');

async function fileWith({ folder }: Store, text: string, name = 'animals.jsonl'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** A file of new animals, with their IDs. */
async function newAnimals(store: Store, count: number): Promise<string> {
  const file = join(store.folder, 'animals.jsonl');
  const lines = await fileWith(store, linesOf(count), 'new.jsonl');
  expect(await store.json(['assign-ids', lines, file])).toEqual({ file, animals: count, assigned: count });
  return file;
}

const namesIn = async ({ table }: Store): Promise<string[]> =>
  (await allPets(table)).map((pet) => pet?.name ?? '').toSorted();
const namesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `animal ${index + 1}`).toSorted();

describe('assign-ids', () => {
  test('makes animals the newest ones, which the service then lists, finds and sorts', async () => {
    const store = await newStore();
    await put(store.table, rex);
    const file = await newAnimals(store, 60);
    expect(await store.json(['import', file])).toMatchObject({ animals: 60, created: 60, present: 0 });
    const { pets } = await listPets(store.table, { limit: 100 });
    expect(pets.map(({ name }) => name)).toEqual([
      ...Array.from({ length: 60 }, (_, index) => `animal ${60 - index}`),
      'Rex',
    ]);
    const newest = pets[0]!.id;
    expect(newest).toBeLessThan(newPetId(Date.now(), 0));
    expect(newest).toBeGreaterThan(newPetId(Date.now() - 3_660_000, 0));
  });

  test('keeps the IDs that lines have, and reads over blank lines and a byte-order mark', async () => {
    const store = await newStore();
    const lines = await fileWith(store, `\ufeff${linesOf(2)}\n \n${toJson(rex)}`);
    const file = join(store.folder, 'with ids.jsonl');
    const { stdout } = await store.run(['assign-ids', lines, file]);
    expect(stdout).toBe(`Wrote 3 animals to ${file}, 2 with a new ID.\n`);
    expect((await readFile(file, 'utf8')).split('\n').slice(2)).toEqual([toJson(rex), '']);
    expect(await allItems(store.table)).toEqual([]);
    // Other IDs would add each animal again.
    expect(await store.run(['assign-ids', lines, file])).toEqual({
      exitCode: 4,
      stdout: '',
      stderr: `${file} exists. Remove it, or choose another name.\n`,
    });
    const again = join(store.folder, 'again.jsonl');
    expect(await store.json(['assign-ids', file, again])).toMatchObject({ animals: 3, assigned: 0 });
    expect(await readFile(again, 'utf8')).toBe(await readFile(file, 'utf8'));
  });

  test('gives other IDs in every run, on another machine in the same millisecond, too', async () => {
    const store = await newStore();
    const lines = await fileWith(store, linesOf(3), 'new.jsonl');
    const ids = new Set<string>();
    for (const name of ['a.jsonl', 'b.jsonl']) {
      const file = join(store.folder, name);
      await store.json(['assign-ids', lines, file], { clock: () => moment });
      for (const [each] of (await readFile(file, 'utf8')).matchAll(/"id":\d+/g)) ids.add(each);
    }
    expect(ids.size).toBe(6);
  });

  test('gives no ID that the service gives, in the order of the lines', async () => {
    const store = await newStore();
    const lines = await fileWith(store, linesOf(5_000), 'new.jsonl');
    const file = join(store.folder, 'animals.jsonl');
    await store.json(['assign-ids', lines, file], { clock: () => moment });
    const found = [...(await readFile(file, 'utf8')).matchAll(/"id":(\d+)/g)].map(([, digits]) =>
      BigInt(digits!),
    );
    expect(found).toHaveLength(5_000);
    expect(found).toEqual([...new Set(found)].toSorted((a, b) => (a < b ? -1 : 1)));
    // The service gives those whose last 12 bits are below 2,048.
    expect(found.filter((each) => each % 4_096n < 2_048n)).toEqual([]);
    expect(found.at(-1)).toBeLessThan(id);
  });
});

describe('import', () => {
  test('that is stopped three times, run twice, and on two machines at once, adds each animal once', async () => {
    let writes = 0;
    let permitted = Infinity;
    const store = await newStore({
      answer: (incoming, outgoing) => isWrite(incoming) && (permitted -= 1) < 0 && deny(outgoing),
      // A third of the first answers is lost.
      losesAnswer: ({ headers }) =>
        String(headers['x-amz-target']).endsWith('PutItem') &&
        String(headers['amz-sdk-request']).startsWith('attempt=1') &&
        (writes += 1) % 3 === 0,
    });
    // More than can be added before the last stop.
    const file = await newAnimals(store, 200);
    const copy = join(store.folder, 'copy.jsonl');
    await copyFile(file, copy);
    // What is changed by a run that nobody hears of again is in the audit trail, too.
    expect(await store.crash(['import', file], 1)).toContain('began to import 200 animals');
    for (const writesOfRun of [60, 100]) {
      permitted = writesOfRun;
      const { exitCode, stderr } = await store.run(['import', file]);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('The import has stopped. The same command does what is missing.');
    }
    permitted = Infinity;
    const machines = await Promise.all([store.run(['import', file]), store.run(['import', copy])]);
    expect(machines).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
    expect(await namesIn(store)).toEqual(namesOf(200));
    expect(await store.json(['import', file])).toMatchObject({ created: 0, present: 200 });
    expect(await namesIn(store)).toEqual(namesOf(200));
  });

  test('that is repeated keeps a change made meanwhile', async () => {
    const store = await newStore();
    const file = await newAnimals(store, 40);
    await store.json(['import', file]);
    const sold = (await allPets(store.table))[2]?.id;
    await store.json(['set-status', String(sold), 'sold']);
    const { exitCode, stderr } = await store.run(['import', file]);
    expect(exitCode).toBe(4);
    expect(stderr).toContain(`Kept as stored: 1 animal whose line differs, line 3 (${sold}).`);
    expect((await allPets(store.table)).find((pet) => pet?.id === sold)?.status).toBe('sold');
  });

  test('ends at once with the number of a line that is far too long', { timeout: 20_000 }, async () => {
    const store = await newStore();
    const file = await fileWith(
      store,
      `{"name":"Rex","categoryId":7,"status":"${'x'.repeat(60_000_000)}"}\n\n{}\n`,
    );
    const { exitCode, stderr } = await store.run(['import', file]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${file}:1: is longer than 65,536 characters\n${file}:3: name: is required`);
  });

  test('refuses animals without an ID, which it could add twice', async () => {
    const store = await newStore();
    const file = await fileWith(store, `${toJson(rex)}\n${linesOf(2)}`);
    expect(await store.run(['import', file])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `${file} has 2 animals without an ID. Run "assign-ids ${file} NEW-FILE" first, and import the new file.\n`,
    });
    expect(await allItems(store.table)).toEqual([]);
  });

  test('reports every invalid line with its number, and then imports nothing', async () => {
    const store = await newStore();
    const lines = [
      '{"name":"Rex","categoryId":7}',
      '',
      '{"name":"Rex"}',
      'Rex',
      '{"id":5,"name":"Rex","categoryId":7}',
      '{"id":5,"name":"Rex","categoryId":7}',
    ];
    const file = await fileWith(store, lines.join('\n'));
    const { exitCode, stdout, stderr } = await store.run(['import', file]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      `${file}:3: categoryId: is required`,
      `${file}:4: is not JSON`,
      `${file}:6: id: is that of line 5`,
      `${file} has 3 invalid lines. Nothing was done. A line is one animal, such as {"name":"Rex","categoryId":7}.`,
      '',
    ]);
    expect(await allItems(store.table)).toEqual([]);
    const asJson = (await store.run(['import', file, '--json'])).stderr.split('\n');
    expect(JSON.parse(asJson[0] ?? '')).toEqual({ invalid: { line: 3, problem: 'categoryId: is required' } });
  });

  test('of a file that does not exist, is a folder, or has no animals, says so', async () => {
    const store = await newStore();
    const none = join(store.folder, 'none.jsonl');
    for (const [file, problem] of [
      [none, `ENOENT: no such file or directory, stat '${none}'.`],
      [store.folder, `${store.folder} is a folder.`],
      ['/dev/null', '/dev/null has no animals.'],
    ] as const)
      expect(await store.run(['import', file])).toEqual({ exitCode: 2, stdout: '', stderr: `${problem}\n` });
  });

  test('--dry-run only checks the lines', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesWithIds(3));
    expect((await store.run(['import', file, '--dry-run'])).stdout).toContain('3 animals');
    expect(await allItems(store.table)).toEqual([]);
    expect(await readdir(store.folder)).toEqual(['animals.jsonl']);
  });

  test('keeps an animal that exists with other values, and replaces malformed ones or all on demand', async () => {
    let writes = 0;
    const store = await newStore({
      // Every answer of a replacement is lost.
      losesAnswer: ({ headers }) =>
        String(headers['x-amz-target']).endsWith('UpdateItem') && (writes += 1) % 2 === 1,
    });
    const repaired = { id: 7n, name: 'No status', categoryId: 1n, status: 'pending' };
    const broken = { ...repaired, status: undefined, unknown: 'x' };
    await put(store.table, { ...rex, status: 'sold' }, broken);
    const text = `${toJson(rex)}\n${toJson(repaired)}\n`;
    const file = await fileWith(store, text);
    const kept = await store.run(['import', file, '--json']);
    expect(kept).toMatchObject({ exitCode: 4 });
    expect(JSON.parse(kept.stdout)).toMatchObject({ created: 0, kept: [{ line: 1 }, { line: 2, id: 7 }] });
    expect(await allPets(store.table)).toEqual([undefined, { ...rex, status: 'sold' }]);

    const { exitCode, stderr } = await store.run(['import', file, '--replace', 'malformed']);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/7 in local: replaced malformed: status/);
    expect(await allPets(store.table)).toEqual([repaired, { ...rex, status: 'sold' }]);

    const all = await store.json(['import', file, '--replace', 'all']);
    expect(all).toMatchObject({ created: 0, replaced: 1, present: 1 });
    expect(await allPets(store.table)).toEqual([repaired, rex]);
    expect(await store.json(['import', file, '--replace', 'all'])).toMatchObject({ replaced: 0, present: 2 });
    expect(await readdir(store.folder)).toEqual(['animals.jsonl']);
  });

  test('keeps to its rate', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesWithIds(100));
    let now = Date.now();
    const clock = () => now;
    const startedAt = now;
    const sleep = async (milliseconds: number) => void (now += milliseconds);
    await store.json(['import', file, '--rate', '10'], { clock, sleep });
    expect(now - startedAt).toBe(10_000);
  });

  test('asks in prod, with the number of animals', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesWithIds(3));
    const refused = await store.runInProd(['import', file], { interactive: true, input: 'n\n' });
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain(`prod: Import 3 animals from ${file}?`);
    expect(await allItems(store.table)).toEqual([]);
    const done = await store.runInProd(['import', file, '--yes']);
    expect(done).toMatchObject({ exitCode: 0 });
    expect(done.stderr).toContain('imported 3 created, 0 replaced');
  });
});

describe('export', () => {
  const awkward = 'a "quoted" \\ name\u2028with\u0085all\tthat 東京 👋';

  test('writes what import reads, exactly', async () => {
    const from = await newStore();
    const pets = [rex, { id: id + 1n, name: awkward, categoryId: -(2n ** 63n), status: 'sold' as const }];
    await put(from.table, ...pets);
    const file = join(from.folder, 'all.jsonl');
    expect(await from.json(['export', file])).toEqual({ file, exported: 2, malformed: 0 });
    expect(await readdir(from.folder)).toEqual(['all.jsonl']);
    const to = await newStore();
    await to.json(['import', file]);
    expect(await allPets(to.table)).toEqual(pets);
    expect((await from.run(['export', '-'])).stdout).toBe(await readFile(file, 'utf8'));
  });

  test('reports malformed items and leaves them out', async () => {
    const store = await newStore();
    await put(store.table, rex, { id: 7n, name: 'No status', categoryId: 1n });
    const file = join(store.folder, 'all.jsonl');
    const { stdout, stderr } = await store.run(['export', file]);
    expect(stdout).toBe(`Exported 1 animal to ${file}. Left out: 1 malformed item.\n`);
    expect(stderr).toContain('7 is malformed: status');
  });

  test('of several pages has each animal once, also after one that failed', async () => {
    let pages = 0;
    const store = await newStore({
      answer: ({ headers }, outgoing) =>
        /\.(Scan|Query)$/.test(String(headers['x-amz-target'])) && (pages += 1) === 2 && deny(outgoing),
    });
    const count = 1_100;
    const pets = Array.from({ length: count }, (_, index) => ({
      ...rex,
      id: id + BigInt(index),
      name: `animal ${index + 1}`,
    }));
    await putPets(store.table, pets);
    const file = join(store.folder, 'all.jsonl');
    expect(await store.run(['export', file])).toMatchObject({ exitCode: 1, stdout: '' });
    expect(pages).toBe(2);
    expect(await readdir(store.folder)).toEqual([]);
    expect(await store.json(['export', file])).toMatchObject({ exported: count });
    const names = (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name);
    expect(names.toSorted()).toEqual(namesOf(count));
    expect(await readdir(store.folder)).toEqual(['all.jsonl']);
  });

  test('does not overwrite a file', async () => {
    const store = await newStore();
    const file = await fileWith(store, 'mine');
    expect(await store.run(['export', file])).toMatchObject({ exitCode: 4 });
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  test('says what is wrong with the table or the folder', async () => {
    const store = await newStore();
    const file = join(store.folder, 'all.jsonl');
    for (const table of ['gone', 'not a name'])
      expect(await store.run(['export', file, '--table', table])).toEqual({
        exitCode: 3,
        stdout: '',
        stderr: `Table ${table} does not exist in this account and Region.\n`,
      });
    const keys = await createTable('apiKeys', store.table.client);
    expect(await store.run(['export', '-', '--table', keys.tableName])).toMatchObject({
      exitCode: 2,
      stderr: `Table ${keys.tableName} has no animals: its key is keyHash, not id.\n`,
    });
    const folder = join(store.folder, 'none');
    expect(await store.run(['export', join(folder, 'all.jsonl')])).toMatchObject({
      exitCode: 2,
      stderr: `ENOENT: no such file or directory, stat '${folder}'.\n`,
    });
    expect(await readdir(store.folder)).toEqual([]);
  });

  test('--table reads a restored table, whose animals import adds to the own one', async () => {
    const restored = await newStore();
    await put(restored.table, rex);
    const store = await newStore();
    const file = join(store.folder, 'restored.jsonl');
    await store.json(['export', file, '--table', restored.table.tableName]);
    await store.json(['import', file, '--replace', 'malformed']);
    expect(await allPets(store.table)).toEqual([rex]);
  });
});
