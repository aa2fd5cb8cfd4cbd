import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { allItems, allPets, newStore, put, type Store } from './support.ts';

const moment = Date.UTC(2026, 6, 1);
const id = newPetId(moment, 0);
const rex = { id, name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'available' } as const;
const malformed = { id: 7n, name: 'No status', categoryId: 1n };

describe('list', () => {
  test('shows animals newest first, in pages, with every digit', async () => {
    const { table, json } = await newStore();
    const pets = petStatuses.map((status, index) => ({ ...rex, id: id + BigInt(index), status }));
    await put(table, ...pets);
    interface Listed {
      readonly pets: readonly { readonly id: number }[];
      readonly cursor: number | null;
    }
    const first = await json<Listed>(['list', '--limit', '2']);
    expect(first.pets.map(({ id: each }) => each)).toEqual([Number(id + 2n), Number(id + 1n)]);
    const rest = await json<Listed>(['list', '--limit', '2', '--cursor', String(first.cursor)]);
    expect(rest).toMatchObject({
      pets: [{ id: Number(id), createdAt: '2026-07-01T00:00:00Z' }],
      cursor: null,
    });
    expect(await json(['list', '--status', 'sold'])).toMatchObject({ pets: [{ status: 'sold' }] });
  });

  test('does not let a name change the terminal', async () => {
    const { table, run } = await newStore();
    await put(table, { ...rex, name: 'Rex\u001b[2J\u202e' });
    const { stdout } = await run(['list']);
    expect(stdout).toContain(String.raw`Rex\u001b[2J\u202e`);
    expect(stdout).toContain('9223372036854775807');
  });

  test('--malformed finds items that are in no index', async () => {
    const { table, json } = await newStore();
    await put(table, rex, malformed, { ...rex, id: NumberValue.from('1.5') });
    const { malformed: found } = await json<{ malformed: { id: string }[] }>(['list', '--malformed']);
    expect(found.map((each) => each.id).toSorted()).toEqual(['1.5', '7']);
  });
});

describe('show', () => {
  test('prints an animal, and what is wrong with a malformed item', async () => {
    const { table, run, json } = await newStore();
    await put(table, rex, malformed);
    const { stdout } = await run(['show', String(id), '--json']);
    expect(stdout).toContain('"categoryId": 9223372036854775807');
    expect(await json(['show', '7'])).toMatchObject({
      id: '7',
      malformed: 'status: is required',
      item: { name: 'No status', categoryId: '1' },
    });
  });
});

test('an animal that does not exist ends with 3, and what is not an ID with 2', async () => {
  const { run } = await newStore();
  const stderr = 'Animal 8 does not exist in stage local. "list" shows all.\n';
  for (const args of [
    ['show', '8'],
    ['set-status', '8', 'sold'],
    ['remove', '8'],
  ])
    expect(await run(args)).toEqual({ exitCode: 3, stdout: '', stderr });
  for (const text of ['007', '9223372036854775808', 'Rex', '1.50'])
    expect(await run(['show', text])).toMatchObject({ exitCode: 2 });
});

describe('set-status', () => {
  test('changes nothing but the status, says who did it, and lists find the animal by it', async () => {
    const { table, run, json } = await newStore();
    await put(table, { ...rex, futureField: 'kept' });
    const done = await run(['set-status', String(id), 'sold', '--json']);
    expect(JSON.parse(done.stderr)).toEqual({
      audit: {
        at: expect.stringMatching(/Z$/),
        by: expect.stringContaining('@'),
        did: 'changed status',
        detail: 'available → sold',
        petId: String(id),
        stage: 'local',
      },
    });
    expect(await allItems(table)).toMatchObject([{ status: 'sold', name: 'Rex', futureField: 'kept' }]);
    expect(await json(['list', '--status', 'sold'])).toMatchObject({ pets: [{ name: 'Rex' }] });
    expect(await json(['list', '--status', 'available'])).toMatchObject({ pets: [] });
    expect(await json(['set-status', String(id), 'sold'])).toMatchObject({ changed: false });
  });

  test('refuses a malformed item', async () => {
    const { table, run } = await newStore();
    await put(table, malformed);
    const { exitCode, stderr } = await run(['set-status', '7', 'sold']);
    expect(exitCode).toBe(4);
    expect(stderr).toContain('import --replace malformed');
  });
});

describe('remove', () => {
  test('prints the line that adds the animal again', async () => {
    const { table, json, run } = await newStore();
    await put(table, rex);
    const { stdout } = await run(['remove', String(id)]);
    expect(await allPets(table)).toEqual([]);
    expect(stdout).toBe(`{"id":${id},"name":"Rex","categoryId":9223372036854775807,"status":"available"}\n`);
    await put(table, rex);
    expect(await json(['remove', String(id)])).toMatchObject({ removed: { name: 'Rex' } });
  });

  test('removes malformed items, also one whose ID has a fraction', async () => {
    const { table, json } = await newStore();
    await put(table, malformed, { ...rex, id: NumberValue.from('1.5') });
    await json(['remove', '7']);
    await json(['remove', '1.5']);
    expect(await allItems(table)).toEqual([]);
  });
});

test('no animal is changed without a line that says who did it', async () => {
  const { table, runInProd } = await newStore({ namesCaller: false });
  await put(table, rex);
  for (const [command, ...rest] of [['set-status', 'sold'], ['remove']] as const)
    expect(await runInProd([command, String(id), ...rest, '--yes'])).toMatchObject({ exitCode: 1 });
  expect(await allPets(table)).toEqual([rex]);
});

describe('changes at the same time', () => {
  test.each([
    ['DeleteItem', ['remove', String(id)], 'removed'],
    ['UpdateItem', ['set-status', String(id), 'pending'], 'sold → pending'],
  ])('before %s are seen: what is changed is what is stored by then', async (operation, args, said) => {
    const { table, run, runInProd }: Store = await newStore({
      // Someone else changes the animal after it was read.
      answer: async ({ headers }) => {
        if (String(headers['x-amz-target']).endsWith(operation)) await put(table, { ...rex, status: 'sold' });
        return false;
      },
    });
    await put(table, rex);
    const { exitCode, stderr } = await runInProd(args, { interactive: true, input: ['y\n', 'n\n'] });
    // Another question: what it asked about is not there any more.
    expect(exitCode).toBe(4);
    expect(stderr).toMatch(/\(Rex, available\).*\[y\/N\] .*\(Rex, sold\).*\[y\/N\] /s);
    expect(await allPets(table)).toMatchObject([{ status: 'sold' }]);
    await put(table, rex);
    const unattended = await run(args);
    expect(unattended).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(said) });
  });

  test('that do not end are given up, and nothing is overwritten', async () => {
    let names = 0;
    const { table, run }: Store = await newStore({
      answer: async ({ headers }) => {
        if (String(headers['x-amz-target']).endsWith('DeleteItem'))
          await put(table, { ...rex, name: `name ${(names += 1)}` });
        return false;
      },
    });
    await put(table, rex);
    const { exitCode, stderr } = await run(['remove', String(id)]);
    expect(exitCode).toBe(4);
    expect(stderr).toContain(`${id} was changed or removed by someone else. Look at it and try again.`);
    expect(await allPets(table)).toMatchObject([{ name: 'name 5' }]);
  });
});

test('set-status keeps a field that someone adds after it has read the animal', async () => {
  const { table, run }: Store = await newStore({
    answer: async ({ headers }) => {
      if (String(headers['x-amz-target']).endsWith('UpdateItem'))
        await put(table, { ...rex, futureField: 'added' });
      return false;
    },
  });
  await put(table, rex);
  expect(await run(['set-status', String(id), 'sold'])).toMatchObject({ exitCode: 0 });
  expect(await allItems(table)).toMatchObject([{ status: 'sold', futureField: 'added' }]);
});

describe('over a bad network', () => {
  const commands = [
    ['UpdateItem', ['set-status', String(id), 'sold']],
    ['DeleteItem', ['remove', String(id)]],
  ] as const;

  test.each(commands)('a lost answer to %s does not fail the command', async (operation, args) => {
    let lost = 0;
    const { table, run } = await newStore({
      losesAnswer: ({ headers }) => String(headers['x-amz-target']).endsWith(operation) && (lost += 1) === 1,
    });
    await put(table, rex);
    expect(await run(args)).toMatchObject({ exitCode: 0 });
    expect(await allPets(table)).toEqual(operation === 'DeleteItem' ? [] : [{ ...rex, status: 'sold' }]);
  });
});

test.each([
  [['set-status', String(id), 'sold'], `Change ${id} (Rex, available) to sold?`],
  [['remove', String(id)], `Remove ${id} (Rex, available)?`],
])('in prod %j changes nothing until someone confirms it', async (args, question) => {
  const { table, runInProd } = await newStore();
  await put(table, rex);
  expect(await runInProd(args)).toMatchObject({ exitCode: 4, stdout: '' });
  const refused = await runInProd(args, { interactive: true, input: 'n\n' });
  expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
  expect(refused.stderr).toContain(`prod: ${question} [y/N] Nothing was changed.`);
  // Ctrl-C and Ctrl-D close the input.
  const closed = await runInProd(args, { interactive: true });
  expect(closed).toMatchObject({ exitCode: 4, stdout: '' });
  expect(closed.stderr).toContain(`prod: ${question} [y/N] \nNothing was changed.\n`);
  expect(await allPets(table)).toEqual([rex]);
  const done = await runInProd(args, { interactive: true, input: 'y\n' });
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.stderr).toContain('arn:aws:iam::123456789012:user/ada');
  expect(await allPets(table)).not.toEqual([rex]);
});
