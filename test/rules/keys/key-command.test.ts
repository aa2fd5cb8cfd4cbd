import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customPlanCeiling, fixedPlans, type FixedPlan } from '../../../functions/access/plans.ts';
import { newKey } from '../../../functions/access/keys.ts';
import {
  checkLimits,
  duration,
  ownerFilter,
  perDayOption,
  perMinuteOption,
} from '../../../tools/operators/keys/key-command.ts';
import { line, wholeNumber } from '../../../tools/operators/command-line/stage-command.ts';

describe('the limits of a key', () => {
  test.each(Object.keys(fixedPlans))('on the %s plan are the plan’s: none of its own are taken', (plan) => {
    const fixed = { plan: plan as FixedPlan };
    expect(() => checkLimits(fixed)).not.toThrow();
    expect(() => checkLimits({ ...fixed, perMinute: 1 })).toThrow('fixed');
    expect(() => checkLimits({ ...fixed, perDay: 1 })).toThrow('fixed');
  });

  test.each([{}, { perMinute: 10 }, { perDay: 10 }])(
    'on the enterprise plan need both numbers, not %o',
    (limits) => {
      expect(() => checkLimits({ plan: 'enterprise', ...limits })).toThrow(
        'requires --per-minute and --per-day',
      );
    },
  );

  test('on the enterprise plan are taken as given, up to what one item of DynamoDB can count', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: customPlanCeiling.perMinute }),
        fc.integer({ min: 1, max: customPlanCeiling.perDay }),
        (perMinute, perDay) => {
          const check = () => checkLimits({ plan: 'enterprise', perMinute, perDay });
          if (perDay >= perMinute) expect(check).not.toThrow();
          else expect(check).toThrow('must be at least --per-minute');
        },
      ),
    );
    expect(() => checkLimits({ plan: 'enterprise', perMinute: 60, perDay: 60 })).not.toThrow();
  });
});

describe('the limits that --per-minute and --per-day take', () => {
  test('are at most what one item of DynamoDB can count', () => {
    expect(perMinuteOption.parseArg?.('60000', undefined)).toBe(60_000);
    expect(() => perMinuteOption.parseArg?.('60001', undefined)).toThrow('from 1 to 60,000');
    const most = customPlanCeiling.perDay;
    expect(perDayOption.parseArg?.(String(most), undefined)).toBe(most);
    expect(() => perDayOption.parseArg?.(String(most + 1), undefined)).toThrow('from 1 to 86,400,000');
  });

  test.each(['0', '-1', '1.5', 'NaN', 'Infinity', '', '1e3'])('are whole numbers from 1, not %j', (text) => {
    expect(() => wholeNumber(1, 100)(text)).toThrow('whole number');
  });
});

describe('the owner and the note of a key', () => {
  test.each([
    ['empty', ''],
    ['only white space', '  '],
    ['more than a hundred characters', 'a'.repeat(101)],
    ['a line break', 'a\nb'],
    ['an escape sequence of terminals', 'a\u001b[31mb'],
    ['a NUL', 'a\0b'],
    ['an escape sequence of one character', 'a\u009bb'],
    ['invisible', '\u200b'],
    ['a key', `Ada ${newKey('prod')}`],
    ['a hash', 'a1'.repeat(32)],
  ])('cannot be %s', (_what, owner) => {
    expect(() => line(100)(owner)).toThrow(expect.objectContaining({ code: 'commander.invalidArgument' }));
  });

  test.each([
    'Zoë Müller-東京 & Söhne',
    'for the “spring” campaign',
    'x'.repeat(100),
    '🐈'.repeat(100),
    'می\u200cخواهم',
    '👩\u200d👧',
  ])('can be %j', (text) => {
    expect(line(100)(text)).toBe(text);
  });
});

test('an owner is found in whatever form of Unicode it was typed', () => {
  const [composed, decomposed] = ['Zo\u00eb', 'Zoe\u0308'];
  const parsers = [line(100), ownerFilter.parseArg!];
  for (const parse of parsers)
    expect([composed, decomposed].map((text) => parse(text, undefined))).toEqual([composed, composed]);
  expect(line(3)(decomposed)).toBe(composed);
});

describe('a duration', () => {
  test.each([
    ['0s', 0],
    ['90s', 90],
    ['15m', 900],
    ['24h', 86_400],
    ['7d', 604_800],
  ])('of %s is %d seconds', (text, seconds) => {
    expect(duration(0)(text)).toBe(seconds);
  });

  test.each(['', '5', 'h', '1.5h', '-1h', '1 h', '1w', '1H', '1h30m', '9999999999s'])('is not %o', (text) => {
    expect(() => duration(0)(text)).toThrow('a number and a unit');
  });
});
