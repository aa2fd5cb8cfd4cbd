import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fullBucket, quotaRemaining, takeToken, type Throttle, utcDay } from 'cdk-offline/metering';
import type { Limits } from '../../functions/access/plans.ts';
import { customPlanCeiling, type FixedPlan, fixedPlans } from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plan-settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import { ReferenceLimiter } from '../support/reference-limiter.ts';
import { rounds } from '../support/rounds.ts';

/**
 * What the usage plans promise: they never reject a client that stays within its plan's windows, and they let through
 * enough of a flood for the limiter to suspend the key. The arguments are beside `usagePlanSettings`.
 */
const midnight = Date.parse('2026-07-01T00:00:00Z');
const account = presets.prod.accountThrottle;

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

/** Those of the requests that a bucket rejects. */
function rejectedByBucket(throttle: Throttle, times: readonly number[]): number[] {
  let bucket = fullBucket(throttle, times[0] ?? 0);
  return times.filter((time) => {
    const taken = takeToken(throttle, bucket, time);
    bucket = taken.bucket;
    return !taken.admitted;
  });
}

/** The smallest bucket that admits what windows of `perMinute` admit. */
const smallest = (perMinute: number): Throttle => ({ rate: perMinute / 60, burst: 2 * perMinute });

function bucketOf(...settings: Parameters<typeof usagePlanSettings>): Throttle {
  const { rateLimit, burstLimit } = usagePlanSettings(...settings);
  return { rate: rateLimit, burst: burstLimit };
}

/** The hour of a hard test, in minutes. The second minute is as hard as every later one. */
const hour = rounds({ full: 60, sample: 5 });

/** The most that windows admit: a full minute at its very end, and every minute after it at its very start. */
function hardest(perMinute: number, minutes: number): number[] {
  return Array.from({ length: minutes }, (_, minute) => midnight + Math.max(59_999, minute * 60_000)).flatMap(
    (time) => Array.from({ length: perMinute }, () => time),
  );
}

describe('the bucket of a usage plan', () => {
  test('is clamped to what the account permits', () => {
    expect(bucketOf('enterprise', account)).toEqual({ rate: 1_320, burst: 5_000 });
    const small = { requestsPerSecond: 2_500, burst: 1_250 };
    expect(bucketOf('enterprise', small)).toEqual({ rate: 1_320, burst: 1_250 });
    expect(bucketOf('business', small)).toEqual({ rate: 50, burst: 1_250 });
    expect(bucketOf('pro', small)).toEqual(bucketOf('pro', account));
    expect(bucketOf('business', { requestsPerSecond: 10, burst: 1 })).toEqual({ rate: 10, burst: 1 });
  });

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
            // In proportion to the plan, so that windows fill up.
            return Array.from({ length: Math.ceil((requests * perMinute) / 30) }, () => time);
          });
          expect(rejectedByBucket(smallest(perMinute), admittedByWindows(perMinute, sent))).toEqual([]);
        },
      ),
    );
  });

  test.each(Object.keys(fixedPlans) as FixedPlan[])(
    'of the %s plan admits the hardest of them for an hour on end',
    (plan) => {
      const { perMinute } = fixedPlans[plan];
      const times = hardest(perMinute, hour);
      expect(admittedByWindows(perMinute, times)).toHaveLength(times.length);
      expect(rejectedByBucket(bucketOf(plan, account), times)).toEqual([]);
    },
  );

  test('could not have a smaller burst, nor gain less than the plan allows', () => {
    const { rate, burst } = smallest(60);
    const times = hardest(60, hour);
    expect(rejectedByBucket({ rate, burst: burst - 1 }, times).length).toBeGreaterThan(0);
    expect(rejectedByBucket({ rate: rate * 0.99, burst }, times).length).toBeGreaterThan(0);
  });

  test.each([5_000, 1_250])(
    'clamped to %d admits whatever windows of half of that a minute admit, and no more',
    (burst) => {
      const bucket = bucketOf('enterprise', { requestsPerSecond: 2_500, burst });
      expect(rejectedByBucket(bucket, hardest(burst / 2, hour))).toEqual([]);
      expect(rejectedByBucket(bucket, hardest(burst / 2 + 1, 3))).not.toEqual([]);
    },
  );

  test('of the enterprise plan admits the largest key when its requests are evenly spaced', () => {
    const times = Array.from({ length: 2 * customPlanCeiling.perMinute }, (_, index) => midnight + index);
    expect(rejectedByBucket(bucketOf('enterprise', account), times)).toEqual([]);
  });
});

/** A key that sends at a constant rate, whatever it is answered. */
interface Flood {
  readonly limits: Limits;
  /** Milliseconds after midnight. */
  readonly start: number;
  readonly requestsPerSecond: number;
  /** Requests of the day that were admitted before the flood. */
  readonly usedToday: number;
  /** Tokens in the bucket at the start, as a share of the burst. */
  readonly full: number;
}

/**
 * Milliseconds until the limiter suspends the key, if it does so within two minutes. limiter-decisions.test.ts compares the
 * service with the reference that is used here.
 */
function suspendedAfter({ rate, burst }: Throttle, flood: Flood): number | undefined {
  const { limits, start, requestsPerSecond, usedToday, full } = flood;
  let bucket = { ...fullBucket({ rate, burst }, midnight + start), tokens: full * burst };
  const limiter = new ReferenceLimiter();
  const today = { ...limits, perDay: limits.perDay - usedToday };
  for (let count = 0; count * 1000 <= 120_000 * requestsPerSecond; count += 1) {
    const elapsed = (count * 1000) / requestsPerSecond;
    const taken = takeToken({ rate, burst }, bucket, midnight + start + elapsed);
    bucket = taken.bucket;
    if (!taken.admitted) continue;
    const now = Math.floor((midnight + start + elapsed) / 1000);
    const left = now < midnight / 1000 + 86_400 ? today : limits;
    if (limiter.request(left, now).kind === 'suspended') return elapsed;
  }
  return undefined;
}

const floodOf = (limits: Limits, fastest: number): fc.Arbitrary<Flood> =>
  fc.record({
    limits: fc.constant(limits),
    start: fc.oneof(
      fc.integer({ min: 0, max: 59_999 }),
      fc.integer({ min: 86_400_000 - 120_000, max: 86_399_999 }),
    ),
    // From three times the limit.
    requestsPerSecond: fc.double({
      min: Math.max(5, (3 * limits.perMinute) / 60),
      max: fastest,
      noNaN: true,
    }),
    usedToday: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: limits.perDay })),
    full: fc.double({ min: 0, max: 1, noNaN: true }),
  });

describe('a flood that does not stop', () => {
  test.each(Object.entries(fixedPlans))(
    'gets a key of the %s plan suspended within two minutes, whenever it starts and however fast it is',
    (plan, limits) => {
      const bucket = bucketOf(plan as keyof typeof fixedPlans, account);
      fc.assert(
        fc.property(floodOf(limits, 250), (flood) => {
          expect(suspendedAfter(bucket, flood)).toBeLessThanOrEqual(120_000);
        }),
        { numRuns: rounds({ full: 60, sample: 20 }) },
      );
    },
  );

  test.each([60, 2_500, 60_000])(
    'gets a key of the enterprise plan with %d requests a minute suspended too, in every Region',
    (perMinute) => {
      const limits = { perMinute, perDay: perMinute * 1_440 };
      for (const of of [account, { requestsPerSecond: 2_500, burst: 1_250 }]) {
        fc.assert(
          fc.property(floodOf(limits, perMinute / 20 + 200), (flood) => {
            expect(suspendedAfter(bucketOf('enterprise', of), flood)).toBeLessThanOrEqual(120_000);
          }),
          {
            numRuns: perMinute === 60_000 ? rounds({ full: 4, sample: 1 }) : rounds({ full: 20, sample: 5 }),
          },
        );
      }
    },
  );

  test('could go unnoticed behind a bucket that gains no more than the plan allows', () => {
    const { free } = fixedPlans;
    const startingAt = (start: number) =>
      suspendedAfter(smallest(free.perMinute), {
        limits: free,
        start,
        requestsPerSecond: 200,
        usedToday: 0,
        full: 1,
      });
    const unnoticed = Array.from({ length: 60 }, (_, second) => startingAt(second * 1_000)).filter(
      (after) => after === undefined,
    );
    expect(unnoticed.length).toBeGreaterThan(0);
  });
});

describe('the quota of a usage plan', () => {
  const habits = fc.array(
    // Requests per minute in units of the plan's limit, and minutes of rest afterwards.
    fc.record({
      eagerness: fc.double({ min: 0.2, max: 4, noNaN: true }),
      rest: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 30 },
  );

  test.each(Object.keys(fixedPlans) as FixedPlan[])(
    'of the %s plan never rejects a client that is not rejected more often than admitted',
    (plan) => {
      const { quota = 0 } = usagePlanSettings(plan, account);
      let most = 0;
      fc.assert(
        fc.property(habits, (client) => {
          const day = dayOf(client, fixedPlans[plan], quota);
          expect(day.metQuota).toBe(false);
          most = Math.max(most, day.sent);
        }),
        // The extreme: rejected too rarely to be suspended until the day is used up, then as often as it was admitted.
        { numRuns: rounds({ full: 10, sample: 3 }), examples: [[[{ eagerness: 1.05, rest: 0 }]]] },
      );
      expect(most, 'one client used the whole quota').toBe(2 * fixedPlans[plan].perDay);
    },
  );
});

/**
 * A day of a client that exceeds its limits, but pauses when one more rejection would exceed its admissions. The
 * gateway counts every request that it passes on, whatever the service answers.
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
      const remaining = quotaRemaining({ limit: quota }, use, now);
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
