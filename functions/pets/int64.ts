import * as z from 'zod/mini';

/** Smallest and largest value of an `int64` (interface, section 2; OpenAPI format registry). */
export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/** A whole number within the range of an int64. Kept as a bigint: above 2^53 a JavaScript number is inexact. */
export const int64 = z
  .bigint({
    error: (issue) =>
      issue.input === undefined
        ? 'is required'
        : 'must be a whole number, written as a JSON number without fraction or exponent',
  })
  .check(
    z.refine(
      (value) => value >= int64Min && value <= int64Max,
      `must be between ${int64Min} and ${int64Max}`,
    ),
  );

const canonicalDigits = /^(?:0|-?[1-9]\d{0,18})$/;

/**
 * An int64 in its one canonical decimal spelling, as in a path or a stored number; `undefined` for anything
 * else: signs, leading zeros, fractions and values out of range are not two spellings of the same id.
 */
export function parseInt64(text: string): bigint | undefined {
  if (!canonicalDigits.test(text)) return undefined;
  const value = BigInt(text);
  return value >= int64Min && value <= int64Max ? value : undefined;
}
