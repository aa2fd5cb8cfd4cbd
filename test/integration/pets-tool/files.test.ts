import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { createPet, listPets } from '../../../functions/pets/store.ts';
import { putPets } from '../../../tools/bulk.ts';
import { rounds } from '../../support/rounds.ts';
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

  test.each([25, 26, 1, 24, 59].slice(0, rounds({ full: 5, sample: 2 })))(
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
    await store.crash(['import', file], 30);
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

  test('run twice at the same time adds each animal once', async () => {
    const store = await newStore();
    const file = await fileWith(store, linesOf(50));
    await store.crash(['import', file], 1);
    const runs = await Promise.all([store.run(['import', file]), store.run(['import', file])]);
    expect(runs.some(({ exitCode }) => exitCode === 0)).toBe(true);
    expect(await namesIn(store)).toEqual(namesOf(50));
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
    const { exitCode, stderr } = await store.run(['import', join(store.folder, 'none.jsonl')]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('none.jsonl');
    expect(await store.run(['import', await fileWith(store, '\n\n')])).toMatchObject({ exitCode: 2 });
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
    await store.crash(['import', await fileWith(store, toJson({ ...rex, id: id + 2n }))], 1);
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
    await store.json(['import', file]);
    expect(await namesIn(store)).toEqual(namesOf(50));
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
    expect(stdout).toBe(`Exported 1 animals to ${file}. 1 malformed items were left out.\n`);
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
