import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { newPet, petStatuses, readableText, storedPet } from '../../../functions/pets/schema.ts';
import * as arbitrary from '../../support/arbitraries.ts';

const complete = { name: 'Rex', categoryId: 7n, status: 'sold' };

/** Each fault as `field: message`. */
function faultsOf(input: unknown): string[] {
  const { error } = z.safeParse(newPet, input);
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}

const faultsOfName = (name: unknown) => faultsOf({ ...complete, name });

/** A field that is right, or wrong in one of these ways. */
function field(...wrong: unknown[]) {
  return fc.record({ valid: fc.boolean(), wrong: fc.constantFrom(...wrong) });
}

test('the statuses are available, pending and sold', () => {
  expect(petStatuses).toEqual(['available', 'pending', 'sold']);
});

describe('a new pet', () => {
  test('is read unchanged', () => {
    fc.assert(
      fc.property(arbitrary.petName, arbitrary.int64, arbitrary.petStatus, (name, categoryId, status) => {
        expect(z.parse(newPet, { name, categoryId, status })).toEqual({ name, categoryId, status });
      }),
    );
  });

  test('without a status is available', () => {
    expect(z.parse(newPet, { name: 'Rex', categoryId: 7n })).toEqual({
      name: 'Rex',
      categoryId: 7n,
      status: 'available',
    });
  });

  test('is read without unknown fields and its ID', () => {
    expect(z.parse(newPet, { ...complete, id: 1n, owner: 'me', constructor: 1, toString: null })).toEqual(
      complete,
    );
    const smuggled: unknown = JSON.parse('{"name":"Rex","status":"sold","__proto__":{"categoryId":1}}');
    expect(faultsOf(smuggled)).toEqual(['categoryId: is required']);
  });

  test('is rejected with the errors of every field', () => {
    const absent = Symbol('absent');
    fc.assert(
      fc.property(
        field('', '  ', 'R\tx', 7n, null, {}, [], true, absent, 'x'.repeat(256), '\ud800'),
        field('7', 1.5, null, {}, [], false, absent, 2n ** 63n, -(2n ** 63n) - 1n),
        field('', 'Available', 'adopted', 7n, null, {}, [], ['sold']),
        (name, categoryId, status) => {
          const fields = { name, categoryId, status };
          const input = Object.fromEntries(
            Object.entries(fields)
              .map(([key, { valid, wrong }]) => [key, valid ? complete[key as keyof typeof complete] : wrong])
              .filter(([, value]) => value !== absent),
          );
          const faulty = Object.entries(fields)
            .filter(([, { valid }]) => !valid)
            .map(([key]) => key);
          expect(faultsOf(input).map((fault) => fault.split(':')[0])).toEqual(faulty);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a whole number', 7n],
    ['a fraction', 1.5],
    ['text', 'Rex'],
    ['a boolean', true],
    ['an empty list', []],
    ['a list of animals', [complete]],
  ])('cannot be %s', (_what, input) => {
    expect(faultsOf(input)).toEqual([': must be a JSON object']);
  });
});

describe('a name', () => {
  test.each([
    ['a letter', 'x'],
    ['255 letters', 'x'.repeat(255)],
    ['255 characters of two UTF-16 units each', '🐈'.repeat(255)],
    ['white space around a letter', ' x '],
    ['letters and marks of any script', 'Zoë Ѐ Αθηνά 東京 שָׁלוֹם हिन्दी ไทย'],
    ['joiners between letters', 'می\u200cخواهم क्\u200dष'],
    ['emoji of several characters', '👩‍👩‍👧🏳️‍🌈❤️'],
    ['spaces of any script', 'a\u00a0b\u2003c\u3000d\u2028e\u2029f'],
    ['the neighbours of control characters', ' ~\u00a0'],
    ['the neighbours of U+FFFD to U+FFFF', '\ufffc\u{10000}'],
  ])('may be %s', (_what, name) => {
    expect(z.parse(newPet, { ...complete, name }).name).toBe(name);
  });

  test('is required', () => {
    expect(faultsOf({ categoryId: 7n })).toEqual(['name: is required']);
  });

  test.each([
    ['null', null],
    ['a number', 7n],
    ['a boolean', true],
    ['an object', {}],
    ['a list', ['x']],
  ])('must not be %s', (_what, name) => {
    expect(faultsOfName(name)).toEqual(['name: must be a string']);
  });

  test.each(Array.from({ length: 0xa0 }, (_, code) => code).filter((code) => code < 0x20 || code >= 0x7f))(
    'must not contain the control character %d, wherever it is',
    (code) => {
      const control = String.fromCodePoint(code);
      for (const name of [`${control}Rex`, `R${control}x`, `Rex${control}`, `東京${control}🐈`])
        expect(faultsOfName(name)).toEqual([
          'name: must not contain control characters (U+0000 to U+001F, U+007F to U+009F)',
        ]);
    },
  );

  test.each(['', ' ', '\u00a0\u2003\u3000\ufeff', '\u200b\u2060'])(
    'may not be only whitespace: %j',
    (name) => {
      expect(faultsOfName(name)).toEqual(['name: must not be empty or only whitespace']);
    },
  );

  test.each(['x', '🐈'])('must not be longer than 255 characters such as %s', (character) => {
    const name = character.repeat(256);
    expect(faultsOfName(name)).toEqual(['name: must be at most 255 characters long']);
  });

  test.each(['\ud83d', 'a\udc08b'])('must not contain a lone surrogate: %j', (name) => {
    expect(faultsOfName(name)).toEqual(['name: must be well-formed Unicode']);
  });

  test('must not contain U+FFFD', () => {
    expect(faultsOfName('Bell\ufffd')).toEqual([
      'name: must not contain U+FFFD, which replaces bytes that are not UTF-8',
    ]);
  });

  test.each(['\ufffe', 'R\uffffx'])('must not contain what XML cannot: %j', (name) => {
    expect(faultsOfName(name)).toEqual(['name: must not contain U+FFFE or U+FFFF, which are not characters']);
  });

  test('of control characters is rejected for both reasons', () => {
    for (const name of ['\0', '\t\r\n', ' \u0085'])
      expect(faultsOfName(name)).toEqual([
        'name: must not be empty or only whitespace',
        'name: must not contain control characters (U+0000 to U+001F, U+007F to U+009F)',
      ]);
  });

  test('with two errors is rejected with both', () => {
    expect(faultsOfName(' '.repeat(256))).toEqual([
      'name: must not be empty or only whitespace',
      'name: must be at most 255 characters long',
    ]);
  });
});

describe('a text of 2 to 5 characters', () => {
  const breed = readableText(2, 5);
  const faults = (value: unknown) => breed.safeParse(value).error?.issues.map(({ message }) => message);

  test.each(['ab', 'a🐈', '🐈🐈🐈🐈🐈', ' a ', '\u200b\u200ba'])('takes %j', (value) => {
    expect(breed.parse(value)).toBe(value);
  });

  test.each([
    ['a', ['must be at least 2 characters long']],
    ['🐈', ['must be at least 2 characters long']],
    ['abcdef', ['must be at most 5 characters long']],
    ['', ['must not be empty or only whitespace']],
    [' \u200b', ['must not be empty or only whitespace']],
    ['ab\ud800', ['must be well-formed Unicode']],
    [undefined, ['is required']],
    [7n, ['must be a string']],
  ])('refuses %o: %j', (value, messages) => {
    expect(faults(value)).toEqual(messages);
  });
});

describe('a stored pet', () => {
  test('is read with every digit of its numbers', () => {
    fc.assert(
      fc.property(arbitrary.int64, arbitrary.int64, (id, categoryId) => {
        const numbers = { id: { value: String(id) }, categoryId: { value: String(categoryId) } };
        expect(z.parse(storedPet, { ...numbers, name: 'Rex', status: 'sold' })).toEqual({
          id,
          categoryId,
          name: 'Rex',
          status: 'sold',
        });
      }),
    );
  });

  test('stays readable when a name would no longer be accepted', () => {
    for (const name of ['', 'R\0x', '\u009b2J']) {
      const item = { id: { value: '1' }, categoryId: { value: '2' }, name, status: 'sold' };
      expect(z.parse(storedPet, item)).toMatchObject({ name });
    }
  });

  test.each([
    ['an id with a fraction', { id: { value: '1.5' } }],
    ['a categoryId out of range', { categoryId: { value: '9223372036854775808' } }],
    ['a categoryId that is text', { categoryId: '7' }],
    ['no categoryId', { categoryId: undefined }],
    ['a name that is a number', { name: { value: '7' } }],
    ['no name', { name: undefined }],
    ['a status of no meaning', { status: 'adopted' }],
    ['no status', { status: undefined }],
  ])('is malformed with %s', (_what, damage) => {
    const item = { id: { value: '1' }, categoryId: { value: '2' }, name: 'Rex', status: 'sold', ...damage };
    expect(z.safeParse(storedPet, item).success).toBe(false);
  });

  test('with a number that is not an int64 has an error that names the field and the type', () => {
    const item = { id: { value: '1' }, categoryId: { value: '1.5' }, name: 'Rex', status: 'sold' };
    expect(z.safeParse(storedPet, item).error?.issues).toMatchObject([
      { path: ['categoryId'], message: expect.stringContaining('int64') as string },
    ]);
  });
});
