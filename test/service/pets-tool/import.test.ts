import { spawnSync } from 'node:child_process';
import { copyFile, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { json, malformed, many, rex, stored } from './stored-animals.ts';

/** Lines of new animals, each with a name of its own. */
const linesOf = (count: number) =>
  Array.from({ length: count }, (_, index) => `{"name":"animal ${index + 1}","categoryId":7}\n`).join('');
const linesWithIds = (count: number) =>
  many(count)
    .map((each) => `${toJson(each)}\n`)
    .join('');
const names = (world: World) => stored(world).map(({ name }) => name);
const namesOf = (count: number) => many(count).map(({ name }) => name);

/** A file of new animals, with their IDs. */
async function newAnimals(world: World, folder: Folder, count: number): Promise<string> {
  const lines = await folder.write('new.jsonl', linesOf(count));
  const file = folder.of('animals.jsonl');
  const result = { file, animals: count, assigned: count };
  expect(await json(world, `pets assign-ids ${lines} ${file}`)).toEqual(result);
  return file;
}

const hasJq = spawnSync('jq', ['--version']).status === 0;

describe.runIf(hasJq)('the command in docs/animals.md for a CSV file', () => {
  const convert = async (csv: string) => {
    const folder = await Folder.make();
    await folder.write('pets.csv', csv);
    const page = await readFile('docs/animals.md', 'utf8');
    const command = page.split('```').find((block) => block.includes('pets.csv'))!;
    const { status } = spawnSync('bash', ['-eo', 'pipefail', '-c', command.slice('sh'.length)], {
      cwd: folder.of(''),
    });
    return { folder, status };
  };

  test('keeps every digit, and any text', async () => {
    const { folder, status } = await convert('\ufeffRex,9223372036854775807,sold\r\nZoë \\,-7,available\r\n');
    expect(status).toBe(0);
    const world = new World();
    const [lines, file] = [folder.of('new.jsonl'), folder.of('animals.jsonl')];
    await json(world, `pets assign-ids ${lines} ${file}`);
    expect(await json(world, `pets import ${file}`)).toMatchObject({ created: 2 });
    expect(stored(world).map(({ name, categoryId, status: of }) => [name, categoryId, of])).toEqual([
      ['Rex', 9_223_372_036_854_775_807n, 'sold'],
      ['Zoë \\', -7, 'available'],
    ]);
  });

  test.each(['"Rex",7,sold', 'Rex,7', 'Rex,7,sold,young'])('ends at the line %s', async (line) => {
    expect((await convert(`Rex,7,sold\n${line}\n`)).status).not.toBe(0);
  });

  test.each(['1e3', '7.0', '', 'seven'])('does not make %j a category', async (categoryId) => {
    const { folder, status } = await convert(`Rex,${categoryId},sold\n`);
    expect(status).toBe(0);
    const { exitCode } = await new World().run(
      `pets assign-ids ${folder.of('new.jsonl')} ${folder.of('animals.jsonl')}`,
    );
    expect(exitCode).toBe(2);
  });
});

describe('assign-ids', () => {
  test('makes animals the newest ones, which the service then lists, finds and sorts', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    world.put('pets', rex);
    const file = await newAnimals(world, folder, 60);
    expect(await json(world, `pets import ${file}`)).toMatchObject({ animals: 60, created: 60, present: 0 });
    const { pets } = await json<{ pets: { id: number; name: string }[] }>(world, 'pets list --limit 100');
    expect(pets.map(({ name }) => name)).toEqual([...namesOf(60).toReversed(), 'Rex']);
    const newest = BigInt(pets[0]!.id);
    expect(newest).toBeLessThan(newPetId(world.now * 1_000, 0));
    expect(newest).toBeGreaterThan(newPetId((world.now - 3_660) * 1_000, 0));
  });

  test('keeps the IDs that lines have, and reads over blank lines and a byte-order mark', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const lines = await folder.write('new.jsonl', `\ufeff${linesOf(2)}\n \r\n${toJson(rex)}`);
    const file = folder.of('with-ids.jsonl');
    const { stdout } = await world.run(`pets assign-ids ${lines} ${file}`);
    expect(stdout).toBe(`Wrote 3 animals to ${file}, 2 with a new ID.\n`);
    const written = await folder.read('with-ids.jsonl');
    expect(written.split('\n').slice(2)).toEqual([toJson(rex), '']);
    expect(written).toMatch(/^\{"id":\d+,"name":"animal 1","categoryId":7,"status":"available"\}\n/);
    expect(stored(world)).toEqual([]);
    // Other IDs would add each animal again.
    expect(await world.run(`pets assign-ids ${lines} ${file}`)).toMatchObject({
      exitCode: 4,
      stdout: '',
      stderr: `${file} exists. Remove it, or choose another name.\n`,
    });
    const again = `pets assign-ids ${file} ${folder.of('again.jsonl')}`;
    expect(await json(world, again)).toMatchObject({ animals: 3, assigned: 0 });
    expect(await folder.read('again.jsonl')).toBe(written);
  });

  test('gives other IDs in every run, on another machine in the same millisecond, too', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const lines = await folder.write('new.jsonl', linesOf(3));
    const { now } = world;
    const ids = new Set<string>();
    for (const name of ['a.jsonl', 'b.jsonl']) {
      world.now = now;
      await json(world, `pets assign-ids ${lines} ${folder.of(name)}`);
      for (const [each] of (await folder.read(name)).matchAll(/"id":\d+/g)) ids.add(each);
    }
    expect(ids.size).toBe(6);
  });
});

describe('import', () => {
  test('that is stopped, cut off, run twice and on two machines at once, adds each animal once', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await newAnimals(world, folder, 90);
    const copy = folder.of('copy.jsonl');
    await copyFile(file, copy);
    const lost = new Set<string>();
    let writes = 0;
    let permitted = 1;
    world.meets = ({ operation, input }) => {
      if (operation !== 'PutItem') return 'answered';
      if ((permitted -= 1) < 0) return 'hungBefore';
      const text = JSON.stringify(input);
      // A third of the first answers is lost.
      if (lost.has(text) || (writes += 1) % 3 > 0) return 'answered';
      lost.add(text);
      return 'lostAfter';
    };
    // What is changed by a run that nobody hears of again is in the audit trail, too.
    expect((await world.run(`pets import ${file}`)).stderr).toMatch(
      /^[^\n]+: began to import 90 animals, as import_[-\w]+\n/,
    );
    for (const writesOfRun of [30, 50]) {
      permitted = writesOfRun;
      const { exitCode, stderr } = await world.run(`pets import ${file}`);
      expect(exitCode).toBe(1);
      expect(stderr).toContain('The import has stopped. The same command does what is missing.');
    }
    permitted = Infinity;
    const machines = await Promise.all([world.run(`pets import ${file}`), world.run(`pets import ${copy}`)]);
    expect(machines).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }]);
    expect(names(world)).toEqual(namesOf(90));
    expect(await json(world, `pets import ${file}`)).toMatchObject({ created: 0, present: 90 });
    expect(names(world)).toEqual(namesOf(90));
  });

  test('that is refused half way says what it has done, once all that it has begun has ended', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(60));
    let writes = 0;
    world.meets = ({ operation }) => {
      if (operation !== 'PutItem' || (writes += 1) <= 25) return 'answered';
      return writes === 26 ? 'denied' : writes <= 30 ? 'throttled' : 'answered';
    };
    const { exitCode, stderr } = await world.run(`pets import ${file}`);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/: imported 49 created, 0 replaced\n.*[^\n]+\n$/s);
    expect(stored(world)).toHaveLength(49);
  });

  test('that is repeated keeps a change made meanwhile', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await newAnimals(world, folder, 4);
    await json(world, `pets import ${file}`);
    const sold = String(stored(world)[2]!['id']);
    await json(world, `pets set-status ${sold} sold`);
    const { exitCode, stderr } = await world.run(`pets import ${file}`);
    expect(exitCode).toBe(4);
    expect(stderr).toContain(`Kept as stored: 1 animal whose line differs, line 3 (${sold}).`);
    expect(stderr).not.toContain('imported');
    expect(stored(world)[2]).toMatchObject({ status: 'sold' });
  });

  test('names the first of many animals that it keeps, in the order of the lines', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    for (const each of many(30)) world.put('pets', { ...each, status: 'sold' });
    const file = await folder.write('animals.jsonl', linesWithIds(30));
    const { stderr } = await world.run(`pets import ${file}`);
    expect(stderr).toContain('Kept as stored: 30 animals whose line differs, line 1 (');
    expect([...stderr.matchAll(/line (\d+) \(/g)].map(([, line]) => Number(line))).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test('refuses animals without an ID, which it could add twice', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', `${toJson(rex)}\n${linesOf(2)}`);
    expect(await world.run(`pets import ${file}`)).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: `${file} has 2 animals without an ID. Run "assign-ids ${file} NEW-FILE" first, and import the new file.\n`,
    });
    expect(stored(world)).toEqual([]);
  });

  test('reports every invalid line with its number, and then imports nothing', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const animal = '{"id":5,"name":"Rex","categoryId":7}';
    const lines = [animal, '', '{"name":"Rex"}', 'Rex', animal, animal.replace('name', String.raw`n\u202e`)];
    const file = await folder.write('animals.jsonl', lines.join('\n'));
    const { exitCode, stdout, stderr } = await world.run(`pets import ${file}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      `${file}:3: categoryId: is required`,
      `${file}:4: is not JSON`,
      `${file}:5: id: is that of line 1`,
      String.raw`${file}:6: name: is required; has the unknown field "n\u202e"`,
      `${file} has 4 invalid lines. Nothing was done. A line is one animal, such as {"name":"Rex","categoryId":7}.`,
      '',
    ]);
    expect(stored(world)).toEqual([]);
    const [first = ''] = (await world.run(`pets import ${file} --json`)).stderr.split('\n');
    expect(JSON.parse(first)).toEqual({ invalid: { line: 3, problem: 'categoryId: is required' } });
    await folder.write('animals.jsonl', 'x\n'.repeat(25));
    const { stderr: all } = await world.run(`pets import ${file}`);
    expect([all.match(/is not JSON/g)!.length, all]).toEqual([
      20,
      expect.stringContaining('25 invalid lines'),
    ]);
    await folder.write('animals.jsonl', `${animal}\nx`);
    expect((await world.run(`pets import ${file}`)).stderr).toContain(`${file} has 1 invalid line.`);
  });

  test('refuses an ID that the service will give to another animal', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const lineAt = (seconds: number) => toJson({ ...rex, id: newPetId((world.now + seconds) * 1_000, 0) });
    // Clocks can differ by five minutes.
    const file = await folder.write('animals.jsonl', lineAt(290));
    expect(await world.run(`pets import ${file}`)).toMatchObject({ exitCode: 0 });
    await folder.write('animals.jsonl', lineAt(310));
    const { exitCode, stderr } = await world.run(`pets import ${file}`);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(':1: id: is of a moment in the future')]);
  });

  test('of a file that does not exist, is a folder, or has no animals, says so', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const none = folder.of('none.jsonl');
    for (const [file, problem] of [
      [none, `ENOENT: no such file or directory, stat '${none}'.`],
      [folder.path, `${folder.path} is a folder.`],
      ['/dev/null', '/dev/null has no animals.'],
    ])
      expect(await world.run(`pets import ${file}`)).toMatchObject({
        exitCode: 2,
        stdout: '',
        stderr: `${problem}\n`,
      });
  });

  test('--dry-run only checks the lines', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(3));
    expect(await world.run(`pets import ${file} --dry-run`)).toMatchObject({
      exitCode: 0,
      stdout: `3 animals in ${file}. Nothing was imported.\n`,
      stderr: '',
    });
    expect([stored(world), await folder.names()]).toEqual([[], ['animals.jsonl']]);
  });

  test('keeps an animal that exists with other values, and replaces malformed ones or all on demand', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const repaired = { ...malformed, status: 'pending' };
    world.put('pets', { ...rex, status: 'sold' });
    world.put('pets', { ...malformed, unknown: 'x' });
    let writes = 0;
    // Every first answer of a replacement is lost.
    world.meets = ({ operation }) =>
      operation === 'UpdateItem' && (writes += 1) % 2 === 1 ? 'lostAfter' : 'answered';
    const file = await folder.write('animals.jsonl', `${toJson(rex)}\n${toJson(repaired)}\n`);
    const kept = await world.run(`pets import ${file} --json`);
    expect(kept).toMatchObject({ exitCode: 4 });
    expect(JSON.parse(kept.stdout)).toMatchObject({ created: 0, kept: [{ line: 1 }, { line: 2, id: 7 }] });
    expect(stored(world)).toEqual([
      { ...malformed, unknown: 'x' },
      { ...rex, status: 'sold' },
    ]);

    const { exitCode, stderr } = await world.run(`pets import ${file} --replace malformed`);
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/7 in local: replaced malformed: status: is required\n/);
    expect(stderr).toMatch(/: imported 0 created, 1 replaced\n/);
    expect(stored(world)).toEqual([repaired, { ...rex, status: 'sold' }]);

    const all = await world.run(`pets import ${file} --replace all --json`);
    expect(JSON.parse(all.stdout)).toMatchObject({ created: 0, replaced: 1, present: 1, kept: [] });
    expect(all.stderr).toContain(JSON.stringify(toJson({ ...rex, status: 'sold' })));
    expect(stored(world)).toEqual([repaired, rex]);
    expect(await json(world, `pets import ${file} --replace all`)).toMatchObject({ replaced: 0, present: 2 });
  });

  test('keeps to its rate, and says how far it is', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(200));
    const { now } = world;
    const { stderr } = await world.run(`pets import ${file} --rate 10 --json`);
    expect(world.now - now).toBe(20);
    const progress = stderr.split('\n').filter((line) => line.includes('progress'));
    expect(progress.map((line) => JSON.parse(line) as object)).toEqual([
      { progress: { done: 75, animals: 200 } },
      { progress: { done: 125, animals: 200 } },
      { progress: { done: 175, animals: 200 } },
    ]);
    expect(await world.run(`pets import ${file} --rate 1001`)).toMatchObject({ exitCode: 2 });
  });

  test('asks in prod, with the number of animals and what it replaces', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(3));
    for (const [option, question] of [
      ['', `Import 3 animals from ${file}?`],
      ['--replace malformed ', `Import 3 animals from ${file}, replacing malformed items?`],
      [
        '--replace all ',
        `Import 3 animals from ${file}, replacing all that differ, with what clients have changed?`,
      ],
    ]) {
      const refused = await world.run(`pets import ${file} ${option}--stage prod`, { typed: ['n\n'] });
      expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
      expect(refused.stderr).toContain(`prod: ${question} [y/N] `);
      expect(stored(world)).toEqual([]);
    }
    const done = await world.run(`pets import ${file} --stage prod --yes`);
    expect(done).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^Created 3, replaced 0, already there 0\. This was import_[0-9a-f]{16}-[0-9a-z]{8}\.\n$/,
      ) as string,
      stderr: expect.stringContaining('imported 3 created, 0 replaced') as string,
    });
  });

  test('on a terminal has one line in place, with the share, what is there already, and the time left', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const lines = linesWithIds(200);
    const file = await folder.write('animals.jsonl', lines);
    await world.run(
      `pets import ${await folder.write('some.jsonl', `${lines.split('\n').slice(0, 30).join('\n')}\n`)}`,
    );
    const { stdout, stderr } = await world.run(`pets import ${file} --rate 10`, { isTerminal: true });
    const [began, progress = '', ended] = stderr.split('\n');
    expect(began).toMatch(/began to import 200 animals, as import_[-\w]+$/);
    const states = progress.split('\r\u001b[K');
    expect(states.slice(0, -1)).toEqual([
      '50 of 200 animals (25 %), 30 already there, 8 s left',
      '75 of 200 animals (37 %), 30 already there, 9 s left',
      '100 of 200 animals (50 %), 30 already there, 8 s left',
      '125 of 200 animals (62 %), 30 already there, 6 s left',
      '150 of 200 animals (75 %), 30 already there, 5 s left',
      '175 of 200 animals (87 %), 30 already there, 3 s left',
      '200 of 200 animals (100 %), 30 already there, 0 s left',
    ]);
    expect(states.at(-1)).toMatch(/: imported 170 created, 0 replaced$/);
    expect([ended, stdout]).toEqual([
      '',
      expect.stringContaining('Created 170, replaced 0, already there 30.'),
    ]);
  });

  test('has its audit line also after Ctrl-C, when the writes under way have ended, and then does the rest', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(60));
    const interruption = new AbortController();
    let writes = 0;
    world.meets = ({ operation }) => {
      if (operation === 'PutItem' && (writes += 1) === 30) interruption.abort();
      return 'answered';
    };
    const interrupted = await world.run(`pets import ${file}`, { interrupted: interruption.signal });
    expect(interrupted).toMatchObject({ exitCode: 130, stdout: '' });
    expect(interrupted.stderr).toMatch(
      /began to import 60 animals, as import_[-\w]+\n.*: imported 50 created, 0 replaced, then interrupted\nInterrupted\. A change may be made/,
    );
    expect(stored(world)).toHaveLength(50);
    const { stdout } = await world.run(`pets import ${file}`);
    expect(stdout).toContain('Created 10, replaced 0, already there 50.');
  });

  test('does not wait for ever for writes under way after Ctrl-C, and says how many they are', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', linesWithIds(60));
    const interruption = new AbortController();
    let writes = 0;
    world.meets = ({ operation }) => {
      if (operation !== 'PutItem' || (writes += 1) < 30) return 'answered';
      interruption.abort();
      return 'hungBefore';
    };
    const { now } = world;
    const { exitCode, stderr } = await world.run(`pets import ${file}`, { interrupted: interruption.signal });
    expect(exitCode).toBe(130);
    expect(world.now - now).toBeLessThanOrEqual(3);
    expect(stderr).toContain(
      'imported 29 created, 0 replaced, then interrupted with up to 25 more under way\n',
    );
    expect(stored(world)).toHaveLength(29);
  });
});
