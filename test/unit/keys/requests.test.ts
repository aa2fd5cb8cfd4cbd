import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { customPlanCeiling, fixedPlans, type FixedPlan } from '../../../functions/access/plans.ts';
import { newKey } from '../../../functions/access/keys.ts';
import { checkLimits, checkRequest } from '../../../tools/keys/requests.ts';

describe('the limits of a key', () => {
  test.each(Object.keys(fixedPlans))('on the %s plan are the plan’s: none of its own are taken', (plan) => {
    expect(checkLimits(plan as FixedPlan, {})).toBeUndefined();
    expect(() => checkLimits(plan as FixedPlan, { perMinute: 1 })).toThrow('fixed');
    expect(() => checkLimits(plan as FixedPlan, { perDay: 1 })).toThrow('fixed');
  });

  test.each([{}, { perMinute: 10 }, { perDay: 10 }])(
    'on the enterprise plan need both numbers, not %o',
    (limits) => {
      expect(() => checkLimits('enterprise', limits)).toThrow('needs both --per-minute and --per-day');
    },
  );

  test('on the enterprise plan are taken as given, up to what one item of DynamoDB can count', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: customPlanCeiling.perMinute }),
        fc.integer({ min: 1, max: customPlanCeiling.perDay }),
        (perMinute, perDay) => {
          if (perDay >= perMinute)
            expect(checkLimits('enterprise', { perMinute, perDay })).toEqual({ perMinute, perDay });
          else
            expect(() => checkLimits('enterprise', { perMinute, perDay })).toThrow(
              'must be at least --per-minute',
            );
        },
      ),
    );
  });

  test('more than 60,000 a minute are refused, with the reason', () => {
    expect(checkLimits('enterprise', { perMinute: 60_000, perDay: 60_000 })).toBeDefined();
    expect(() => checkLimits('enterprise', { perMinute: 60_001, perDay: 1_000_000 })).toThrow(
      /--per-minute must be at most 60,000 \(got 60001\).*DynamoDB takes 1,000 a second/,
    );
    expect(() => checkLimits('enterprise', { perMinute: 1, perDay: customPlanCeiling.perDay + 1 })).toThrow(
      '--per-day must be at most',
    );
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('are whole numbers from 1, not %d', (value) => {
    expect(() => checkLimits('enterprise', { perMinute: value, perDay: 100 })).toThrow();
    expect(() => checkLimits('enterprise', { perMinute: 1, perDay: value })).toThrow();
  });
});

describe('the owner and the note of a key', () => {
  test.each([
    ['empty', ''],
    ['only white space', '  '],
    ['more than a hundred characters', 'a'.repeat(101)],
    ['a line break', 'a\nb'],
    ['an escape sequence of terminals', 'a\u001b[31mb'],
    ['a character that turns the text around', 'a\u202eb'],
    ['a separator of lines', 'a\u2028b'],
    ['a key', `Ada ${newKey('prod')}`],
    ['a hash', 'a1'.repeat(32)],
  ])('cannot be %s', (_what, owner) => {
    expect(() => checkRequest({ owner, plan: 'free' })).toThrow(expect.objectContaining({ kind: 'usage' }));
  });

  test('can be in any script', () => {
    const request = {
      owner: 'Zoë Müller-東京 & Söhne',
      plan: 'pro',
      note: 'for the “spring” campaign',
    } as const;
    expect(checkRequest(request)).toEqual({ ...request, limits: undefined });
  });
});
