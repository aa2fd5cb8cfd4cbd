/**
 * JSON in which whole numbers keep every digit, as bigint. A plain `JSON.parse` turns 9223372036854775807 into
 * 9223372036854775808. https://tc39.es/proposal-json-parse-with-source/
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

/** @throws SyntaxError if the text is not valid JSON; RangeError if it is nested too deeply */
export function parseJson(text: string): unknown {
  return JSON.parse(text, (_key, value, { source }) =>
    source !== undefined && wholeNumber.test(source) ? BigInt(source) : value,
  );
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => withDigits(part));
}

/** One text for equal values, whatever the order of the members, white space and escapes that they were read from. */
export function toCanonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : withDigits(part),
  );
}

function withDigits(part: unknown): unknown {
  return typeof part === 'bigint' ? JSON.rawJSON(part.toString()) : part;
}
