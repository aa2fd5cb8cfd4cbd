import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toDigits } from '../../src/integers.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe('An int64', () => {
  it('has the same digits as a bigint, a string and, where exact, a number', () => {
    fc.assert(
      fc.property(int64, (value) => {
        expect(toDigits(value, 'id')).toBe(String(value));
        expect(toDigits(String(value), 'id')).toBe(String(value));
        if (Number.isSafeInteger(Number(value))) expect(toDigits(Number(value), 'id')).toBe(String(value));
      }),
    );
  });

  it.each([
    2 ** 53,
    1.5,
    Number.NaN,
    Infinity,
    2n ** 63n,
    -(2n ** 63n) - 1n,
    '007',
    '+7',
    '',
    '7.0',
    'seven',
    '1 ',
  ])('is not %s', (value) => {
    expect(() => toDigits(value, 'categoryId')).toThrow(TypeError);
    expect(() => toDigits(value, 'categoryId')).toThrow(/^categoryId must be /);
  });
});
