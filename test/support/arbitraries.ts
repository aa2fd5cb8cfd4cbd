import * as fc from 'fast-check';
import { int64Max, int64Min } from '../../functions/pets/int64.ts';
import { petStatuses } from '../../functions/pets/schema.ts';

/** Every int64, with the ends of the range and of the exact doubles often among them. */
export const int64 = fc.oneof(
  fc.bigInt({ min: int64Min, max: int64Max }),
  fc.constantFrom(int64Min, int64Max, 0n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n),
);

/** An animal's name by the rule: 1 to 255 code points of well-formed Unicode, not only white space. */
export const petName = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 255 })
  .filter((text) => text.trim() !== '');

export const petStatus = fc.constantFrom(...petStatuses);

/** A status filter, or none. */
export const statusFilter = fc.option(petStatus, { nil: undefined });

/** Strings that look like numbers, and some that are. */
export const numberLike = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-.eE xn_,')), maxLength: 24 }),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.double().map(String),
  fc.string({ unit: 'binary' }),
);
