/** A field of a form "Try it". */
export interface Value {
  readonly name: string;
  /** `path`, `query`, `header` or `body`. */
  readonly place: string;
  /** Empty if it was not filled in. */
  readonly value: string;
  /** What the samples have. */
  readonly example: string;
}

/** A code sample with the values of the form in place of its own, for curl, TypeScript and Python. */
export function sampleWith(source: string, label: string, values: readonly Value[]): string {
  const isTypeScript = label === 'TypeScript';
  const given = values.filter(
    ({ value, example, place }) => value !== '' && (place !== 'body' || value !== example),
  );
  const queryNames = values.filter(({ place }) => place === 'query').map(({ name }) => name);
  const query = given.flatMap(({ place, name, value }): [string, string][] =>
    place === 'query' ? [[name, value]] : [],
  );
  const special = label === 'Python' ? /["\\]/g : /["\\$`]/g;
  let text = source;
  if (query.length > 0) {
    const members = query.map(([name, value]) => `${name}: ${/^\d+$/.test(value) ? value : quoted(value)}`);
    text = isTypeScript
      ? withObject(text, queryNames, `{ ${members.join(', ')} }`)
      : text.replace(/\?[^"]*/, () => `?${new URLSearchParams(query).toString()}`);
  }
  for (const { place, name, value, example } of given) {
    if (place === 'path') {
      const argument = /^-?\d+$/.test(value) ? withDigits(value) : quoted(value);
      text = text.replaceAll(example, () => (isTypeScript ? argument : encodeURIComponent(value)));
    } else if (place === 'header') {
      const option = name.toLowerCase().replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
      text = isTypeScript
        ? text
            .replace(new RegExp(`^//.*${name}.*\n`, 'm'), '')
            .replace(/(?<=store\.\w+\.\w+\([^()]+)\)/, () => `, { ${option}: ${quoted(value)} })`)
        : text.replace(new RegExp(`(?<=${name}(?:": "|: ))[^"]*`), () =>
            value.replaceAll(special, String.raw`\$&`),
          );
    } else if (place === 'body' && isJson(value)) {
      text = withObject(text, Object.keys(JSON.parse(example) as object), literal(value, label));
    }
  }
  return text;
}

/** With another object in place of the first that begins with one of these names. */
function withObject(text: string, names: readonly string[], object: string): string {
  return text.replace(new RegExp(String.raw`\{ ?["']?(?:${names.join('|')})\b[^{}]*\}`), () => object);
}

/** JSON on one line, as the language of the sample writes it. */
function literal(json: string, label: string): string {
  const line = json.trim().replaceAll(/\s*\n\s*/g, ' ');
  if (label === 'curl') return line.replaceAll("'", String.raw`'\''`);
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
  return line.replaceAll(/"(?:[^"\\]|\\.)*"|[a-z]+|-?\d[\d.eE+-]*/g, (token) =>
    label === 'Python' ? (words[token] ?? token) : /^-?\d+$/.test(token) ? withDigits(token) : token,
  );
}

/** A whole number of JavaScript, as a bigint where a number would lose digits. */
function withDigits(digits: string): string {
  return Number.isSafeInteger(Number(digits)) ? digits : `${digits}n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
