import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newPetId } from '../../../functions/pets/ids.ts';

const first = Date.parse('2026-01-01T00:00:00Z');
const last = first + 2 ** 41 - 1;

const moment = fc.integer({ min: first, max: last });
/** Every number in [0, 1), the largest included. */
const random = fc.oneof(
  fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  fc.constantFrom(0, 1 - Number.EPSILON / 2),
);

describe('an id', () => {
  test('of a later millisecond is larger, whatever its random bits', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(moment, { minLength: 2, maxLength: 2 }),
        random,
        random,
        (times, one, other) => {
          const [earlier, later] = times.toSorted((a, b) => a - b);
          expect(newPetId(earlier!, one)).toBeLessThan(newPetId(later!, other));
        },
      ),
    );
  });

  test('contains the milliseconds since 2026 above a bit that is 0 and 11 random bits', () => {
    fc.assert(
      fc.property(moment, random, (now, draw) => {
        const id = newPetId(now, draw);
        expect(Number(id / 4096n)).toBe(now - first);
        expect(Number(id % 4096n)).toBe(Math.floor(draw * 2048));
      }),
    );
  });

  test('has 53 bits', () => {
    expect(newPetId(first, 0)).toBe(0n);
    expect(newPetId(last, 1 - Number.EPSILON / 2)).toBe(BigInt(Number.MAX_SAFE_INTEGER - 2048));
  });

  test('of a fraction of a millisecond is that of the millisecond', () => {
    expect(newPetId(first + 7.9, 0.5)).toBe(newPetId(first + 7, 0.5));
  });

  test.each([first - 1, last + 1, Number.NaN, Infinity, -Infinity])('is refused for the time %d', (now) => {
    expect(() => newPetId(now, 0.5)).toThrow(RangeError);
  });

  test.each([-0.1, 1, 1.5, Number.NaN, Infinity])('is refused for the random number %d', (draw) => {
    expect(() => newPetId(first, draw)).toThrow(RangeError);
  });
});
