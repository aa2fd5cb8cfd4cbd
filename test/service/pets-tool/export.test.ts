import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { json, malformed, many, rex, stored } from './stored-animals.ts';

// test/deployed/http/restored-table.test.ts exports other tables.

const awkward = 'a "quoted" \\ name\u2028with\u200dall\u3000that 東京 👋';

describe('export', () => {
  test('writes what import reads, exactly', async () => {
    const [from, folder] = [new World(), await Folder.make()];
    const pets = [rex, { id: rex.id + 1, name: awkward, categoryId: -(2n ** 63n), status: 'sold' }];
    for (const each of pets) from.put('pets', each);
    const file = folder.of('all.jsonl');
    expect(await json(from, `pets export ${file}`)).toEqual({ file, exported: 2, malformed: 0 });
    expect(await folder.names()).toEqual(['all.jsonl']);
    expect(await from.run('pets export -')).toMatchObject({
      exitCode: 0,
      stdout: await folder.read('all.jsonl'),
      stderr: '',
    });
    expect(await from.run('pets export -', { failsToWrite: true })).toMatchObject({ exitCode: 1 });
    const to = new World();
    await json(to, `pets import ${file}`);
    const importId = expect.stringMatching(/^import_/) as string;
    expect(stored(to)).toEqual(pets.map((each) => ({ ...each, importId })));
  });

  test('reports malformed items and leaves them out', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    world.put('pets', rex);
    world.put('pets', malformed);
    const file = folder.of('all.jsonl');
    const { stdout, stderr } = await world.run(`pets export ${file}`);
    expect(stdout).toBe(`Exported 1 animal to ${file}. Left out: 1 malformed item.\n`);
    expect(stderr).toContain('7 is malformed: status: is required\n');
    expect(await json(world, `pets export ${folder.of('again.jsonl')}`)).toMatchObject({ malformed: 1 });
  });

  test('of several pages has each animal once, also after one that failed', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    for (const each of many(40)) world.put('pets', each);
    let pages = 0;
    let denied = 2;
    world.meets = ({ operation, input }) => {
      if (operation !== 'Scan') return 'answered';
      // A page is about 100 KB, so that the capacity of a partition is left to the service.
      expect(input).toMatchObject({ Limit: 1_000 });
      pages += 1;
      return pages === denied ? 'denied' : 'shortPage';
    };
    const file = folder.of('all.jsonl');
    expect(await world.run(`pets export ${file}`)).toMatchObject({ exitCode: 1, stdout: '' });
    expect([pages, await folder.names()]).toEqual([2, []]);
    denied = Infinity;
    const { stdout, stderr } = await world.run(`pets export ${file}`);
    expect(stdout).toBe(`Exported 40 animals to ${file}.\n`);
    expect(pages).toBeGreaterThan(4);
    const progress = [...stderr.matchAll(/^(\d+) animals?$/gm)].map(([, count]) => Number(count));
    expect(progress).toHaveLength(pages - 3);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    const names = (await folder.read('all.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name);
    expect(names.toSorted()).toEqual(
      many(40)
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(await folder.names()).toEqual(['all.jsonl']);
  });

  test('does not overwrite a file, also one that is made meanwhile', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    await folder.write('mine.jsonl', 'mine');
    const calls: string[] = [];
    world.meets = ({ operation }) => {
      calls.push(operation);
      if (operation === 'Scan') writeFileSync(folder.of('made.jsonl'), 'made');
      return 'answered';
    };
    for (const file of [folder.of('mine.jsonl'), folder.of('made.jsonl')])
      expect(await world.run(`pets export ${file}`)).toMatchObject({
        exitCode: 4,
        stderr: `${file} exists. Remove it, or choose another name.\n`,
      });
    // The table is not read for nothing.
    expect(calls).toEqual(['DescribeStacks', 'DescribeStacks', 'Scan']);
    world.meets = () => 'answered';
    const two = folder.of('two.jsonl');
    world.put('pets', rex);
    const runs = await Promise.all([world.run(`pets export ${two}`), world.run(`pets export ${two}`)]);
    expect(runs.map(({ exitCode }) => exitCode)).toContain(0);
    expect((await folder.read('two.jsonl')).split('\n')).toHaveLength(2);
    expect([await folder.read('mine.jsonl'), await folder.read('made.jsonl')]).toEqual(['mine', 'made']);
    expect(await folder.names()).toEqual(['made.jsonl', 'mine.jsonl', 'two.jsonl']);
  });

  test('says that there is no such folder', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const none = folder.of('none');
    expect(await world.run(`pets export ${none}/all.jsonl`)).toMatchObject({
      exitCode: 2,
      stderr: `ENOENT: no such file or directory, stat '${none}'.\n`,
    });
    expect(await folder.names()).toEqual([]);
  });
});
