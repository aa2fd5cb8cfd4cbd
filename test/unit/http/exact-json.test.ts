import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, toJson } from '../../../functions/http/exact-json.ts';
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

/** The name of the error that reading ends with, if any. */
function faultOf(parse: (text: string) => unknown, text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.name : 'unknown';
  }
}
