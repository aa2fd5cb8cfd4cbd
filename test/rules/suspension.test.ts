import { AnimalStore } from 'animal-store-client';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { suspensionThreshold, toleratedRate } from '../../functions/access/limiter-decisions.ts';
import { customPlanCeiling, fixedPlans, type Limits } from '../../functions/access/plans.ts';
import { usagePlanSettings } from '../../lib/api/usage-plan-settings.ts';
import { presets } from '../../lib/configuration/stages.ts';
import {
  fullBucket,
  quotaRemaining,
  takeToken,
  type Throttle,
  utcDay,
} from '../../tools/contributors/local/api-keys.ts';
import { LimitedKey, rejectionsThatSuspend } from '../service/limits.model.ts';
import { rounds } from '../support/rounds.ts';

/**
 * Whom the limits suspend, and what the usage plans of API Gateway let through, in virtual time. It follows from the model of the
 * limits alone: test/service/limits.test.ts shows that the service does the same. Times are in milliseconds.
 */
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const midnight = Date.parse('2026-07-01T00:00:00Z');
const noon = midnight + 12 * hour;
const account = presets.prod.accountThrottle;
const plans = { ...fixedPlans, 'tiny enterprise': { perMinute: 30, perDay: 43_200 } } as const;
type Name = keyof typeof plans;

/** A program that sends one request after the other, and what it waits between an answer and the next one. */
interface Sender {
  readonly starts: number;
  /** @param retryAfter of a 429, in seconds */
  next(retryAfter: number | undefined): number;
}

interface Conditions {
  readonly limits: Limits;
  readonly start?: number;
  readonly length?: number;
  /** The throttle of the usage plan, and its tokens at the start. API Gateway throttles on a best-effort basis, so perhaps none. */
  readonly throttle?: Throttle | undefined;
  readonly tokens?: number;
  readonly usedToday?: number;
}

/** Milliseconds until a key is suspended that these programs use. Undefined: it is not. */
function suspendedAfter(senders: readonly Sender[], conditions: Conditions): number | undefined {
  const { limits, start = noon, length = hour, throttle, usedToday = 0 } = conditions;
  const key = new LimitedKey(limits, { day: Math.floor(start / 86_400_000) * 86_400, dayCount: usedToday });
  let bucket = throttle && { ...fullBucket(throttle, start), tokens: conditions.tokens ?? throttle.burst };
  const due = new Map<number, [number, Sender][]>();
  const tick = 20;
  const schedule = (sender: Sender, at: number) => {
    const others = due.get(Math.floor(at / tick));
    if (others === undefined) due.set(Math.floor(at / tick), [[at, sender]]);
    else others.push([at, sender]);
  };
  for (const sender of senders) schedule(sender, start + sender.starts);
  for (let step = Math.floor(start / tick); step <= (start + length) / tick; step += 1) {
    // oxlint-disable-next-line unicorn/no-array-sort -- in place, because programs that go on within the step are added to it
    for (const [at, sender] of due.get(step)?.sort(([a], [b]) => a - b) ?? []) {
      const taken = throttle && bucket && takeToken(throttle, bucket, at);
      bucket = taken?.bucket;
      // API Gateway's own answer has a Retry-After of a minute.
      const answer =
        taken?.admitted === false ? { kind: 'rejected', retryAfter: 60 } : key.request(Math.floor(at / 1000));
      if (answer.kind === 'suspended') return at - start;
      schedule(sender, at + sender.next(answer.retryAfter));
    }
    due.delete(step);
  }
  return undefined;
}

function throttleOf(...settings: Parameters<typeof usagePlanSettings>): Throttle {
  const { rateLimit, burstLimit } = usagePlanSettings(...settings);
  return { rate: rateLimit, burst: burstLimit };
}

/** Runs the senders without the usage plan, and with it as deployed. */
function bothWays(name: Name, senders: () => readonly Sender[], more: Omit<Conditions, 'limits'> = {}) {
  const throttle = throttleOf(name === 'tiny enterprise' ? 'enterprise' : name, account);
  return [undefined, throttle].map((each) =>
    suspendedAfter(senders(), { limits: plans[name], throttle: each, ...more }),
  );
}
const never = [undefined, undefined];

describe('clients that obey Retry-After are never suspended:', () => {
  let state = 7;
  /** The same in each run. */
  const random = () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
  const latency = () => 50 + 250 * random();
  type NewSender = (pause: number) => Sender;
  const fleet = (size: number, of: NewSender, pause: number) => () =>
    Array.from({ length: size }, () => of(pause * second));

  const obeying: NewSender = (pause) => ({
    starts: random() * pause,
    next: (retryAfter) => latency() + (retryAfter === undefined ? pause : (retryAfter + random()) * second),
  });

  /** The program in docs/write-a-client.md. After it has given up, it waits as long. */
  const apiGuide: NewSender = (pause) => {
    let attempt = 0;
    return {
      starts: random() * pause,
      next: (retryAfter) => {
        const jitter = random() * Math.min(2 ** attempt, 5);
        attempt = retryAfter === undefined || attempt === 5 ? 0 : attempt + 1;
        return latency() + (retryAfter === undefined ? pause : (retryAfter + jitter) * second);
      },
    };
  };

  /** The least and the longest wait of the TypeScript client after each attempt, by `Retry-After` in seconds. */
  const clientWaits = new Map<number, (readonly [number, number])[]>();
  const longestWaited = 60;

  beforeAll(async () => {
    vi.useFakeTimers();
    const drawn = vi.spyOn(Math, 'random');
    const waitsFor = async (retryAfter: number, draw: number) => {
      drawn.mockReturnValue(draw);
      const waits: number[] = [];
      const headers = { 'Retry-After': String(retryAfter) };
      const store = new AnimalStore({
        baseUrl: 'https://api.example.com/v1',
        apiKey: 'key',
        fetch: async () => new Response('{}', { status: 429, headers }),
        onRetry: ({ delay }) => waits.push(delay),
      });
      await Promise.all([store.pets.list().catch(() => {}), vi.runAllTimersAsync()]);
      return waits;
    };
    for (let retryAfter = 1; retryAfter <= longestWaited + 1; retryAfter += 1) {
      const [least, longest] = [await waitsFor(retryAfter, 0), await waitsFor(retryAfter, 1 - 2 ** -53)];
      clientWaits.set(
        retryAfter,
        least.map((each, attempt) => [each, longest[attempt]!]),
      );
    }
    drawn.mockRestore();
    vi.useRealTimers();
  });

  test('the TypeScript client waits five times, each time for a minute at most, or not at all', () => {
    expect([clientWaits.get(1)!.length, clientWaits.get(60)!.length, clientWaits.get(61)]).toEqual([
      5,
      5,
      [],
    ]);
    for (const [retryAfter, waits] of clientWaits)
      for (const [least, longest] of waits)
        expect([least, longest > least]).toEqual([retryAfter * second, true]);
  });

  /** The TypeScript client. What it throws is not handled: the next call follows after `pause`. */
  const typescriptClient: NewSender = (pause) => {
    let attempt = 0;
    return {
      starts: random() * pause,
      next: (retryAfter = 0) => {
        const wait = clientWaits.get(Math.min(retryAfter, longestWaited + 1))?.[attempt];
        attempt = wait === undefined ? 0 : attempt + 1;
        if (wait === undefined) return latency() + Math.max(pause, retryAfter <= longestWaited ? 0 : hour);
        const [least, longest] = wait;
        return latency() + least + random() * (longest - least);
      },
    };
  };

  test.each<[Name, number, number]>([
    ['pro', 270, 30],
    ['business', 900, 30],
    // Fleets of any size send twice the limit.
    ['free', 60, 30],
    ['free', 180, 90],
    ['pro', 300, 30],
    ['pro', 450, 45],
    ['pro', 900, 90],
    ['business', 1_500, 45],
    ['business', 10_000, 300],
    ['tiny enterprise', 30, 30],
    ['tiny enterprise', 3_600, 3_600],
  ])('%s, %d programs, each with a request in %d s', (name, size, pause) => {
    expect(bothWays(name, fleet(size, obeying, pause))).toEqual(never);
  });

  test.each<[Name, number]>([
    ['free', 3_600],
    ['pro', 18_000],
  ])('%s, %d programs with twice the limit, without the usage plan', (name, size) => {
    const limits = plans[name];
    expect(
      suspendedAfter(fleet(size, obeying, (size / limits.perMinute / 2) * 60)(), { limits }),
    ).toBeUndefined();
  });

  describe.each([
    ['the program in write-a-client.md', apiGuide],
    ['the TypeScript client', typescriptClient],
  ])('500 times %s,', (_name, sender) => {
    test.each<[Name, number[]]>([
      ['free', [0, 1, 5, 180]],
      ['pro', [0, 15, 30, 60]],
      ['business', [0, 15]],
    ])('%s, %j s between an answer and the next request', (name, pauses) => {
      for (const pause of pauses)
        expect(bothWays(name, fleet(500, sender, pause)), `${pause} s`).toEqual(never);
    });
  });

  test('one that backs off exponentially without Retry-After, on any limits and at any pace', () => {
    const limits = fc.record({
      perMinute: fc.integer({ min: 1, max: 60 }),
      perDay: fc.integer({ min: 1, max: 200 }),
    });
    fc.assert(
      fc.property(
        limits,
        fc.integer({ min: 50, max: 2_000 }),
        fc.integer({ min: 20, max: 2_000 }),
        (of, first, pace) => {
          let delay = first;
          const next = (retryAfter?: number) => {
            const wait = retryAfter === undefined ? pace : delay;
            delay = retryAfter === undefined ? first : delay * 2;
            return wait;
          };
          expect(
            suspendedAfter([{ starts: 0, next }], { limits: of, start: midnight - 12_000 }),
          ).toBeUndefined();
        },
      ),
      { numRuns: 30 },
    );
  });

  test.each([
    ['free', 234],
    ['pro', 420],
    ['business', 1_150],
  ] as const)(
    '%s, %d requests at once, 200 more before the 429 arrive, and the same in the next minute',
    (name, count) => {
      const key = new LimitedKey(fixedPlans[name], {
        minute: noon / 1000 - 3_600,
        rejectedSince: noon / 1000 - 3_590,
        rejections: 200,
      });
      for (const [size, at] of [
        [count, 0],
        [200, 9],
        [count, 60],
        [200, 69],
      ] as const)
        for (let each = 0; each < size; each += 1)
          expect(key.request(noon / 1000 + at).kind).not.toBe('suspended');
    },
  );

  test('but 500 with a Free key and one that goes on cannot be told apart from a flood (docs/limits.md#exceptions)', () => {
    expect(bothWays('free', fleet(500, apiGuide, 30))[0]).toBeLessThan(minute);
  });
});

/** A client that ignores what it is answered, for a part of each minute. */
function flood(perSecond: number, part = minute): Sender[] {
  const pause = second / perSecond;
  let time = 0;
  const next = () => {
    const wait = time + pause < part ? pause : minute - time;
    time = (time + wait) % minute;
    return wait;
  };
  return [{ starts: 0, next }];
}

describe('a flood', () => {
  const twoMinutes = { length: 2 * minute + second };

  test.each<Name>(['free', 'pro', 'business', 'tiny enterprise'])(
    '%s, of three times its limit or more is suspended within two minutes, whenever it starts',
    (name) => {
      const least = Math.max(5, plans[name].perMinute / 20);
      for (const perSecond of [least, ...[20, 300].filter((more) => more > least)]) {
        expect(perSecond * 60).toBeGreaterThan(toleratedRate(plans[name]));
        for (let start = noon; start < noon + minute; start += 3 * second)
          for (const after of bothWays(name, () => flood(perSecond), { start, ...twoMinutes }))
            expect(after, `${perSecond} a second from ${(start - noon) / second} s`).toBeLessThanOrEqual(
              2 * minute,
            );
      }
    },
  );

  const ofEnterprise = [60, 2_500, 60_000].map(
    (perMinute) => ['enterprise', { perMinute, perDay: perMinute * 1_440 }] as const,
  );
  test.each([...Object.entries(fixedPlans), ...ofEnterprise])(
    '%s, %j, is suspended in every Region, whatever was used of its day and of its bucket',
    (plan, limits) => {
      const rates = {
        min: Math.max(5, limits.perMinute / 20),
        max: plan === 'enterprise' ? limits.perMinute / 20 + 200 : 250,
      };
      const start = fc.oneof(
        fc.integer({ min: 0, max: minute - 1 }),
        fc.integer({ min: -2 * minute, max: -1 }),
      );
      const share = fc.double({ min: 0, max: 1, noNaN: true });
      const used = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: limits.perDay }));
      const regions =
        plan === 'enterprise' ? [account, { requestsPerSecond: 2_500, burst: 1_250 }] : [account];
      const runs = limits.perMinute === 60_000 ? { full: 4, sample: 1 } : { full: 40, sample: 10 };
      fc.assert(
        fc.property(
          start,
          fc.double({ ...rates, noNaN: true }),
          used,
          share,
          (after, perSecond, usedToday, full) => {
            for (const region of regions) {
              const throttle = throttleOf(plan as keyof typeof fixedPlans, region);
              const given = {
                limits,
                start: midnight + after,
                usedToday,
                throttle,
                tokens: full * throttle.burst,
              };
              expect(suspendedAfter(flood(perSecond), { ...given, ...twoMinutes })).toBeLessThanOrEqual(
                2 * minute,
              );
            }
          },
        ),
        { numRuns: rounds(runs) },
      );
    },
  );

  test('could go unnoticed behind a throttle that gains no more than the plan allows', () => {
    const found = Array.from({ length: 60 }, (_, from) =>
      suspendedAfter(flood(200), {
        limits: fixedPlans.free,
        start: midnight + from * second,
        throttle: smallest(60),
        ...twoMinutes,
      }),
    );
    expect(found).toContain(undefined);
  });

  test('of 300 requests a second for 9.9 seconds of each minute cannot be told apart from a wave (docs/limits.md#exceptions)', () => {
    expect(bothWays('tiny enterprise', () => flood(300, 9_900))).toEqual(never);
  });
});

/** The smallest throttle that admits what a plan of `perMinute` admits. */
const smallest = (perMinute: number): Throttle => ({ rate: perMinute / 60, burst: 2 * perMinute });

describe('the throttle of a usage plan', () => {
  const admittedByLimits = (perMinute: number, times: readonly number[]) => {
    const key = new LimitedKey({ perMinute, perDay: Infinity });
    return times.filter((time) => key.request(Math.floor(time / second)).kind === 'admitted');
  };
  const rejectedBy = (throttle: Throttle, times: readonly number[]) => {
    let bucket = fullBucket(throttle, times[0] ?? 0);
    return times.filter((time) => {
      const taken = takeToken(throttle, bucket, time);
      bucket = taken.bucket;
      return !taken.admitted;
    });
  };
  /** The hour of a hard test, in minutes. The second minute is as hard as every later one. */
  const minutes = rounds({ full: 60, sample: 5 });
  /** The most that limits admit: a full minute at its very end, and every minute after it at its very start. */
  const hardest = (perMinute: number, of = minutes) =>
    Array.from({ length: of }, (_, each) =>
      Array<number>(perMinute).fill(midnight + Math.max(minute - 1, each * minute)),
    ).flat();

  test('is clamped to what the account permits', () => {
    expect(throttleOf('enterprise', account)).toEqual({ rate: 1_320, burst: 5_000 });
    const small = { requestsPerSecond: 2_500, burst: 1_250 };
    expect(throttleOf('enterprise', small)).toEqual({ rate: 1_320, burst: 1_250 });
    expect(throttleOf('business', small)).toEqual({ ...throttleOf('business', account), burst: 1_250 });
    expect(throttleOf('pro', small)).toEqual(throttleOf('pro', account));
    expect(throttleOf('business', { requestsPerSecond: 10, burst: 1 })).toEqual({ rate: 10, burst: 1 });
  });

  test('admits every sequence of requests that the limits admit', () => {
    const volley = fc.record({
      wait: fc.oneof(fc.constantFrom(0, 1, minute - 1, minute), fc.integer({ min: 0, max: 150_000 })),
      requests: fc.integer({ min: 1, max: 60 }),
    });
    const ofPlan = fc.constantFrom(...Object.values(fixedPlans)).map(({ perMinute }) => perMinute);
    const volleys = fc.array(volley, { minLength: 5, maxLength: 60 });
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 1, max: 40 }), ofPlan),
        fc.integer({ min: 0, max: 2 * minute }),
        volleys,
        (perMinute, start, all) => {
          let time = midnight + start;
          const sent = all.flatMap(({ wait, requests }) => {
            time += wait;
            // Requests are in proportion to the plan, so that windows fill up.
            return Array<number>(Math.ceil((requests * perMinute) / 30)).fill(time);
          });
          expect(rejectedBy(smallest(perMinute), admittedByLimits(perMinute, sent))).toEqual([]);
        },
      ),
    );
  });

  test.each(Object.entries(fixedPlans))(
    'of the plan %s admits the hardest of them for an hour on end',
    (plan, { perMinute }) => {
      const times = hardest(perMinute);
      expect(admittedByLimits(perMinute, times)).toHaveLength(times.length);
      expect(rejectedBy(throttleOf(plan as keyof typeof fixedPlans, account), times)).toEqual([]);
    },
  );

  test('could not have a smaller burst, nor gain less than the plan allows', () => {
    const { rate, burst } = smallest(60);
    expect(rejectedBy({ rate, burst: burst - 1 }, hardest(60)).length).toBeGreaterThan(0);
    expect(rejectedBy({ rate: rate * 0.99, burst }, hardest(60)).length).toBeGreaterThan(0);
  });

  test.each([5_000, 1_250])(
    'clamped to %d admits what limits of half of that a minute admit, and no more',
    (burst) => {
      const throttle = throttleOf('enterprise', { requestsPerSecond: 2_500, burst });
      expect(rejectedBy(throttle, hardest(burst / 2))).toEqual([]);
      expect(rejectedBy(throttle, hardest(burst / 2 + 1, 3))).not.toEqual([]);
    },
  );

  test('of the enterprise plan admits the largest key when its requests are evenly spaced', () => {
    const times = Array.from({ length: 2 * customPlanCeiling.perMinute }, (_, index) => midnight + index);
    expect(rejectedBy(throttleOf('enterprise', account), times)).toEqual([]);
  });
});

describe('the quota of a usage plan', () => {
  // `eagerness` is requests per minute in units of the plan's limit, `rest` is minutes afterwards.
  const habits = fc.array(
    fc.record({
      eagerness: fc.double({ min: 0.2, max: 4, noNaN: true }),
      rest: fc.integer({ min: 0, max: 4 }),
    }),
    { minLength: 1, maxLength: 30 },
  );

  test.each(Object.entries(fixedPlans))(
    'of the plan %s never rejects a client that is not rejected more often than admitted',
    (plan, limits) => {
      const { quota = 0 } = usagePlanSettings(plan as keyof typeof fixedPlans, account);
      let most = 0;
      fc.assert(
        fc.property(habits, (client) => {
          const key = new LimitedKey(limits);
          const use = new Map<string, number>();
          let [sent, admissions, metQuota] = [0, 0, false];
          for (let now = midnight, turn = 0; now < midnight + 24 * hour; turn += 1) {
            const { eagerness, rest } = client[turn % client.length]!;
            // It pauses when one more rejection would exceed its admissions.
            for (
              let count = 0;
              count < eagerness * limits.perMinute && (sent === 0 || sent < 2 * admissions);
              count += 1
            ) {
              metQuota ||= quotaRemaining({ limit: quota }, use, now) === 0;
              // API Gateway counts every request that it passes on, whatever the service answers.
              use.set(utcDay(midnight), (sent += 1));
              if (key.request(now / second).kind === 'admitted') admissions += 1;
            }
            now += (1 + rest) * minute;
          }
          expect(metQuota).toBe(false);
          most = Math.max(most, sent);
        }),
        // The example is the extreme: rejected too rarely to be suspended until the day is used up, then as often as it was admitted.
        { numRuns: rounds({ full: 10, sample: 3 }), examples: [[[{ eagerness: 1.05, rest: 0 }]]] },
      );
      expect(most, 'one client used the whole quota').toBe(2 * limits.perDay);
    },
  );
});

test('after Retry-After a request is admitted, and a second earlier none is', () => {
  const limits = fc.record({
    perMinute: fc.integer({ min: 1, max: 7 }),
    perDay: fc.integer({ min: 1, max: 40 }),
  });
  const volley = fc.record({
    wait: fc.oneof(fc.integer({ min: 0, max: 90 }), fc.constantFrom(9, 10, 11, 599, 600, 601, 80_000)),
    requests: fc.constantFrom(1, 5, 12, 280),
  });
  let rejections = 0;
  fc.assert(
    fc.property(limits, fc.array(volley, { minLength: 1, maxLength: 12 }), (of, volleys) => {
      const key = new LimitedKey(of);
      let now = midnight / second - 12;
      const kindAt = (time: number) => new LimitedKey(of, key.stored).request(time).kind;
      for (const { wait, requests } of volleys) {
        now += wait;
        for (let each = 0; each < requests; each += 1) {
          const { retryAfter } = key.request(now);
          if (retryAfter === undefined) continue;
          rejections += 1;
          expect(kindAt(now + retryAfter)).toBe('admitted');
          expect(kindAt(now + retryAfter - 1)).not.toBe('admitted');
        }
      }
    }),
  );
  expect(rejections).toBeGreaterThan(0);
});

// A key is suspended at the rate that its plan tolerates, from 10 seconds after the first rejection to the end of the minute, or for half a minute.
test.each([
  [60, 0, 225],
  [60, 20, 135],
  [60, 59, 135],
  [300, 0, 625],
  [300, 20, 375],
  [1_000, 0, 2_084],
  [1_000, 20, 1_250],
  [60_000, 0, 8_334],
  [1, 0, 225],
])(
  'with %d requests a minute, first rejected at second %d, rejection %d suspends',
  (perMinute, at, rejections) => {
    expect(rejectionsThatSuspend(perMinute, noon / second + at)).toBe(rejections);
    expect(suspensionThreshold(noon / second + at, { perMinute, perDay: 1e9 })).toBe(rejections);
  },
);
