import { readFile, writeFile } from 'node:fs/promises';

/** Text by name, for the place between `<!-- generated: NAME -->` and `<!-- end -->`. */
export type GeneratedParts = Readonly<Record<string, string>>;

/** Replaces the parts that have a place in the document at `path`. */
export async function writeGenerated(path: string, parts: GeneratedParts): Promise<void> {
  const document = await readFile(path, 'utf8');
  const filled = document.replaceAll(
    /(<!-- generated: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g,
    (place, start: string, name: string, end: string) => {
      const part = parts[name];
      return part === undefined ? place : `${start}\n${part.trim()}\n\n${end}`;
    },
  );
  await writeFile(path, filled);
}

type Cell = string | number;

/** A Markdown table, which Prettier aligns. Columns of numbers are aligned to the right. */
export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const text = (cell: Cell): string => (typeof cell === 'number' ? cell.toLocaleString('en-US') : cell);
  const rule = headings.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || row[column] === '') ? '---:' : '---',
  );
  return [line(headings), line(rule), ...rows.map((row) => line(row.map(text)))].join('\n');
}
