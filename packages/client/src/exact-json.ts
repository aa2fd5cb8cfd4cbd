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

/** What a string or a number begins with. */
const begin = /["\d-]/g;
const number = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;

/**
 * `JSON.parse` that keeps every digit of whole numbers: those that a number cannot hold are returned as a string of their
 * digits. It does not depend on the source text access of newer engines (`context.source` of a reviver).
 *
 * @throws SyntaxError when the text is not JSON; RangeError when it is too large or too deeply nested for this machine
 */
export function parseJson(text: string): unknown {
  // This checks the syntax, because in text that is not JSON, tokens could be found in the wrong places.
  const parsed: unknown = JSON.parse(text);
  const parts: string[] = [];
  let copied = 0;
  for (let at = nextToken(text, 0); at !== -1;) {
    let end: number;
    if (text[at] === '"') end = endOfString(text, at);
    else {
      number.lastIndex = at;
      const [found = '', fraction, exponent] = number.exec(text)!;
      end = at + found.length;
      if (fraction === undefined && exponent === undefined && !Number.isSafeInteger(Number(found))) {
        parts.push(text.slice(copied, at), `"${found}"`);
        copied = end;
      }
    }
    at = nextToken(text, end);
  }
  return copied === 0 ? parsed : JSON.parse(parts.join('') + text.slice(copied));
}

/** -1 if there is none. */
function nextToken(text: string, from: number): number {
  begin.lastIndex = from;
  return begin.exec(text)?.index ?? -1;
}

/** Finds the end of a string. A regular expression has no room for one of 30 MB. @param start of its quotation mark */
function endOfString(text: string, start: number): number {
  let end = start;
  let first: number;
  do {
    end = text.indexOf('"', end + 1);
    first = end;
    while (text[first - 1] === '\\') first -= 1;
    // After an odd number of backslashes, the quotation mark is part of the string.
  } while ((end - first) % 2 === 1);
  return end + 1;
}
