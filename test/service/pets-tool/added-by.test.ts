import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { World } from '../world.ts';
import { Folder } from './folder.ts';
import { json, malformed, many, rex, stored } from './stored-animals.ts';

// These tests check docs/animals.md#find-what-a-key-or-an-import-added.

const leaked = 'key_06fz1m4tqabcdefg';
const other = 'key_06fz1m4tq0123456';

/** Animals of two keys, newest first, and older ones of nobody. */
function worldOfTwoKeys() {
  const world = new World();
  const animals = many(9).map((each, index) =>
    index < 3 ? each : { ...each, addedBy: index % 2 === 0 ? leaked : other },
  );
  for (const each of animals) world.put('pets', each);
  return { world, ids: [8, 6, 4].map((index) => rex.id + index) };
}

interface Listed {
  readonly pets: readonly { readonly id: number }[];
  readonly cursor: number | null;
}

/** A file of two animals, the second as a key had added it. */
async function importedFile(world: World, folder: Folder) {
  const [first, second] = many(2);
  const file = await folder.write(
    'animals.jsonl',
    `${toJson(first)}\n${toJson({ ...second, addedBy: other })}\n`,
  );
  const { importId, run } = await json<{ importId: string; run: string }>(world, `pets import ${file}`);
  return { file, importId, run };
}

describe('--added-by', () => {
  test('lists the animals of a key, newest first, in pages', async () => {
    const { world, ids } = worldOfTwoKeys();
    world.meets = ({ operation }) => (operation === 'Scan' ? 'shortPage' : 'answered');
    const all = await json<Listed>(world, `pets list --added-by ${leaked}`);
    expect([all.pets.map(({ id }) => id), all.cursor]).toEqual([ids, null]);
    const first = await json<Listed>(world, `pets list --added-by ${leaked} --limit 2`);
    expect([first.pets.map(({ id }) => id), first.cursor]).toEqual([ids.slice(0, 2), ids[1]]);
    const rest = await json<Listed>(
      world,
      `pets list --added-by ${leaked} --limit 2 --cursor ${first.cursor}`,
    );
    expect([rest.pets.map(({ id }) => id), rest.cursor]).toEqual([ids.slice(2), null]);
    await json(world, `pets set-status ${ids[1]} sold`);
    expect(await json(world, `pets list --added-by ${leaked} --status sold`)).toMatchObject({
      pets: [{ id: ids[1], status: 'sold' }],
    });
  });

  test('says that nothing was added by the ID, unless only other filters leave everything out', async () => {
    const [{ world }, folder] = [worldOfTwoKeys(), await Folder.make()];
    const note = (id: string) =>
      `Stage local has no animals added by ${id}. Check the spelling, capital letters included, and the stage.`;
    for (const id of ['key_06fz1m4tqzzzzzzz', 'import_0123456789abcdef']) {
      const file = folder.of(`${id}.jsonl`);
      for (const [command, stdout] of [
        ['list', 'No animals.\n'],
        [`export ${file}`, `Exported 0 animals to ${file}.\n`],
        ['export -', ''],
      ] as const)
        expect(await world.run(`pets ${command} --added-by ${id}`)).toMatchObject({
          exitCode: 0,
          stdout,
          stderr: `${note(id)}\n`,
        });
      const { stderr } = await world.run(`pets list --added-by ${id} --json`);
      expect(JSON.parse(stderr)).toEqual({ note: note(id) });
    }
    for (const options of [`--added-by ${leaked} --status sold`, `--added-by ${leaked} --cursor 1`])
      expect(await world.run(`pets list ${options}`)).toMatchObject({ stdout: 'No animals.\n', stderr: '' });
  });

  test('exports the animals of a key, and says how many there are', async () => {
    const [{ world, ids }, folder] = [worldOfTwoKeys(), await Folder.make()];
    world.put('pets', malformed);
    const file = folder.of('leaked.jsonl');
    const { stdout } = await world.run(`pets export ${file} --added-by ${leaked}`);
    expect(stdout).toBe(`Exported 3 animals to ${file}. Left out: 1 malformed item.\n`);
    const exported = (await folder.read('leaked.jsonl')).trimEnd().split('\n');
    expect(exported.map((line) => (JSON.parse(line) as { id: number }).id).toSorted((a, b) => a - b)).toEqual(
      ids.toReversed(),
    );
  });

  test('finds what an import has created, and nothing that was there before', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const [first, second, third] = many(3);
    world.put('pets', first!);
    const file = await folder.write(
      'animals.jsonl',
      [first, second, third].map((each) => toJson(each)).join('\n'),
    );
    const { importId, run } = await json<{ importId: string; run: string }>(world, `pets import ${file}`);
    expect(importId).toMatch(/^import_[0-9a-f]{16}$/);
    expect(run).toMatch(new RegExp(`^${importId}-[0-9a-z]{8}$`));
    for (const id of [importId, run]) {
      const { pets } = await json<Listed>(world, `pets list --added-by ${id}`);
      expect(pets.map((pet) => pet.id)).toEqual([third!.id, second!.id]);
    }
  });

  test.each(['rex', 'key_1', 'import_1', ''])(
    'refuses "%s", which is neither a key nor an import',
    async (text) => {
      for (const command of ['pets list', 'pets export -'])
        expect(await new World().run(`${command} --added-by ${text || '""'}`)).toMatchObject({
          exitCode: 2,
          stderr: expect.stringContaining('key_06fz1m4tqabcdefg') as string,
        });
    },
  );
});

describe('an import', () => {
  test('is kept with what it creates, and is the same one when it is repeated', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const { file, importId, run } = await importedFile(world, folder);
    const [first, second] = many(2);
    const expected = [
      { ...first, importId: run },
      { ...second, addedBy: other, importId: run },
    ];
    expect(stored(world)).toEqual(expected);
    expect(await json(world, `pets import ${file}`)).toMatchObject({ created: 0, present: 2, importId });
    // The spelling of a line does not matter.
    await folder.write('animals.jsonl', (await folder.read('animals.jsonl')).replaceAll(',', ' ,\t'));
    expect(await json(world, `pets import ${file} --dry-run`)).toMatchObject({ importId });
    await folder.write('animals.jsonl', toJson(first));
    expect((await json<{ importId: string }>(world, `pets import ${file}`)).importId).not.toBe(importId);
    expect(stored(world)).toEqual(expected);
  });

  test('that replaces an animal keeps who added it', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    world.put('pets', { ...rex, status: 'sold', addedBy: leaked, importId: 'import_0000000000000000' });
    const file = await folder.write('animals.jsonl', toJson({ ...rex, addedBy: other }));
    await json(world, `pets import ${file} --replace all`);
    expect(stored(world)).toEqual([{ ...rex, addedBy: leaked, importId: 'import_0000000000000000' }]);
  });

  test('refuses an addedBy that is no key ID', async () => {
    const [world, folder] = [new World(), await Folder.make()];
    const file = await folder.write('animals.jsonl', toJson({ ...rex, addedBy: 'Ada' }));
    expect(await world.run(`pets import ${file}`)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(':1: addedBy: must be a key ID') as string,
    });
  });
});

test('who added an animal survives an export and an import, and a removal and its undoing', async () => {
  const [from, to, folder] = [new World(), new World(), await Folder.make()];
  from.put('pets', { ...rex, addedBy: leaked });
  const file = folder.of('all.jsonl');
  await json(from, `pets export ${file}`);
  await json(to, `pets import ${file}`);
  expect(stored(to)).toMatchObject([{ ...rex, addedBy: leaked }]);
  const { stdout } = await from.run(`pets remove ${rex.id}`);
  expect(stdout).toBe(await folder.read('all.jsonl'));
});

test('show says who added an animal, if it is known', async () => {
  const world = new World();
  world.put('pets', { ...rex, addedBy: leaked });
  expect(await json(world, `pets show ${rex.id}`)).toMatchObject({ addedBy: leaked });
  expect((await world.run(`pets show ${rex.id}`)).stdout).toMatch(new RegExp(`^addedBy +${leaked}$`, 'm'));
  world.put('pets', rex);
  expect(await json(world, `pets show ${rex.id}`)).not.toHaveProperty('addedBy');
});

test('what is no ID there is left out, and the animal is still shown', async () => {
  const world = new World();
  world.put('pets', { ...rex, name: 'seed', addedBy: 7, importId: ['x'] });
  expect(await json(world, `pets show ${rex.id}`)).not.toHaveProperty('addedBy');
  expect(await world.send(world.key('free'), `GET /pets/${rex.id}`)).toMatchObject({ status: 200 });
});
