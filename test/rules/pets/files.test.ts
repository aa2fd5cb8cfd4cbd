import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toJson } from '../../../functions/http/exact-json.ts';
import { newPetId } from '../../../functions/pets/ids.ts';
import { newPet } from '../../../functions/pets/schema.ts';
import { newFileIds, petParser, readPets } from '../../../tools/operators/pets/files.ts';
import type { Session } from '../../../tools/operators/pets/pet-command.ts';
import type { PetService } from '../../../tools/operators/pets/service.ts';
import { Folder } from '../../service/pets-tool/folder.ts';

const newest = newPetId(Date.UTC(2026, 6, 1), 0);
const parse = (text: string) => petParser(newest)(text, 1);
const pet = { name: 'Rex', categoryId: 7n, status: 'sold' as const };

describe('a line of an import', () => {
  test('is a pet with every digit of its numbers', () => {
    const numbers = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(numbers, fc.bigInt({ min: 0n, max: newest }), (categoryId, id) => {
        expect(parse(toJson({ ...pet, categoryId, id }))).toEqual({ ...pet, categoryId, id });
      }),
    );
  });

  test('without a status is available, as a new animal of the interface', () => {
    expect(parse('{"name":"Rex","categoryId":7}\r')).toEqual({ ...pet, status: 'available' });
  });

  test.each(Object.keys(newPet.shape))('names the field %s if its value is invalid', (field) => {
    expect(parse(toJson({ ...pet, [field]: null }))).toMatch(new RegExp(`^${field}: `));
  });

  test('can have the name of a field, and what looks like one, in a value', () => {
    const name = '"name":"Rex","id":1,{"status":';
    expect(parse(toJson({ ...pet, name }))).toEqual({ ...pet, name });
  });

  test.each([
    ['{"name":"Rex","categoryId":7', 'is not JSON'],
    [`{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'is nested too deeply'],
    ['[]', 'must be a JSON object'],
    ['{"name":"Rex","categoryId":7,"stauts":"sold"}', /"stauts"/],
    ['{"name":"Rex","categoryId":9223372036854775808}', /^categoryId: must be between/],
    ['{"name":"Rex","categoryId":7.0}', /^categoryId: must be a whole number/],
    ['{"id":-1,"name":"Rex","categoryId":7}', 'id: must be from 0 to 9007199254740991'],
    ['{"id":9007199254740992,"name":"Rex","categoryId":7}', 'id: must be from 0 to 9007199254740991'],
    ['{"id":"7","name":"Rex","categoryId":7}', /^id: must be a whole number/],
    [`{"id":${newest + 1n},"name":"Rex","categoryId":7}`, 'id: is of a moment in the future'],
    ['{"id":7,"id":8,"name":"Rex","categoryId":7}', 'has the field "id" twice'],
    ['{"name":"Rex","categoryId":7,"\\u006eame" : "Max"}', 'has the field "name" twice'],
    [toJson({ ...pet, name: 'Re\nx' }), /^name: must not contain control characters/],
    [toJson({ ...pet, name: 'Rex\u009b' }), /^name: must not contain control characters/],
    [toJson({ ...pet, name: 'x'.repeat(65_536) }), 'is longer than 65,536 characters'],
    ['{}', /name: is required; categoryId: is required/],
  ])('%s is invalid', (text, problem) => {
    expect(parse(text)).toEqual(typeof problem === 'string' ? problem : expect.stringMatching(problem));
  });
});

test('a line that is far too long is read over at once', { timeout: 20_000 }, async () => {
  const folder = await Folder.make();
  const file = await folder.write('long.jsonl', `{"name":"${'x'.repeat(60_000_000)}"}\n\n{}\n`);
  const problems: string[] = [];
  const session = {
    service: { clock: () => 1_782_864_000_000 },
    output: { report: (_: object, text: string) => problems.push(text) },
  } as unknown as Session;
  await expect(readPets(session, file)).rejects.toThrow('has 2 invalid lines');
  expect(problems).toEqual([
    `${file}:1: is longer than 65,536 characters`,
    `${file}:3: name: is required; categoryId: is required`,
  ]);
});

describe('the IDs of a file', () => {
  const now = Date.UTC(2026, 6, 1);
  const idsOf = (count: number) => {
    const ids = newFileIds({ clock: () => now } as PetService, count);
    return Array.from({ length: count }, () => ids.next().value);
  };

  test('are in order, of the past, and none that the service gives', () => {
    const ids = idsOf(5_000);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
    // The service gives those whose last 12 bits are below 2,048.
    expect(ids.filter((id) => id % 4_096n < 2_048n)).toEqual([]);
    expect(ids.at(-1)).toBeLessThan(newPetId(now, 0));
  });

  test('begin anywhere in the last hour', () => {
    const begins = Array.from({ length: 200 }, () => Number(idsOf(1)[0]! - newPetId(now - 3_600_000, 0)));
    const millisecond = Number(newPetId(now, 0) - newPetId(now - 1, 0));
    expect(Math.min(...begins)).toBeGreaterThanOrEqual(0);
    expect(Math.min(...begins)).toBeLessThan(1_200_000 * millisecond);
    expect(Math.max(...begins)).toBeGreaterThan(2_400_000 * millisecond);
    expect(Math.max(...begins)).toBeLessThan(3_600_000 * millisecond);
  });
});
