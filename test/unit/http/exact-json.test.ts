import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, toCanonicalJson, toJson } from '../../../functions/http/exact-json.ts';
import * as arbitrary from '../../support/arbitraries.ts';

/** Nested values with an int64 anywhere in them, and numbers that are not whole in spelling. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('leaf'), tie('list'), tie('object')),
  leaf: fc.oneof(
    arbitrary.int64,
    arbitrary.text(),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((each) => /[.e]/.test(String(each))),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }),
  object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));

describe('exact JSON', () => {
  test('preserves every value, and every digit of an int64', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(parseJson(toJson(each))).toEqual(each);
      }),
    );
  });

  test('writes the same characters that it has read', () => {
    fc.assert(
      fc.property(value, (each) => {
        const text = toJson(each);
        expect(toJson(parseJson(text))).toBe(text);
      }),
    );
  });

  test.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '0', '-1'])(
    'reads and writes %s unchanged',
    (digits) => {
      expect(parseJson(digits)).toBe(BigInt(digits));
      expect(toJson({ categoryId: BigInt(digits) })).toBe(`{"categoryId":${digits}}`);
    },
  );

  test.each(['1.5', '1.0', '1e3', '1E+3', '-0.0', '1e400', '0.1'])('reads %s like JSON.parse', (text) => {
    expect(parseJson(text)).toBe(JSON.parse(text));
  });

  test('does not change digits in text', () => {
    expect(parseJson('["9223372036854775807",{"9007199254740993":"1"}]')).toEqual([
      '9223372036854775807',
      { '9007199254740993': '1' },
    ]);
  });

  test('reads the last of two fields with the same name, like JSON.parse', () => {
    expect(parseJson('{"id":1,"id":9223372036854775807}')).toEqual({ id: 9223372036854775807n });
  });

  test('accepts the same text as JSON.parse', () => {
    fc.assert(
      fc.property(fc.oneof(arbitrary.text(), fc.json(), arbitrary.numberLike), (text) => {
        expect(faultOf(parseJson, text)).toBe(faultOf((each) => JSON.parse(each) as unknown, text));
      }),
      { numRuns: 500 },
    );
  });

  test('that is nested too deeply throws an error', () => {
    const depth = 32_000;
    expect(() => parseJson('['.repeat(depth) + ']'.repeat(depth))).toThrow(RangeError);
  });
});

describe('canonical JSON', () => {
  /** The same value, with the members of every object in another order. */
  const reordered = (each: unknown): unknown =>
    Array.isArray(each)
      ? each.map(reordered)
      : typeof each === 'object' && each !== null
        ? Object.fromEntries(
            Object.entries(each)
              .toReversed()
              .map(([name, part]) => [name, reordered(part)]),
          )
        : each;

  test('does not depend on the order of members, white space or escapes', () => {
    fc.assert(
      fc.property(value, (each) => {
        const canonical = toCanonicalJson(each);
        expect(toCanonicalJson(parseJson(toJson(reordered(each))))).toBe(canonical);
        expect(toCanonicalJson(parseJson(escaped(toJson(each))))).toBe(canonical);
      }),
    );
  });

  test('is the value: different values have different texts', () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(parseJson(toCanonicalJson(one))).toEqual(one);
        expect(toCanonicalJson(one) === toCanonicalJson(other)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });

  test.each([
    ['{"a":9223372036854775807}', '{"a":9223372036854775806}', false],
    ['{"a":9007199254740993}', '{"a":9007199254740992}', false],
    ['{"a":7}', '{ "a" : 7 }', true],
    ['{"a":1,"b":2}', '{"b":2,"a":1}', true],
    ['{"a":{"b":1,"c":[]}}', '{"a":{"c":[],"b":1}}', true],
    ['{"10":1,"9":2,"a":3}', '{"a":3,"9":2,"10":1}', true],
    ['[1,2]', '[2,1]', false],
    ['{"a":null}', '{}', false],
    ['{"__proto__":1}', '{}', false],
    ['{"a":"7"}', '{"a":7}', false],
    ['{"a":1,"a":2}', '{"a":2}', true],
  ])('of %s and %s is equal: %s', (one, other, equal) => {
    expect(toCanonicalJson(parseJson(one)) === toCanonicalJson(parseJson(other))).toBe(equal);
  });
});

/** The same JSON with white space around it and escapes in its strings. */
function escaped(json: string): string {
  const strings = json.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `\n ${strings}\t`;
}

/** The name of the error that reading ends with, if any. */
function faultOf(parse: (text: string) => unknown, text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.name : 'unknown';
  }
}
