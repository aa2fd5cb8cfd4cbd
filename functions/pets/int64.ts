import * as z from 'zod/mini';

export const int64Min = -(2n ** 63n);
export const int64Max = 2n ** 63n - 1n;

const wholeNumber = z.bigint({
  error: (issue) =>
    issue.input === undefined
      ? 'is required'
      : 'must be a whole number, written as a JSON number without fraction or exponent',
});

/** An int64 (docs/interface.md#bodies). A bigint, because a JavaScript number is inexact above 2^53. */
export const int64 = wholeNumber.check(z.refine(inRange, `must be between ${int64Min} and ${int64Max}`));

/** An integer that a JavaScript number holds, such as one of 0 to 1,200. Of a stored item: `storedInteger`. */
export function integer(minimum: number, maximum: number) {
  const inLimits = z.refine<bigint>((value) => value >= minimum && value <= maximum, {
    error: `must be between ${minimum} and ${maximum}`,
    // docs/openapi.yaml has these, because a bigint is otherwise an int64 there.
    params: { type: 'integer', format: undefined, minimum, maximum },
  });
  return z.pipe(
    wholeNumber.check(inLimits),
    z.transform((value) => Number(value)),
  );
}

/** An integer of a stored item. It has no limits, because limits can become stricter. */
export const storedInteger = z.pipe(
  z.object({ value: z.string().check(z.regex(/^-?\d{1,15}$/)) }),
  z.transform(({ value }) => Number(value)),
);

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
