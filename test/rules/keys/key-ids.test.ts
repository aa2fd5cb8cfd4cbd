import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isKeyId, newKeyId } from '../../../tools/operators/keys/key-ids.ts';

const moment = fc.integer({ min: 0, max: 2 ** 45 - 1 });

describe('the id of a key', () => {
  test('sorts by the millisecond it was made in, whatever was drawn', () => {
    fc.assert(
      fc.property(
        moment,
        moment,
        fc.integer({ min: 0, max: 31 }),
        fc.integer({ min: 0, max: 31 }),
        (a, b, x, y) => {
          fc.pre(a !== b);
          expect(newKeyId(a, () => x) < newKeyId(b, () => y)).toBe(a < b);
        },
      ),
    );
  });

  test('is recognised, and with any one character changed to one outside its alphabet it is not', () => {
    fc.assert(
      fc.property(
        moment,
        fc.nat({ max: 19 }),
        fc.constantFrom('i', 'l', 'o', 'u', 'A', '-', ' '),
        (now, at, other) => {
          const keyId = newKeyId(now);
          expect(isKeyId(keyId)).toBe(true);
          expect(isKeyId(keyId.slice(0, at) + other + keyId.slice(at + 1))).toBe(false);
        },
      ),
    );
  });

  test('of keys made in the same millisecond differ', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => newKeyId(1_790_000_000_000))).size).toBe(1_000);
  });

  test.each([
    '',
    'key_',
    'key_06fz1m4tqabcdef',
    'key_06fz1m4tqabcdefgh',
    `as_local_${'a'.repeat(36)}`,
    'KEY_06fz1m4tqabcdefg',
  ])('is not %o', (text) => {
    expect(isKeyId(text)).toBe(false);
  });
});
