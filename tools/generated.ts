import { readFile, writeFile } from 'node:fs/promises';

/**
 * Parts of a document that a script writes, each between `<!-- generated: NAME -->` and `<!-- end -->`. What stands
 * around them is written by hand.
 */
export type GeneratedParts = Readonly<Record<string, string>>;

/** @throws Error when the document has no place for a part, or a place that no part is for */
export function withGenerated(document: string, parts: GeneratedParts): string {
  const places = new Set<string>();
  const filled = document.replaceAll(
    /(<!-- generated: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g,
    (_place, start: string, name: string, end: string) => {
      const part = parts[name];
      if (part === undefined) throw new Error(`Nothing is generated for ${name}`);
      places.add(name);
      return `${start}\n${part.trim()}\n\n${end}`;
    },
  );
  const missing = Object.keys(parts).filter((name) => !places.has(name));
  if (missing.length > 0) throw new Error(`The document has no place for ${missing.join(', ')}`);
  return filled;
}

/** Writes the parts into the document at `path`. */
export async function writeGenerated(path: string, parts: GeneratedParts): Promise<void> {
  await writeFile(path, withGenerated(await readFile(path, 'utf8'), parts));
}

/** A Markdown table as Prettier writes it. Columns of numbers are aligned to the right. */
export function markdownTable(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = headings.map((heading, index) => [heading, ...rows.map((row) => row[index] ?? '')]);
  const widths = columns.map((cells) => Math.max(3, ...cells.map((cell) => Array.from(cell).length)));
  const numeric = columns.map((cells) =>
    cells.slice(1).every((cell) => /^[<≤−~]? ?[\d.,]+( %)?$|^–?$/.test(cell)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, index) => (numeric[index] ? pad(cell, widths[index]!) + cell : cell + pad(cell, widths[index]!))).join(' | ')} |`;
  const rule = widths.map((width, index) =>
    numeric[index] ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  return [line(headings), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

function pad(cell: string, width: number): string {
  return ' '.repeat(width - Array.from(cell).length);
}
