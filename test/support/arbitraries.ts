import * as fc from 'fast-check';
import { int64Max, int64Min } from '../../functions/pets/int64.ts';
import { petStatuses } from '../../functions/pets/schema.ts';

/** Every int64, with the ends of the range and of the exact doubles often among them. */
export const int64 = fc.oneof(
  fc.bigInt({ min: int64Min, max: int64Max }),
  fc.constantFrom(int64Min, int64Max, 0n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n),
);

const character = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map((codePoint) => String.fromCodePoint(codePoint));

/** Any well-formed text. Unlike the unit `binary` of fast-check it needs no table of all of Unicode first. */
export function text(lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: character });
}

/** An animal's name by the rule: 1 to 255 code points of Unicode that can be read, not only whitespace, and that can be in XML. */
export const petName = text({ minLength: 1, maxLength: 255 }).filter(
  (name) => !/[\p{Cc}\ufffd-\uffff]/u.test(name) && /[^\p{Z}\p{Cf}]/u.test(name),
);

export const petStatus = fc.constantFrom(...petStatuses);

/** A status filter, or none. */
export const statusFilter = fc.option(petStatus, { nil: undefined });

/** Strings that look like numbers, and some that are. */
export const numberLike = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-.eE xn_,')), maxLength: 24 }),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.double().map(String),
  text(),
);
