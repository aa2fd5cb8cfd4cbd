import { checkRequired } from './arguments.ts';

/**
 * How the int64 fields `id` and `categoryId` are returned. `auto`: a number, or a bigint where a number would lose
 * digits. `bigint`: always a bigint. `string`: always the decimal digits.
 */
export type IntegerMode = 'auto' | 'bigint' | 'string';

/** An int64 as a store with this mode returns it. */
export type Int64<Mode extends IntegerMode = 'auto'> = Mode extends 'bigint'
  ? bigint
  : Mode extends 'string'
    ? string
    : number | bigint;

/** An int64 as a method takes it: whatever the mode, every form of it is accepted. */
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

/** The smallest type that holds every digit. */
export function toExact(digits: string): number | bigint {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

export function inMode<Mode extends IntegerMode>(value: number | bigint, mode: Mode): Int64<Mode> {
  const converted = mode === 'bigint' ? BigInt(value) : mode === 'string' ? String(value) : value;
  // TypeScript does not narrow a type parameter by a comparison.
  return converted as Int64<Mode>;
}
