/**
 * JSON in which whole numbers keep every digit. A plain `JSON.parse` turns 9223372036854775807 into
 * 9223372036854775808; here a number written without fraction or exponent is read as a bigint, and a bigint
 * is written as its digits.
 *
 * Source text access: https://tc39.es/proposal-json-parse-with-source/
 */
declare global {
  interface JSON {
    rawJSON(text: string): object;
    parse(
      text: string,
      reviver: (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

const wholeNumber = /^-?\d+$/;

/** @throws SyntaxError when the text is no JSON; RangeError when it is nested too deeply */
export function parseJson(text: string): unknown {
  return JSON.parse(text, (_key, value, { source }) =>
    source !== undefined && wholeNumber.test(source) ? BigInt(source) : value,
  );
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? JSON.rawJSON(each.toString()) : each,
  );
}
