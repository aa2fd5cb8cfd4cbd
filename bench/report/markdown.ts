/** A table in Markdown; numbers stand on the right. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en-US') : (cell ?? '–'))),
  );
  const rule = headings.map((_, column) =>
    rows.every((row) => typeof row[column] !== 'string') ? '---:' : '---',
  );
  return [headings, rule, ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Puts a table between its marks, `<!-- bench:NAME -->` and `<!-- /bench:NAME -->`. @throws Error where they are missing */
export function fill(document: string, name: string, content: string): string {
  const [open, close] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [start, end] = [document.indexOf(open), document.indexOf(close)];
  if (start < 0 || end < start) throw new Error(`No place for ${name}`);
  return `${document.slice(0, start + open.length)}\n\n${content}\n\n${document.slice(end)}`;
}
