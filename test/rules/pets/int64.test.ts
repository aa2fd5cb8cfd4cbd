import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import {
  int64,
  int64Max,
  int64Min,
  integer,
  parseInt64,
  storedInteger,
} from '../../../functions/pets/int64.ts';
import * as arbitrary from '../../support/arbitraries.ts';

const faultsOf = (value: unknown) => z.safeParse(int64, value).error?.issues.map(({ message }) => message);

test('the range of an int64 is that of 64 bits in two’s complement', () => {
  expect(int64Min).toBe(-9223372036854775808n);
  expect(int64Max).toBe(9223372036854775807n);
});

describe('an integer of 0 to 1,200', () => {
  const months = integer(0, 1_200);
  const faults = (value: unknown) => z.safeParse(months, value).error?.issues.map(({ message }) => message);

  test.each([0n, 7n, 1_200n])('%d is a number, in a request and stored', (value) => {
    expect(z.parse(months, value)).toBe(Number(value));
    expect(z.parse(storedInteger, { value: String(value) })).toBe(Number(value));
  });

  test.each([-1n, 1_201n, int64Max])('%d is out of its limits', (value) => {
    expect(faults(value)).toEqual(['must be between 0 and 1200']);
  });

  test.each([undefined, null, 7, 7.5, '7'])('%s is no whole number of exact JSON', (value) => {
    expect(faults(value)).toEqual([
      value === undefined ? 'is required' : expect.stringContaining('must be a whole number'),
    ]);
  });

  test.each(['1.5', '', '1e3', '9007199254740993'])('%s is not read from an item', (value) => {
    expect(z.safeParse(storedInteger, { value }).success).toBe(false);
  });
});

describe('an int64 as text', () => {
  test('every int64 is read from its digits exactly', () => {
    fc.assert(
      fc.property(arbitrary.int64, (value) => {
        expect(parseInt64(String(value))).toBe(value);
      }),
    );
  });

  test('any other text than the canonical spelling is rejected', () => {
    fc.assert(
      fc.property(arbitrary.numberLike, (text) => {
        expect(parseInt64(text)).toBe(canonicalInt64(text));
      }),
      { numRuns: 1000 },
    );
  });
});

describe('an int64 as input', () => {
  test('every int64 is accepted', () => {
    fc.assert(
      fc.property(arbitrary.int64, (value) => {
        expect(z.parse(int64, value)).toBe(value);
      }),
    );
  });

  test.each([int64Max + 1n, int64Min - 1n, 10n ** 40n])('%s is out of range', (value) => {
    expect(faultsOf(value)).toEqual(['must be between -9223372036854775808 and 9223372036854775807']);
  });

  test('a missing value is rejected as required', () => {
    expect(faultsOf(undefined)).toEqual(['is required']);
  });

  test.each([
    ['a fraction', 1.5],
    ['a number beyond exactness', 1e300],
    ['text', '7'],
    ['null', null],
    ['a boolean', true],
    ['a list', [7n]],
    ['an object', {}],
  ])('%s is rejected, because it is not a whole number', (_what, value) => {
    expect(faultsOf(value)).toEqual([
      'must be a whole number, written as a JSON number without fraction or exponent',
    ]);
  });
});

/** Reads an int64 by way of BigInt, which reads more spellings than one but writes just the canonical one. */
function canonicalInt64(text: string): bigint | undefined {
  try {
    const value = BigInt(text);
    return String(value) === text && BigInt.asIntN(64, value) === value ? value : undefined;
  } catch {
    return undefined;
  }
}
