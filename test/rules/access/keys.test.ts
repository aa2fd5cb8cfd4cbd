import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashOfKey, keyOfHeader, newKey, stageOfKey } from '../../../functions/access/keys.ts';
import * as arbitrary from '../../support/arbitraries.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const printable = Array.from({ length: 95 }, (_, index) => String.fromCodePoint(32 + index));

const stage = fc.constantFrom('prod', 'staging', 'local', 'x', 'a1', 'canary2026');
/** What stands behind the stage of a key, but drawn without regard to the checksum. */
const random = fc.string({ unit: fc.constantFrom(...Array.from(base62)), minLength: 36, maxLength: 36 });
const key = stage.map((each) => newKey(each));

/** Those that pass for a key although they must not. */
function accepted(texts: readonly string[]): string[] {
  return texts.filter((text) => stageOfKey(text) !== undefined);
}

describe('the rules for secret scanners in docs/api.md', () => {
  const page = readFileSync('docs/api.md', 'utf8');
  const rules = [/^regex = '''(.+)'''$/m, /regular expression `(.+?)`/].map(
    (rule) => rule.exec(page)?.[1] ?? '',
  );
  const around = [
    ['export KEY=', ''],
    ["const options = { apiKey: '", "' };"],
    ['curl -H "Authorization: Bearer ', '" https://api.example.com/v1/pets'],
    ['{"animals":{"token":"', '","url":"https://api.example.com/v1"}}'],
    ['https://example.com/?key=', '&limit=1'],
    ['# old key ', ', replaced'],
  ] as const;

  test.each(rules)('%s finds every key, whatever stands around it', (rule) => {
    fc.assert(
      fc.property(key, fc.constantFrom(...around), (text, [before, after]) => {
        expect(new RegExp(rule).exec(`${before}${text}${after}`)?.[0]).toBe(text);
      }),
    );
  });

  test.each(rules)('%s finds no key ID, hash or example, and nothing longer or shorter', (rule) => {
    const made = newKey('prod');
    const others = [
      hashOfKey(made),
      'key_06fz1m4tqabcdefg',
      'as_local_your_key',
      `${made}x`,
      made.slice(0, -1),
      `x${made}`,
    ];
    for (const text of others) expect(text).not.toMatch(new RegExp(rule));
  });
});

describe('a key', () => {
  test('names its stage, is random, and ends in a checksum', () => {
    fc.assert(
      fc.property(stage, (name) => {
        const made = newKey(name);
        expect(made).toMatch(new RegExp(`^as_${name}_[${base62}]{36}$`));
        expect(stageOfKey(made)).toBe(name);
      }),
    );
  });

  test('of an earlier version is still valid', () => {
    // The checksum is the CRC-32 of all that stands before, in base 62, worked out by other means.
    expect(newKey('prod', () => 0)).toBe('as_prod_0000000000000000000000000000001vCkeY');
    expect(newKey('local', () => 61)).toBe('as_local_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz0njig8');
  });

  test('takes each of its 30 characters from the whole alphabet', () => {
    const drawn: number[] = [];
    newKey('prod', (below) => {
      drawn.push(below);
      return 0;
    });
    expect(drawn).toEqual(Array.from({ length: 30 }, () => 62));
    const made = Array.from(base62, (_, index) => newKey('prod', () => index));
    expect(made.map((each) => each[8]).join('')).toBe(base62);
  });

  test('with one wrong character is not valid', () => {
    fc.assert(
      fc.property(key, (made) => {
        const mistyped = Array.from(made).flatMap((each, index) =>
          printable
            .filter((character) => character !== each)
            .map((character) => made.slice(0, index) + character + made.slice(index + 1)),
        );
        expect(accepted(mistyped)).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test('with two neighbouring characters swapped is not valid', () => {
    fc.assert(
      fc.property(key, (made) => {
        const swapped = Array.from(made.slice(1)).map(
          (each, index) => made.slice(0, index) + each + made[index] + made.slice(index + 2),
        );
        expect(accepted(swapped.filter((text) => text !== made))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('that is shortened, extended or surrounded is not valid', () => {
    fc.assert(
      fc.property(key, (made) => {
        const cut = Array.from(made).flatMap((_, length) => [made.slice(0, length), made.slice(length + 1)]);
        expect(accepted([...cut, `${made}0`, `0${made}`, ` ${made}`, `${made} `, `${made}\n`])).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test.each(['Prod', '1prod', '', 'pro-d', 'pro_d', 'prød'])(
    'of the impossible stage %j is not valid even with the right checksum',
    (name) => {
      expect(accepted([newKey(name)])).toEqual([]);
    },
  );

  test('is never any other string', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          arbitrary.text(),
          random.map((characters) => `as_prod_${characters}`),
        ),
        (text) => {
          expect(accepted([text])).toEqual([]);
        },
      ),
    );
  });

  test('has its SHA-256 in lower-case hexadecimal as its hash', () => {
    expect(hashOfKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    fc.assert(
      fc.property(key, (made) => {
        expect(hashOfKey(made)).toBe(createHash('sha256').update(made, 'utf8').digest('hex'));
        // API Gateway takes this as the value of a key and as usageIdentifierKey.
        expect(hashOfKey(made)).toMatch(/^[0-9a-zA-Z]{20,128}$/);
      }),
    );
  });
});

describe('an Authorization header', () => {
  test.each(['Bearer as_x', 'bearer as_x', 'BEARER as_x'])('%j contains a key', (header) => {
    expect(keyOfHeader(header)).toBe('as_x');
  });

  test.each([
    '',
    'Bearer',
    'Bearer ',
    'as_x',
    'Basic as_x',
    'Bearer\tas_x',
    'Bearer  as_x',
    'BeArEr as_x',
    'Bearer as_x as_y',
    'Bearer as_x ',
    ' Bearer as_x',
    'Bearer as_x\n',
    'Bearer: as_x',
    'Bearer as_x, Bearer as_y',
  ])('%j contains no key', (header) => {
    expect(keyOfHeader(header)).toBeUndefined();
  });
});
