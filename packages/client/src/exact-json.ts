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

/** A string, or a number, as JSON spells them (RFC 8259). */
const token = /"(?:[^"\\]|\\.)*"|-?\d+(\.\d+)?([eE][+-]?\d+)?/gs;

/**
 * `JSON.parse` that keeps every digit of whole numbers: those that a number cannot hold are returned as a string of their
 * digits. It does not depend on the source text access of newer engines (`context.source` of a reviver).
 *
 * @throws SyntaxError when the text is not JSON
 */
export function parseJson(text: string): unknown {
  // Checks the syntax: in text that is not JSON, tokens could be found in the wrong places.
  const parsed: unknown = JSON.parse(text);
  const quoted = text.replaceAll(token, (found, fraction?: string, exponent?: string) => {
    const isWhole = !found.startsWith('"') && fraction === undefined && exponent === undefined;
    return isWhole && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found;
  });
  return quoted === text ? parsed : JSON.parse(quoted);
}
