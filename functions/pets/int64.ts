import * as z from 'zod/mini';

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

/** An int64 (docs/interface.md#2-resources). A bigint, because a JavaScript number is inexact above 2^53. */
export const int64 = z
  .bigint({
    error: (issue) =>
      issue.input === undefined
        ? 'is required'
        : 'must be a whole number, written as a JSON number without fraction or exponent',
  })
  .check(z.refine(inRange, `must be between ${int64Min} and ${int64Max}`));

function inRange(value: bigint): boolean {
  return value >= int64Min && value <= int64Max;
}

const canonicalDigits = /^(?:0|-?[1-9]\d{0,18})$/;

/** An int64 in its only valid spelling: no plus sign, leading zeros or fraction. Otherwise `undefined`. */
export function parseInt64(text: string): bigint | undefined {
  if (!canonicalDigits.test(text)) return undefined;
  const value = BigInt(text);
  return inRange(value) ? value : undefined;
}
