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
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' ? JSON.rawJSON(part.toString()) : part,
  );
}

/**
 * One text for all spellings of equal JSON: order of the members, white space, escapes, and numbers of one exact value, such as
 * `100`, `1e2` and `100.0`. Of two members with one name it has the last, as `parseJson` does.
 *
 * @throws SyntaxError if the text is not valid JSON; RangeError if it is nested too deeply
 */
export function toCanonicalJson(text: string): string {
  const canonical: unknown = JSON.parse(text, (_key, part, { source = '' }) => {
    if (typeof part === 'number') return JSON.rawJSON(canonicalNumber(source));
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
  return JSON.stringify(canonical);
}

/** Writes a number as JavaScript does, if that is the exact value. */
function canonicalNumber(source: string): string {
  const [exact, rounded] = [exactNumber(source), String(Number(source))];
  return exactNumber(rounded) === exact ? rounded : exact;
}

/** Digits that an integer has at most when JavaScript writes it without an exponent. */
const plainDigits = 21;

/** Every digit, such as `100` or `101e-2`. One text for each value. */
function exactNumber(source: string): string {
  const [, sign, whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const all = (whole + fraction).replace(/^0+/, '');
  let length = all.length;
  // A regular expression would take seconds for many zeros.
  while (all[length - 1] === '0') length -= 1;
  if (length === 0) return '0';
  const digits = sign + all.slice(0, length);
  const exponent = BigInt(power) + BigInt(all.length - length - fraction.length);
  if (exponent < 0n || exponent > BigInt(plainDigits - length)) return `${digits}e${exponent}`;
  return digits + '0'.repeat(Number(exponent));
}
