import { z } from 'zod';
import { indefinitely } from './use.ts';

/** Text for people. */

const barWidth = 24;

/** A bar of 24 characters: how much of `limit` is `used`. */
export function bar(used: number, limit: number): string {
  const share = limit > 0 ? Math.min(1, used / limit) : 0;
  // Any use is visible, and only a full bar looks full.
  const filled =
    share === 0
      ? 0
      : share === 1
        ? barWidth
        : Math.min(barWidth - 1, Math.max(1, Math.round(share * barWidth)));
  return '█'.repeat(filled) + '░'.repeat(barWidth - filled);
}

/** `12,345` */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `2026-07-01 12:00:30 UTC`. @param seconds Unix seconds */
export function time(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `until 2026-07-01 12:00:30 UTC`, or until it is lifted. @param seconds Unix seconds */
export function untilTime(seconds: number): string {
  return seconds >= indefinitely ? 'until it is resumed' : `until ${time(seconds)}`;
}

/** `2026-07-01T12:00:30Z`, `null` for 0 and `undefined`. @param seconds Unix seconds */
export function isoTime(seconds: number | undefined): string | null {
  return seconds === undefined || seconds === 0
    ? null
    : `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** Rows under their heads, in columns two spaces apart. @param paint colours a cell that has its final width */
export function table(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  paint: (cell: string, column: number) => string = (cell) => cell,
): string {
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [heads, ...rows]
    .map((row, index) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .map((cell, column) => (index === 0 ? cell : paint(cell, column)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const unit = z.enum(['s', 'm', 'h', 'd']);

/** Whole seconds of a duration such as `90s`, `15m`, `24h` or `7d`; `undefined` if invalid. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * unitSeconds[unit.parse(match[2])];
}
