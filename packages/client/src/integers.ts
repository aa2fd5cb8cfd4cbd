import { checkRequired } from './arguments.ts';

/** An int64 as a method takes it. A string has its decimal digits. */
export type Int64Input = number | bigint | string;

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;
const canonicalDigits = /^(?:0|-?[1-9]\d{0,18})$/;

/**
 * The decimal digits of an int64.
 *
 * @param name of the value, for the message
 * @throws TypeError when it is not an int64, or a number that is not exact
 */
export function toDigits(value: Int64Input, name: string): string {
  checkRequired(value, name);
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError(
      `${name} must be a whole number that a number holds exactly (got ${value}). Pass a bigint beyond 2^53.`,
    );
  }
  // -0 is written as 0.
  const digits = String(value);
  if (!canonicalDigits.test(digits) || BigInt(digits) < min || BigInt(digits) > max) {
    throw new TypeError(`${name} must be an int64 in decimal digits (got ${JSON.stringify(digits)}).`);
  }
  return digits;
}
