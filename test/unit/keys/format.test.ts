import { expect, test } from 'vitest';
import { indefinitely } from '../../../tools/keys/use.ts';
import { isoTime, table, untilTime } from '../../../tools/keys/format.ts';

test('times are in UTC, and a missing one is null', () => {
  expect(isoTime(1_793_800_230)).toBe('2026-11-04T13:50:30Z');
  expect(isoTime(0)).toBeNull();
  expect(isoTime(undefined)).toBeNull();
});

test('a table keeps its columns in line, coloured cells included', () => {
  const rows = [
    ['A', 'LONG HEAD'],
    ['wide cell', 'x'],
    ['\u001b[31mred\u001b[39m', 'y'],
  ];
  expect(table(rows)).toBe('A          LONG HEAD\nwide cell  x\n\u001b[31mred\u001b[39m        y');
});

test('a suspension without an end lasts until the key is resumed', () => {
  expect(untilTime(1_793_800_230)).toBe('until 2026-11-04T13:50:30Z');
  expect(untilTime(indefinitely)).toBe('until it is resumed');
});
