import { execFile } from 'node:child_process';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateTableCommand, DeleteTableCommand, DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { createPet, listPets } from '../../../functions/pets/store.ts';
import { putPets } from '../../../tools/bulk.ts';
import { rounds } from '../../support/rounds.ts';
import { createTable } from '../../support/dynamodb-tables.ts';
import { allItems, allPets, newStore, put, type Store } from './support.ts';

const moment = Date.UTC(2026, 6, 1);
const id = newPetId(moment, 0);
const rex = { id, name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'available' } as const;

/** Lines of new animals, each with a name of its own. */
const linesOf = (count: number, first = 1) =>
  Array.from({ length: count }, (_, index) => `{"name":"animal ${first + index}","categoryId":7}\n`).join('');

async function fileWith({ folder }: Store, text: string, name = 'animals.jsonl'): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

/** An import that fails at every write from this one on. */
async function importUntil({ run }: Store, file: string, write: number): Promise<void> {
  let writes = 0;
  const afterStep = () => {
    if ((writes += 1) >= write) throw new Error('Something broke');
  };
  expect(await run(['import', file], { afterStep })).toMatchObject({ exitCode: 1 });
}

const namesIn = async ({ table }: Store): Promise<string[]> =>
  (await allPets(table)).map((pet) => pet?.name ?? '').toSorted();
const namesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `animal ${index + 1}`).toSorted();

describe('import', () => {
  test('adds animals as the newest ones, which the service lists, finds and sorts', async () => {
    const store = await newStore();
    await put(store.table, rex);
    const file = await fileWith(store, linesOf(60));
    const result = await store.json(['import', file]);
    expect(result).toMatchObject({ lines: 60, done: 60, created: 60, present: 0, replaced: 0, kept: [] });
    const { pets } = await listPets(store.table, { limit: 100 });
    expect(pets.map(({ name }) => name)).toEqual([
      ...Array.from({ length: 60 }, (_, index) => `animal ${60 - index}`),
      'Rex',
    ]);
    const newest = pets[0]!.id;
    expect(newest).toBeLessThan(newPetId(Date.now(), 0));
    expect(newest).toBeGreaterThan(newPetId(Date.now() - 600_000, 0));
  });

  test('of the same file twice adds nothing', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(30));
    await store.json(['import', file]);
    expect(await store.json(['import', file])).toMatchObject({ done: 30, created: 0 });
    expect(await namesIn(store)).toEqual(namesOf(30));
  });

  test.each([26, 25, 1, 24, 59].slice(0, rounds({ full: 5, sample: 1 })))(
    'that is killed after %d writes is continued without duplicates',
    async (steps) => {
      const store = await newStore();
      const file = await fileWith(store, linesOf(60));
      await store.crash(['import', file], steps);
      expect((await store.json<{ created: number }>(['import', file])).created).toBeLessThanOrEqual(60);
      expect(await namesIn(store)).toEqual(namesOf(60));
    },
  );

  test('that is continued does not undo a change made meanwhile', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(40));
    await importUntil(store, file, 30);
    const sold = (await allPets(store.table))[0]?.id;
    await store.json(['set-status', String(sold), 'sold']);
    await store.json(['import', file]);
    expect(await namesIn(store)).toEqual(namesOf(40));
    expect((await allPets(store.table)).find((pet) => pet?.id === sold)?.status).toBe('sold');
  });

  test('continues with lines that were appended, and refuses other first lines', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(30));
    await store.json(['import', file]);
    await fileWith(store, linesOf(40));
    expect(await store.json(['import', file])).toMatchObject({ created: 10 });
    expect(await namesIn(store)).toEqual(namesOf(40));
    await fileWith(store, linesOf(40, 2));
    const refused = await store.run(['import', file]);
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain('The first 40 lines');
  });

  test('run twice at the same time is refused, and goes on after the other was killed', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(50));
    const kill = await store.pause(['import', file], 1);
    const link = join(store.folder, 'link.jsonl');
    await symlink(file, link);
    for (const path of [file, link])
      expect(await store.run(['import', path])).toEqual({
        exitCode: 4,
        stdout: '',
        stderr: `Another import of ${path} to local is running. Wait until it ends.\n`,
      });
    // Another file, or store, is not in its way.
    const other = await newStore();
    await other.json(['import', file]);
    expect(await namesIn(other)).toEqual(namesOf(50));
    await kill();
    await store.json(['import', file]);
    expect(await namesIn(store)).toEqual(namesOf(50));
    const runs = await Promise.all([other.run(['import', link]), other.run(['import', link])]);
    expect(runs.map(({ exitCode }) => exitCode)).toContain(0);
    expect(await namesIn(other)).toEqual(namesOf(50));
  });

  test('run twice from the first moment on adds each animal once', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(100));
    const runs = await Promise.all([store.run(['import', file]), store.run(['import', file])]);
    expect(new Set(runs.map(({ exitCode }) => exitCode))).toEqual(new Set([0, 4]));
    expect(await namesIn(store)).toEqual(namesOf(100));
  });

  test('gives no animal an ID that the service gave to another', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(5));
    const now = Date.now();
    // All IDs that the import would take.
    const block = newPetId(now, 0) - 4_096n;
    for (let offset = 0n; offset < 5n; offset += 1n) {
      const creation = { newId: () => block + offset, onCollision: () => {} };
      await createPet(store.table, { name: 'of the service', categoryId: 1n, status: 'sold' }, creation);
    }
    expect(await store.json(['import', file], { clock: () => now })).toMatchObject({ created: 5 });
    expect(await namesIn(store)).toEqual([
      ...namesOf(5),
      ...Array.from({ length: 5 }, () => 'of the service'),
    ]);
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
      `${file} has 3 invalid lines. Nothing was imported.`,
      '',
    ]);
    expect(await allItems(store.table)).toEqual([]);
    const asJson = (await store.run(['import', file, '--json'])).stderr.split('\n');
    expect(JSON.parse(asJson[0] ?? '')).toEqual({ invalid: { line: 3, problem: 'categoryId: is required' } });
  });

  test('of a file that does not exist, or has no animals, says so', async () => {
    const store = await newStore();
    const none = join(store.folder, 'none.jsonl');
    const stderr = `${none} does not exist.\n`;
    expect(await store.run(['import', none])).toEqual({ exitCode: 2, stdout: '', stderr });
    expect(await store.run(['import', await fileWith(store, '\n\n')])).toMatchObject({ exitCode: 2 });
  });

  test('of what can be read only once is refused: standard input, a pipe, a folder', async () => {
    const store = await newStore();
    const pipe = join(store.folder, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    for (const file of ['-', pipe, store.folder, '/dev/null'])
      expect(await store.run(['import', file])).toEqual({
        exitCode: 2,
        stdout: '',
        stderr: `${file} is not a regular file. An import reads it twice, and continues it after a stop: save its lines to a file.\n`,
      });
  });

  test('reads over a byte-order mark', async () => {
    const store = await newStore();
    const file = await fileWith(store, `\ufeff${linesOf(2)}`);
    expect(await store.json(['import', file])).toMatchObject({ created: 2 });
    // An editor has removed the mark, and a line was added.
    await fileWith(store, linesOf(3));
    expect(await store.json(['import', file])).toMatchObject({ created: 1 });
    expect(await namesIn(store)).toEqual(namesOf(3));
  });

  test('to another store, or to a table that was made again, adds every animal there', async () => {
    const [first, second] = [await newStore(), await newStore()];
    const file = await fileWith(first, linesOf(3));
    for (const store of [first, second])
      for (const created of [3, 0]) expect(await store.json(['import', file])).toMatchObject({ created });
    const { client, tableName } = first.table;
    const { Table: table } = await client.send(new DescribeTableCommand({ TableName: tableName }));
    await client.send(new DeleteTableCommand({ TableName: tableName }));
    await client.send(
      new CreateTableCommand({
        TableName: tableName,
        KeySchema: table?.KeySchema,
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
        BillingMode: 'PAY_PER_REQUEST',
      }),
    );
    expect(await first.json(['import', file])).toMatchObject({ created: 3 });
    for (const store of [first, second]) expect(await namesIn(store)).toEqual(namesOf(3));
  });

  test.each([30, 41])('says so if a file of 40 lines gets %d lines meanwhile', async (lines) => {
    const store = await newStore();
    // More than is read at once.
    const padded = (count: number) => linesOf(count).replaceAll('{', `{${' '.repeat(10_000)}`);
    const file = await fileWith(store, padded(40));
    let isChanged = false;
    const afterStep = async () => {
      if (isChanged) return;
      isChanged = true;
      await writeFile(file, padded(lines));
    };
    const { exitCode, stderr, stdout } = await store.run(['import', file], { afterStep });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain(`${file} was changed during the import.`);
    expect((await namesIn(store)).length).toBeLessThanOrEqual(40);
  });

  test('gives IDs by the time of AWS, and says that the clock of this machine is ahead', async () => {
    const store = await newStore({ awsTime: moment });
    const file = await fileWith(store, linesOf(2));
    const clock = () => moment + 3_600_000;
    const { stderr, exitCode } = await store.run(['import', file], { clock });
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      "The clock of this machine is 3,599 seconds ahead of AWS's. The animals get IDs by AWS's.",
    );
    const ids = (await allPets(store.table)).map((pet) => pet?.id ?? 0n);
    expect(ids.every((each) => each < newPetId(moment + 1_000, 0))).toBe(true);
    await put(store.table, { ...rex, id: newPetId(moment + 2_000, 0) });
    const { pets } = await listPets(store.table, { limit: 1 });
    expect(pets).toMatchObject([{ name: 'Rex' }]);
    const right = await store.run(['import', await fileWith(store, linesOf(2), 'right.jsonl')], {
      clock: () => moment + 500,
    });
    expect(right.stderr).not.toContain('clock');
  });

  test('--dry-run only checks the lines', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(3));
    expect((await store.run(['import', file, '--dry-run'])).stdout).toContain('3 animals');
    expect(await allItems(store.table)).toEqual([]);
    expect(await readdir(store.folder)).toEqual(['animals.jsonl']);
  });

  test('keeps an animal that exists with other values, and replaces malformed ones or all on demand', async () => {
    const store = await newStore();
    const broken = { id: 7n, name: 'No status', categoryId: 1n };
    const repaired = { ...broken, status: 'pending' };
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

  test('compares lines with an ID again when more is to be replaced, and adds the others once', async () => {
    const store = await newStore();
    await put(store.table, { ...rex, status: 'sold' });
    const file = await fileWith(store, `${linesOf(2)}${toJson(rex)}\n`);
    expect(await store.run(['import', file])).toMatchObject({ exitCode: 4 });
    const all = await store.json(['import', file, '--replace', 'all']);
    expect(all).toMatchObject({ created: 0, replaced: 1, present: 0 });
    expect(await store.json(['import', file, '--replace', 'all'])).toMatchObject({ done: 3, replaced: 0 });
    expect(await namesIn(store)).toEqual(['Rex', ...namesOf(2)]);
  });

  test('corrects one animal after another by a file of one line', async () => {
    const store = await newStore();
    await put(store.table, rex, { ...rex, id: id + 1n });
    const file = await fileWith(store, `${toJson({ ...rex, name: 'Max' })}\n`);
    await store.json(['import', file, '--replace', 'all']);
    // An earlier import of this file was stopped.
    await importUntil(store, await fileWith(store, toJson({ ...rex, id: id + 2n })), 1);
    await fileWith(store, `${toJson({ ...rex, id: id + 1n, name: 'Moritz' })}\n`);
    await store.json(['import', file, '--replace', 'all']);
    expect(await namesIn(store)).toEqual(['Max', 'Moritz', 'Rex']);
  });

  test('keeps to its rate', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(100));
    let now = Date.now();
    const clock = () => now;
    const startedAt = now;
    const sleep = async (milliseconds: number) => void (now += milliseconds);
    await store.json(['import', file, '--rate', '10'], { clock, sleep });
    expect(now - startedAt).toBe(10_000);
  });

  test('survives lost answers', async () => {
    let calls = 0;
    const store = await newStore({
      losesAnswer: ({ headers }) =>
        String(headers['x-amz-target']).endsWith('PutItem') && (calls += 1) % 3 === 0,
    });
    const file = await fileWith(store, linesOf(50));
    expect(await store.json(['import', file])).toMatchObject({ created: 50, present: 0 });
    expect(calls).toBeGreaterThan(50);
    expect(await namesIn(store)).toEqual(namesOf(50));
    const { stdout } = await store.run(['import', file]);
    expect(stdout).toBe(`${file} was imported before.\n`);
  });

  test('asks in prod, with the number of animals', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(3));
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

  test('that stops is continued, with each animal once', async () => {
    const store = await newStore();
    const fullPages = rounds({ full: 2, sample: 1 });
    const count = fullPages * 1_000 + 100;
    const pets = Array.from({ length: count }, (_, index) => ({
      ...rex,
      id: id + BigInt(index),
      name: `animal ${index + 1}`,
    }));
    await putPets(store.table, pets);
    const file = join(store.folder, 'all.jsonl');
    let pages = 0;
    const stopped = await store.run(['export', file], {
      afterStep: () => {
        pages += 1;
        if (pages === fullPages) throw new Error('The disk is full');
      },
    });
    expect(stopped).toMatchObject({ exitCode: 1, stdout: '' });
    // A torn line after the last progress.
    await writeFile(`${file}.part`, '{"id":1', { flag: 'a' });
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
    const keys = await createTable('ApiKeys', store.table.client);
    expect(await store.run(['export', '-', '--table', keys.tableName])).toMatchObject({
      exitCode: 2,
      stderr: `Table ${keys.tableName} has no animals: its key is keyHash, not id.\n`,
    });
    const folder = join(store.folder, 'none');
    expect(await store.run(['export', join(folder, 'all.jsonl')])).toMatchObject({
      exitCode: 2,
      stderr: `${folder} does not exist.\n`,
    });
    expect(await readdir(store.folder)).toEqual([]);
  });

  test('to one file twice at the same time is refused', async () => {
    const store = await newStore();
    await put(store.table, rex);
    const file = join(store.folder, 'all.jsonl');
    const runs = await Promise.all([store.run(['export', file]), store.run(['export', file])]);
    expect(new Set(runs.map(({ exitCode }) => exitCode))).toEqual(new Set([0, 4]));
    expect(await readFile(file, 'utf8')).toBe(`${toJson(rex)}\n`);
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
