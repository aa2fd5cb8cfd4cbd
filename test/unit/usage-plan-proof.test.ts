import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fixedPlans, type Limits, limitsOf, planNames } from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plans.ts';
import {
  fullBucket,
  quotaRemaining,
  takeToken,
  type Throttle,
  utcDay,
} from '../../packages/cdk-offline/src/usage-plan.ts';
import { ReferenceLimiter } from '../support/reference-limiter.ts';

/**
 * The proof obligation of the usage plans: they never get in the way of a client that the plan's own windows let
 * through. The argument stands beside `usagePlanSettings`; here it meets traffic.
 */
const midnight = Date.parse('2026-07-01T00:00:00Z');

/** Those of the requests, in milliseconds, that fixed windows of `perMinute` admit. */
function admittedByWindows(perMinute: number, times: readonly number[]): number[] {
  const counts = new Map<number, number>();
  return times.filter((time) => {
    const minute = Math.floor(time / 60_000);
    const count = counts.get(minute) ?? 0;
    counts.set(minute, count + 1);
    return count < perMinute;
  });
}

/** Those of the requests that a bucket turns away. */
function refusedByBucket(throttle: Throttle, times: readonly number[]): number[] {
  let bucket = fullBucket(throttle, times[0] ?? 0);
  return times.filter((time) => {
    const taken = takeToken(throttle, bucket, time);
    bucket = taken.bucket;
    return !taken.admitted;
  });
}

const throttleOf = (perMinute: number): Throttle => ({ rate: perMinute / 60, burst: 2 * perMinute });

/** The hardest that windows admit: a full minute at its very end, and every minute after it at its very start. */
function hardest(perMinute: number, minutes: number): number[] {
  return Array.from({ length: minutes }, (_, minute) => midnight + Math.max(59_999, minute * 60_000)).flatMap(
    (time) => Array.from({ length: perMinute }, () => time),
  );
}

describe('the bucket of a usage plan', () => {
  test.each(planNames)(
    'of the %s plan gains a 60th of a minute’s requests each second, and holds two minutes’',
    (plan) => {
      const { rateLimit, burstLimit } = usagePlanSettings(plan);
      const perMinute = limitsOf(plan)?.perMinute ?? 60_000;
      expect({ rate: rateLimit, burst: burstLimit }).toEqual(throttleOf(perMinute));
    },
  );

  test('admits every sequence of requests that fixed windows admit', () => {
    const volley = fc.record({
      wait: fc.oneof(fc.constantFrom(0, 1, 59_999, 60_000), fc.integer({ min: 0, max: 150_000 })),
      requests: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.integer({ min: 1, max: 40 }),
          fc.constantFrom(...Object.values(fixedPlans)).map(({ perMinute }) => perMinute),
        ),
        fc.integer({ min: 0, max: 119_999 }),
        fc.array(volley, { minLength: 5, maxLength: 60 }),
        (perMinute, start, volleys) => {
          let time = midnight + start;
          const sent = volleys.flatMap(({ wait, requests }) => {
            time += wait;
            // Volleys are as large as the plan is, so that windows do fill up.
            return Array.from({ length: Math.ceil((requests * perMinute) / 30) }, () => time);
          });
          expect(refusedByBucket(throttleOf(perMinute), admittedByWindows(perMinute, sent))).toEqual([]);
        },
      ),
    );
  });

  test.each(planNames)('of the %s plan admits the hardest of them for an hour on end', (plan) => {
    // Enterprise is 60,000 a minute: an hour of that would prove no more than two minutes and a half.
    const perMinute = limitsOf(plan)?.perMinute ?? 60_000;
    const times = hardest(perMinute, plan === 'enterprise' ? 4 : 60);
    expect(admittedByWindows(perMinute, times)).toHaveLength(times.length);
    const { rateLimit, burstLimit } = usagePlanSettings(plan);
    expect(refusedByBucket({ rate: rateLimit, burst: burstLimit }, times)).toEqual([]);
  });

  test('could not be any smaller', () => {
    const { rate, burst } = throttleOf(60);
    const times = hardest(60, 60);
    expect(refusedByBucket({ rate, burst: burst - 1 }, times).length).toBeGreaterThan(0);
    expect(refusedByBucket({ rate: rate * 0.99, burst }, times).length).toBeGreaterThan(0);
  });
});

describe('the quota of a usage plan', () => {
  const habits = fc.array(
    // How many minutes' worth of requests the client sends in a minute, and how many minutes it rests then.
    fc.record({
      eagerness: fc.double({ min: 0.2, max: 4, noNaN: true }),
      rest: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 30 },
  );

  test('is no obstacle to the custom plan', () => {
    expect(usagePlanSettings('enterprise')).not.toHaveProperty('quota');
  });

  test.each(['free', 'pro', 'business'] as const)(
    'of the %s plan is never met by a client whose rejections do not outnumber its admissions',
    (plan) => {
      const { quota = 0 } = usagePlanSettings(plan);
      let most = 0;
      fc.assert(
        fc.property(habits, (client) => {
          const day = dayOf(client, fixedPlans[plan], quota);
          expect(day.metQuota).toBe(false);
          most = Math.max(most, day.sent);
        }),
        // The hardest: rejected too rarely to be suspended until the day is used up, and then as often as it was admitted.
        { numRuns: 10, examples: [[[{ eagerness: 1.05, rest: 0 }]]] },
      );
      expect(most, 'one client went to the limit of its kind').toBe(2 * fixedPlans[plan].perDay);
    },
  );
});

/**
 * A day of a client that sends more than it may, but nothing while one more rejection would make them outnumber
 * its admissions. The gateway counts all that it lets through, whatever the service answers then.
 */
function dayOf(
  habits: readonly { readonly eagerness: number; readonly rest: number }[],
  limits: Limits,
  quota: number,
): { readonly metQuota: boolean; readonly sent: number } {
  const service = new ReferenceLimiter();
  const use = new Map<string, number>();
  const today = utcDay(midnight);
  let [sent, admissions, rejections, metQuota] = [0, 0, 0, false];
  for (let minute = 0, turn = 0; minute < 24 * 60; turn += 1) {
    const { eagerness, rest } = habits[turn % habits.length]!;
    const now = midnight + minute * 60_000;
    for (let count = 0; count < eagerness * limits.perMinute; count += 1) {
      if (admissions > 0 && rejections >= admissions) break;
      const remaining = quotaRemaining({ limit: quota, period: 'DAY', offset: 0 }, use, now, midnight);
      metQuota ||= remaining === 0;
      sent += 1;
      use.set(today, sent);
      if (service.request(limits, now / 1000).kind === 'admitted') admissions += 1;
      else rejections += 1;
    }
    minute += 1 + rest;
  }
  return { metQuota, sent };
}
