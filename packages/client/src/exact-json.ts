import { toExact } from './integers.ts';

/**
 * `JSON.stringify` that writes a bigint as its digits, also inside of arrays and plain objects.
 *
 * @returns `undefined` for what JSON cannot hold, such as a function
 */
export function writeJson(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map((each) => writeJson(each) ?? 'null').join(',')}]`;
  // A class can have a form of its own, as that of a date.
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).flatMap(([name, each]) => {
    const text = writeJson(each);
    return text === undefined ? [] : `${JSON.stringify(name)}:${text}`;
  });
  return `{${members.join(',')}}`;
}

/** A string, with the colon that makes it a key, or a number, as JSON spells them (RFC 8259). */
const token = /("(?:[^"\\]|\\.)*")(\s*:)?|-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/gs;

/**
 * `JSON.parse` that keeps every digit of whole numbers: those that a number cannot hold are returned as bigint.
 *
 * It does not depend on the source text access of newer engines (`context.source` of a reviver). Each whole number is
 * handed to `JSON.parse` as a string with the prefix `i`, and each string value with the prefix `s`, so the two cannot
 * be confused.
 *
 * @throws SyntaxError when the text is not JSON
 */
export function parseJson(text: string): unknown {
  // Checks the syntax: in text that is not JSON, tokens could be found in the wrong places.
  JSON.parse(text);
  const marked = text.replaceAll(
    token,
    (found, string?: string, colon?: string, fraction?: string, exponent?: string) => {
      if (string !== undefined) return colon === undefined ? `"s${string.slice(1)}` : found;
      return fraction === undefined && exponent === undefined ? `"i${found}"` : found;
    },
  );
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== 'string') return value;
    return value.startsWith('i') ? toExact(value.slice(1)) : value.slice(1);
  });
}
