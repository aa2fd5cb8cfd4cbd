import { stripVTControlCharacters } from 'node:util';
import { indefinitely } from './use.ts';

/** Text for people. */

/** `12,345` */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `2026-07-01T12:00:30Z`, `null` for 0 and `undefined`. @param seconds Unix seconds */
export function isoTime(seconds = 0): string | null {
  return seconds === 0 ? null : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** `until 2026-07-01T12:00:30Z`, or until an operator resumes the key. @param seconds Unix seconds */
export function untilTime(seconds: number): string {
  return seconds >= indefinitely ? 'until it is resumed' : `until ${isoTime(seconds)}`;
}

/** Rows in columns two spaces apart. Cells can be coloured. */
export function table(rows: readonly (readonly string[])[]): string {
  const widthOf = (cell = '') => stripVTControlCharacters(cell).length;
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column])))) ?? [];
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell + ' '.repeat(widths[column]! - widthOf(cell))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
