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

  const canonical = (each: unknown) => toCanonicalJson(toJson(each));

  test('does not depend on the order of members, white space or escapes', () => {
    fc.assert(
      fc.property(value, (each) => {
        expect(canonical(reordered(each))).toBe(canonical(each));
        expect(toCanonicalJson(escaped(toJson(each)))).toBe(canonical(each));
      }),
    );
  });

  test('is the value: different values have different texts', () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(parseJson(canonical(one))).toEqual(one);
        expect(canonical(one) === canonical(other)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });

  /** Digits times a power of ten, in one of its spellings. */
  const number = fc.record({
    digits: fc.oneof(fc.bigInt({ min: -200n, max: 200n }), arbitrary.int64, fc.bigInt()),
    power: fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -400, max: 400 })),
    point: fc.nat({ max: 12 }),
    zeros: fc.nat({ max: 3 }),
  });
  type Number = typeof number extends fc.Arbitrary<infer Value> ? Value : never;
  const spelled = ({ digits, power, point, zeros }: Number) => {
    const all = String(digits < 0n ? -digits : digits).padStart(point + 1, '0');
    const fraction = all.slice(all.length - point) + '0'.repeat(zeros);
    const exponent = power + point;
    const whole = (digits < 0n ? '-' : '') + all.slice(0, all.length - point);
    return `${whole}${fraction && `.${fraction}`}${exponent === 0 ? '' : `${zeros > 1 ? 'E' : 'e'}${exponent}`}`;
  };

  test('of two numbers is equal if their exact values are', () => {
    const isEqual = (one: Number, other: Number) => {
      const least = Math.min(one.power, other.power);
      const [a, b] = [one, other].map(({ digits, power }) => digits * 10n ** BigInt(power - least));
      return a === b;
    };
    fc.assert(
      fc.property(number, number, fc.boolean(), (one, another, isSame) => {
        // The other number has another spelling, with the same value or one that is close to it.
        const other = isSame ? { ...one, point: another.point, zeros: another.zeros } : another;
        const next = { ...other, digits: other.digits * 10n ** 20n + 1n, power: other.power - 20 };
        for (const each of [other, next])
          expect(toCanonicalJson(spelled(one)) === toCanonicalJson(spelled(each))).toBe(isEqual(one, each));
      }),
      { numRuns: 1_000 },
    );
  });

  test('of what JavaScript reads exactly is what JavaScript writes, and of an int64 its digits', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), arbitrary.int64, (double, int64) => {
        expect(toCanonicalJson(JSON.stringify(double))).toBe(JSON.stringify(double));
        expect(toCanonicalJson(String(int64))).toBe(String(int64));
      }),
    );
  });

  test.each([
    ['{"a":9007199254740993}', '{"a":9007199254740992}', false],
    ['{"a":0.1}', '{"a":0.10000000000000000001}', false],
    ['{"a":1e400}', '{"a":null}', false],
    ['{"a":1e400}', '{"a":1e401}', false],
    ['{"a":1e400}', '{"a":10e399}', true],
    ['{"a":-0}', '{"a":0.0}', true],
    ['{"a":0e99}', '{"a":0}', true],
    ['{"a":1.0}', '{"a":1}', true],
    ['{"a":1E+2}', '{"a":100}', true],
    ['{"a":1e21}', '{"a":1000000000000000000000}', true],
    ['{"a":1e99999999999999999999}', '{"a":10e99999999999999999998}', true],
    ['{"a":7}', '{ "a" : 7 }', true],
    ['{"a":1,"b":2}', '{"b":2,"a":1}', true],
    ['{"a":{"b":1,"c":[]}}', '{"a":{"c":[],"b":1}}', true],
    ['{"10":1,"9":2,"a":3}', '{"a":3,"9":2,"10":1}', true],
    ['[1,2]', '[2,1]', false],
    ['{"a":null}', '{}', false],
    ['{"__proto__":1}', '{}', false],
    ['{"a":"7"}', '{"a":7}', false],
    ['{"a":1,"a":2}', '{"a":2}', true],
    [String.raw`"\u0041\/"`, '"A/"', true],
    [String.raw`"\ud83d\ude00"`, '"😀"', true],
    [String.raw`"\ud800"`, String.raw`"\udfff"`, false],
    [String.raw`"\ud800"`, '"\ufffd"', false],
  ])('of %s and %s is equal: %s', (one, other, equal) => {
    expect(toCanonicalJson(one) === toCanonicalJson(other)).toBe(equal);
  });

  test('of many zeros takes no time', () => {
    const start = performance.now();
    toCanonicalJson(`0.${'0'.repeat(65_000)}1`);
    toCanonicalJson(`${'10'.repeat(32_000)}e-1`);
    expect(performance.now() - start).toBeLessThan(1_000);
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
