import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  clockTolerance,
  decide,
  type Decision,
  decisionAfter,
  type Limits,
  suspensionDue,
  unused,
  unusedStatus,
  type Usage,
  windowsAt,
} from '../../../functions/access/limits.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { rateHeaders } from '../../../functions/http/rate-headers.ts';
import { type Expectation, headersOf, ReferenceLimiter } from '../../support/reference-limiter.ts';
import { usageAfter } from '../../support/usage-model.ts';

/** 12 seconds before a midnight, so that both windows turn early in every simulation. */
const evening = Date.parse('2026-03-31T23:59:48Z') / 1000;

const noon = Date.parse('2026-04-01T12:00:00Z') / 1000;
const { free } = fixedPlans;

/** The service's decisions, one request after the other on one stored usage. */
class Limiter {
  #usage: Usage = unused;

  /** The kind of the answer to a request at `now`, without sending it. */
  wouldBe(limits: Limits, now: number): Decision['kind'] {
    const transition = decide(this.#usage, limits, now);
    return decisionAfter(transition, usageAfter(this.#usage, transition, now), limits, now).kind;
  }

  request(limits: Limits, now: number): Decision {
    const transition = decide(this.#usage, limits, now);
    this.#usage = usageAfter(this.#usage, transition, now);
    return decisionAfter(transition, this.#usage, limits, now);
  }
}

/** Sends `count` requests in the same second and gives the last answer. */
function burst(limiter: Limiter, count: number, limits: Limits, now: number): Decision {
  return Array.from({ length: count }, () => limiter.request(limits, now)).at(-1)!;
}

/** A decision in the words of the reference. */
function inWords({ kind, status: { minute, day }, ...rest }: Decision): Expectation {
  return {
    kind,
    minute: { limit: minute.limit, remaining: minute.remaining, reset: minute.reset },
    day: { limit: day.limit, remaining: day.remaining, reset: day.reset },
    retryAfter: 'retryAfter' in rest ? rest.retryAfter : undefined,
  };
}

/** The three headers of the interface. */
function threeHeaders({ status }: Decision, now: number): Readonly<Record<string, string>> {
  const ofInterface = Object.entries(rateHeaders(status, now)).filter(([name]) =>
    name.startsWith('X-RateLimit-'),
  );
  return Object.fromEntries(ofInterface);
}

describe('random traffic over simulated time', () => {
  const limits = fc.record({
    perMinute: fc.integer({ min: 1, max: 7 }),
    perDay: fc.integer({ min: 1, max: 40 }),
  });
  const volley = fc.record({
    wait: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 90 }),
      fc.constantFrom(599, 600, 601),
      fc.integer({ min: 3_600, max: 200_000 }),
    ),
    /** Seconds by which the clock of the function lags behind. */
    lag: fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 1, max: clockTolerance })),
    requests: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 90, max: 130 })),
    newLimits: fc.option(limits, { nil: undefined, freq: 8 }),
  });

  test('gets the decisions and headers of two plain fixed windows', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(limits, fc.array(volley, { minLength: 1, maxLength: 12 }), (atFirst, volleys) => {
        const limiter = new Limiter();
        const reference = new ReferenceLimiter();
        let time = evening;
        let inForce = atFirst;
        const told: object[] = [];
        const wanted: object[] = [];
        for (const { wait, lag, requests, newLimits } of volleys) {
          time += wait;
          inForce = newLimits ?? inForce;
          for (let request = 0; request < requests; request += 1) {
            const now = time - lag;
            const decision = limiter.request(inForce, now);
            const expected = reference.request(inForce, now);
            seen.add(decision.kind);
            told.push({ ...threeHeaders(decision, now), ...inWords(decision) });
            wanted.push({ ...headersOf(expected), ...expected });
          }
        }
        // One comparison for all: thousands of them take their time.
        expect(told).toEqual(wanted);
      }),
      { numRuns: 100 },
    );
    // The traffic must have been rough enough to prove anything.
    expect(seen).toEqual(new Set(['admitted', 'rejected', 'suspended']));
  });

  test('has a Retry-After that ends at X-RateLimit-Reset, and not before a request is admitted', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(limits, fc.array(volley, { minLength: 1, maxLength: 12 }), (inForce, volleys) => {
        const limiter = new Limiter();
        let time = evening;
        const told: object[] = [];
        const wanted: object[] = [];
        for (const { wait, lag, requests } of volleys) {
          time += wait;
          for (let request = 0; request < requests; request += 1) {
            // A function that is a day behind would be told the longest Retry-After, one day.
            const now = time - lag;
            const decision = limiter.request(inForce, now);
            if (decision.kind === 'admitted') continue;
            const { minute, day, inForce: window } = decision.status;
            const bothFull = minute.remaining === 0 && day.remaining === 0;
            seen.add(`${decision.kind}, ${bothFull ? 'both full' : window}`);
            const end = now + decision.retryAfter;
            told.push({
              reset: Number(threeHeaders(decision, now)['X-RateLimit-Reset']),
              atTheEnd: limiter.wouldBe(inForce, end),
              justBefore: limiter.wouldBe(inForce, end - 1) === 'admitted',
            });
            wanted.push({ reset: end, atTheEnd: 'admitted', justBefore: false });
          }
        }
        expect(told).toEqual(wanted);
      }),
      { numRuns: 100 },
    );
    expect(seen).toEqual(
      new Set([
        'rejected, minute',
        'rejected, day',
        'rejected, both full',
        'suspended, minute',
        'suspended, both full',
      ]),
    );
  });

  test('never admits more than the limit in any minute or day', () => {
    fc.assert(
      fc.property(limits, fc.array(volley, { minLength: 1, maxLength: 12 }), (inForce, volleys) => {
        const limiter = new Limiter();
        const admitted = new Map<string, number>();
        let time = evening;
        for (const { wait, requests } of volleys) {
          time += wait;
          for (let request = 0; request < requests; request += 1) {
            if (limiter.request(inForce, time).kind !== 'admitted') continue;
            for (const window of [`minute ${Math.floor(time / 60)}`, `day ${Math.floor(time / 86_400)}`]) {
              admitted.set(window, (admitted.get(window) ?? 0) + 1);
            }
          }
        }
        const most = (unit: string) =>
          Math.max(...[...admitted].filter(([window]) => window.startsWith(unit)).map(([, count]) => count));
        expect(most('minute')).toBeLessThanOrEqual(inForce.perMinute);
        expect(most('day')).toBeLessThanOrEqual(inForce.perDay);
      }),
    );
  });
});

describe('a key of the Free plan', () => {
  test('may send 60 requests in a minute, and more after the end of the minute', () => {
    const limiter = new Limiter();
    for (let sent = 1; sent <= 60; sent += 1) {
      const decision = limiter.request(free, evening);
      expect(decision).toMatchObject({ kind: 'admitted', status: { minute: { remaining: 60 - sent } } });
    }
    expect(limiter.request(free, evening)).toMatchObject({ kind: 'rejected', retryAfter: 12 });
    expect(limiter.request(free, evening + 11)).toMatchObject({ kind: 'rejected', retryAfter: 1 });
    expect(limiter.request(free, evening + 12)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 } },
    });
  });

  test('may send 1,000 requests in a day, and more after midnight UTC', () => {
    const limiter = new Limiter();
    const midnight = Date.parse('2026-04-02T00:00:00Z') / 1000;
    const morning = midnight - 86_400;
    for (let minute = 0; minute < 16; minute += 1) burst(limiter, 60, free, morning + minute * 60);
    expect(burst(limiter, 40, free, morning + 16 * 60)).toMatchObject({
      kind: 'admitted',
      status: { day: { limit: 1_000, remaining: 0, reset: midnight } },
    });
    for (const now of [morning + 16 * 60, morning + 17 * 60, midnight - 1]) {
      const decision = limiter.request(free, now);
      expect(decision).toMatchObject({ kind: 'rejected', retryAfter: midnight - now });
      expect(rateHeaders(decision.status, now)).toMatchObject({
        'X-RateLimit-Limit': '1000',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': String(midnight),
      });
    }
    expect(limiter.request(free, midnight)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 }, day: { remaining: 999 } },
    });
  });

  test('with both windows full waits for the later one', () => {
    const limiter = new Limiter();
    expect(burst(limiter, 3, { perMinute: 2, perDay: 2 }, noon)).toMatchObject({
      kind: 'rejected',
      retryAfter: 43_200,
    });
  });

  test('is suspended for ten minutes by its 100th rejection in a minute, and further requests do not extend that', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    expect(burst(limiter, 60 + 99, free, start)).toMatchObject({ kind: 'rejected', retryAfter: 60 });
    expect(limiter.request(free, start + 5)).toMatchObject({
      kind: 'suspended',
      retryAfter: 600,
      status: { minute: { remaining: 0, reset: start + 605 } },
    });
    expect(burst(limiter, 500, free, start + 300)).toMatchObject({ kind: 'suspended', retryAfter: 305 });
    expect(limiter.request(free, start + 604)).toMatchObject({ kind: 'suspended', retryAfter: 1 });
    expect(limiter.request(free, start + 605)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 }, day: { remaining: 939 } },
    });
  });

  test('suspended by an operator for longer than a day has a Retry-After of a day', () => {
    const usage = { ...unused, suspendedUntil: noon + 1_000_000_000 };
    expect(decisionAfter(decide(usage, free, noon), usage, free, noon)).toMatchObject({
      kind: 'suspended',
      retryAfter: 86_400,
      status: { minute: { remaining: 0, reset: noon + 86_400 } },
    });
  });

  test('is not suspended by 99 rejections in one minute and 99 in the next', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    for (const minute of [0, 1, 2, 3]) {
      expect(burst(limiter, 60 + 99, free, start + 60 * minute).kind).toBe('rejected');
    }
  });

  test('is not suspended by fewer than 100 rejections a minute after its day is full', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    for (const minute of [0, 1, 2, 3]) {
      const sent = minute === 0 ? 100 : 99;
      expect(burst(limiter, sent, { perMinute: 5, perDay: 1 }, start + 60 * minute).kind).toBe('rejected');
    }
    expect(burst(limiter, 1, { perMinute: 5, perDay: 1 }, start + 180).kind).toBe('suspended');
  });

  test('suspended over midnight shows the new day', () => {
    const limiter = new Limiter();
    burst(limiter, 60 + 100, free, evening);
    expect(limiter.request(free, evening + 100)).toMatchObject({
      kind: 'suspended',
      retryAfter: 500,
      status: { day: { remaining: 1_000, reset: evening + 12 + 86_400 } },
    });
  });
});

describe('a client that backs off exponentially from its first 429', () => {
  test('is never suspended, on any limits and at any pace', () => {
    fc.assert(
      fc.property(
        fc.record({ perMinute: fc.integer({ min: 1, max: 60 }), perDay: fc.integer({ min: 1, max: 200 }) }),
        fc.integer({ min: 50, max: 2_000 }),
        fc.integer({ min: 0, max: 2_000 }),
        (limits, firstDelay, pace) => {
          const limiter = new Limiter();
          const kinds = new Set<string>();
          let delay = firstDelay;
          let time = evening * 1000;
          for (let request = 0; request < 600; request += 1) {
            const decision = limiter.request(limits, Math.floor(time / 1000));
            kinds.add(decision.kind);
            time += decision.kind === 'admitted' ? pace : delay;
            delay = decision.kind === 'admitted' ? firstDelay : delay * 2;
          }
          expect(kinds).not.toContain('suspended');
        },
      ),
    );
  });
});

test('a request during a suspension changes nothing, whatever its windows', () => {
  const limits = { perMinute: 2, perDay: 100 };
  for (const now of [noon, noon + 60, noon + 86_400]) {
    const usage = { ...unused, minute: noon, day: noon - 43_200, suspendedUntil: now + 1 };
    expect(decide(usage, limits, now).kind).toBe('suspended');
    expect(decide({ ...usage, suspendedUntil: now }, limits, now).kind).not.toBe('suspended');
  }
});

test('a suspension is due from the 100th rejection on, unless the key is already suspended', () => {
  expect(suspensionDue({ ...unused, rejections: 99 }, noon)).toBe(false);
  expect(suspensionDue({ ...unused, rejections: 100, suspendedUntil: noon }, noon)).toBe(true);
  expect(suspensionDue({ ...unused, rejections: 101, suspendedUntil: noon + 1 }, noon)).toBe(false);
});

test('both windows full until the same midnight, the minute is in force', () => {
  const limits = { perMinute: 1, perDay: 1 };
  const { minute, day } = windowsAt(evening);
  const usage = { ...unused, minute, minuteCount: 1, day, dayCount: 1 };
  const { status } = decisionAfter(decide(usage, limits, evening), usage, limits, evening);
  expect(status.minute.reset).toBe(status.day.reset);
  expect(status.inForce).toBe('minute');
});

describe('a slow clock', () => {
  const limits = { perMinute: 2, perDay: 100 };

  test('never reopens a minute that another function has ended', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    burst(limiter, 2, limits, start);
    expect(burst(limiter, 2, limits, start + 60).kind).toBe('admitted');
    expect(limiter.request(limits, start + 59)).toMatchObject({ kind: 'rejected', retryAfter: 61 });
    expect(limiter.request(limits, start + 60)).toMatchObject({ kind: 'rejected', retryAfter: 60 });
  });

  test('counts in the current windows, not in its own', () => {
    const open = { ...unused, minute: noon + 60, minuteCount: 1, day: noon - 43_200, dayCount: 1 };
    expect(decide(open, limits, noon + 59)).toEqual({
      kind: 'count',
      windows: { minute: noon + 60, day: noon - 43_200 },
    });
  });

  test('never reopens a day that another function has ended', () => {
    const limiter = new Limiter();
    const midnight = evening + 12;
    const oneADay = { perMinute: 10, perDay: 1 };
    expect(limiter.request(oneADay, midnight).kind).toBe('admitted');
    expect(limiter.request(oneADay, midnight - 1)).toMatchObject({ kind: 'rejected', retryAfter: 86_401 });
  });
});

describe('a plan that is changed within a window', () => {
  test('counts earlier requests, and never shows a negative number of requests', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    burst(limiter, 50, { perMinute: 60, perDay: 1_000 }, start);
    expect(limiter.request({ perMinute: 10, perDay: 1_000 }, start)).toMatchObject({
      kind: 'rejected',
      status: { minute: { limit: 10, remaining: 0 } },
    });
    expect(limiter.request({ perMinute: 300, perDay: 10_000 }, start)).toMatchObject({
      kind: 'admitted',
      status: { minute: { limit: 300, remaining: 249 }, day: { remaining: 9_949 } },
    });
  });
});

test('the status of an unused key is its full allowance', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (now) => {
      const { minute, day } = unusedStatus({ perMinute: 60, perDay: 1_000 }, now);
      expect([minute.remaining, day.remaining]).toEqual([60, 1_000]);
      expect([minute.name, day.name]).toEqual(['minute', 'day']);
      expect([minute.length, day.length]).toEqual([60, 86_400]);
      expect([minute.reset, day.reset]).toEqual([
        (Math.floor(now / 60) + 1) * 60,
        (Math.floor(now / 86_400) + 1) * 86_400,
      ]);
    }),
  );
});

describe('the window in force', () => {
  const statusWith = (minuteLeft: number, dayLeft: number) => {
    const limits = { perMinute: 60, perDay: 1_000 };
    const { minute, day } = windowsAt(noon);
    const usage = { ...unused, minute, minuteCount: 60 - minuteLeft, day, dayCount: 1_000 - dayLeft };
    return decisionAfter(decide(usage, limits, noon), usage, limits, noon).status;
  };

  test.each([
    ['the minute while it has the fewest requests remaining', 59, 999, 'minute'],
    ['the day once it has fewer', 59, 58, 'day'],
    ['the minute on a tie', 10, 10, 'minute'],
    ['the day if both are full, since a retry in the next minute would be rejected again', 0, 0, 'day'],
  ] as const)('is %s', (_when, minuteLeft, dayLeft, inForce) => {
    expect(statusWith(minuteLeft, dayLeft).inForce).toBe(inForce);
  });

  test('has the fewest requests remaining', () => {
    fc.assert(
      fc.property(fc.nat({ max: 60 }), fc.nat({ max: 1_000 }), (minuteLeft, dayLeft) => {
        const status = statusWith(minuteLeft, dayLeft);
        expect(status[status.inForce].remaining).toBe(Math.min(minuteLeft, dayLeft));
      }),
    );
  });
});

describe('a stored window that starts ahead of the time', () => {
  const full = { ...unused, minuteCount: 60, dayCount: 1_000, rejections: 99 };
  const { minute, day } = windowsAt(noon);

  test('by a minute or less is of another clock, and counts', () => {
    const usage = { ...full, minute: noon + clockTolerance, day };
    expect(decide(usage, free, noon)).toEqual({ kind: 'reject', windows: { minute: noon + 60, day } });
  });

  test.each([clockTolerance + 1, 3_600, 86_400])(
    'by %d s is not trusted: the minute starts again',
    (ahead) => {
      const usage = { ...full, dayCount: 7, minute: noon + ahead, day };
      const transition = decide(usage, free, noon);
      expect(transition).toEqual({ kind: 'startMinute', windows: { minute, day } });
      // As it is shown when the write that starts the minute is lost, and while the key is suspended.
      const { status } = decisionAfter(transition, { ...usage, suspendedUntil: noon + 10 }, free, noon);
      expect(status).toMatchObject({ minute: { reset: noon + 10 }, day: { remaining: 993 } });
    },
  );

  test.each([3_600, 86_400])('by %d s is not trusted: the day starts again', (ahead) => {
    const usage = { ...full, minute: noon + ahead, day: noon + ahead };
    expect(decide(usage, free, noon)).toEqual({ kind: 'startDay', windows: { minute, day } });
  });

  test('does not suspend a key', () => {
    const usage = { ...full, minute: noon + 3_600, day, dayCount: 1_000 };
    expect(decide(usage, free, noon).kind).toBe('startMinuteRejecting');
  });
});
