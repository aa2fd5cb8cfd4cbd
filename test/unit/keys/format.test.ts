import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { indefinitely } from '../../../tools/keys/use.ts';
import { bar, isoTime, parseDuration, table, time, untilTime } from '../../../tools/keys/format.ts';

describe('a bar', () => {
  test('is as long as the share that is used, shows any use at all, and is full only when that is', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 0, max: 2_000_000 }),
        (limit, used) => {
          const drawn = bar(used, limit);
          const filled = drawn.split('█').length - 1;
          expect(drawn).toHaveLength(24);
          expect(filled > 0).toBe(used > 0);
          expect(filled === 24).toBe(used >= limit);
          expect(Math.abs(filled - Math.min(1, used / limit) * 24)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

describe('a duration', () => {
  test.each([
    ['0s', 0],
    ['90s', 90],
    ['15m', 900],
    ['24h', 86_400],
    ['7d', 604_800],
  ])('of %s is %d seconds', (text, seconds) => {
    expect(parseDuration(text)).toBe(seconds);
  });

  test.each(['', '5', 'h', '1.5h', '-1h', '1 h', '1w', '1H', '1h30m', '9999999999s'])('is not %o', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

test('times are in UTC, and a missing one is null', () => {
  expect(time(1_793_800_230)).toBe('2026-11-04 13:50:30 UTC');
  expect(isoTime(1_793_800_230)).toBe('2026-11-04T13:50:30Z');
  expect(isoTime(0)).toBeNull();
  expect(isoTime(undefined)).toBeNull();
});

test('a table keeps its columns in line', () => {
  expect(
    table(
      ['A', 'LONG HEAD'],
      [
        ['wide cell', 'x'],
        ['', 'y'],
      ],
    ),
  ).toBe('A          LONG HEAD\nwide cell  x\n           y');
});

test('a suspension that nobody has set an end to lasts until it is lifted', () => {
  expect(untilTime(1_793_800_230)).toBe('until 2026-11-04 13:50:30 UTC');
  expect(untilTime(indefinitely)).toBe('until it is resumed');
});
