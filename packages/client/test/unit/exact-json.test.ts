import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson, writeJson } from '../../src/exact-json.ts';

function outcome(parse: () => unknown): unknown {
  try {
    return { value: parse() };
  } catch (error) {
    return error instanceof SyntaxError ? 'SyntaxError' : error;
  }
}

/** What JSON.parse returned, with a string where a number may have lost digits. */
function exact(value: unknown): unknown {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    const text = String(value);
    return text.includes('e') ? value : text;
  }
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, exact(each)]));
}

describe('Exact JSON', () => {
  it('keeps every digit of whole numbers, and uses a string only where a number would lose some', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const parsed = parseJson(`{"id": ${value}}`);
        const safe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
        expect(parsed).toStrictEqual({ id: safe ? Number(value) : String(value) });
      }),
    );
  });

  it('otherwise returns what JSON.parse returns', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseJson(text)).toEqual(exact(JSON.parse(text)));
      }),
    );
  });

  it.each([
    ['a text of 30 MB', JSON.stringify('x'.repeat(30_000_000))],
    ['30 MB of escapes', JSON.stringify(String.raw`\"`.repeat(7_500_000))],
    ['a text of 30 MB beside a large number', `[9223372036854775807,"${'1'.repeat(30_000_000)}"]`],
  ])('reads %s', (_what, text) => {
    expect(text.length).toBeGreaterThanOrEqual(30_000_000);
    // The assertion's own comparison would take longer.
    expect(
      JSON.stringify(parseJson(text)) === text.replace('9223372036854775807', '"9223372036854775807"'),
    ).toBe(true);
  });

  it('keeps the digits of numbers between texts that end in backslashes and quotes', () => {
    const texts = ['', '\\', '"', '\\"', '"\\', '\\\\"1', '-', '1e5', '9223372036854775807'];
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constantFrom(...texts), fc.string())), (values) => {
        const written = values.map((each) => JSON.stringify(each));
        expect(parseJson(`[${written.map((each) => `${each},9007199254740993`).join(',')}]`)).toEqual(
          values.flatMap((each) => [each, '9007199254740993']),
        );
      }),
    );
  });

  it('is written as JSON.stringify writes it, but for a bigint, whose digits it keeps', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt(), (value, integer) => {
        expect(writeJson(value)).toBe(JSON.stringify(value));
        expect(writeJson([{ value, integer }])).toBe(
          `[{"value":${JSON.stringify(value)},"integer":${integer}}]`,
        );
      }),
    );
    const odd = {
      date: new Date(0),
      none: undefined,
      call: () => 1,
      list: [undefined, Number.NaN],
      text: Object('i1'),
    };
    expect(writeJson(odd)).toBe(JSON.stringify(odd));
    expect(writeJson(undefined)).toBeUndefined();
  });

  it('does not change digits in strings and keys', () => {
    const text = String.raw`{"i9007199254740993": ["9007199254740993", "a\"9007199254740993", "i1", "s", "\u0069 1", "\\"]}`;
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it('rejects what JSON.parse rejects', () => {
    const piece = fc.constantFrom(
      ...'{}[]:,"\\ 01-+.eE\n',
      '12',
      'true',
      'null',
      '"a"',
      '"b":',
      's',
      'i',
      '\\u0031',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const plain = outcome(() => exact(JSON.parse(text)));
        expect(outcome(() => parseJson(text))).toEqual(plain);
      }),
      { numRuns: 5_000 },
    );
  });
});
