import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Limits } from '../../../functions/access/plans.ts';
import {
  clockTolerance,
  decide,
  decideUncounted,
  type Decision,
  decisionAfter,
  suspensionThreshold,
  unused,
  type Usage,
  windowsAt,
} from '../../../functions/access/limiter-decisions.ts';
import { rateHeaders } from '../../../functions/http/headers.ts';
import { type Expectation, headersOf, ReferenceLimiter } from '../../support/reference-limiter.ts';
import { usageAfter } from '../../support/usage-model.ts';

/** 12 seconds before a midnight, so that both windows turn early in every simulation. */
const evening = Date.parse('2026-03-31T23:59:48Z') / 1000;

const noon = Date.parse('2026-04-01T12:00:00Z') / 1000;
const small = { perMinute: 60, perDay: 1_000 };
const medium = { perMinute: 300, perDay: 10_000 };
const large = { perMinute: 1_000, perDay: 100_000 };

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
      fc.constantFrom(9, 10, 11, 599, 600, 601),
      fc.integer({ min: 3_600, max: 200_000 }),
    ),
    /** Seconds by which the clock of the function lags behind. */
    lag: fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: 1, max: clockTolerance })),
    requests: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 130, max: 280 })),
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
});

describe('a key with 60 requests a minute and 1,000 a day', () => {
  test('may send 1,000 requests in a day, and more after midnight UTC', () => {
    const limiter = new Limiter();
    const midnight = Date.parse('2026-04-02T00:00:00Z') / 1000;
    const morning = midnight - 86_400;
    for (let minute = 0; minute < 16; minute += 1) burst(limiter, 60, small, morning + minute * 60);
    expect(burst(limiter, 40, small, morning + 16 * 60)).toMatchObject({
      kind: 'admitted',
      status: { day: { limit: 1_000, remaining: 0, reset: midnight } },
    });
    for (const now of [morning + 16 * 60, morning + 17 * 60, midnight - 1]) {
      const decision = limiter.request(small, now);
      expect(decision).toMatchObject({ kind: 'rejected', retryAfter: midnight - now });
      expect(rateHeaders(decision.status, now)).toMatchObject({
        'X-RateLimit-Limit': '1000',
        'X-RateLimit-Remaining': '0',
        'X-RateLimit-Reset': String(midnight),
      });
    }
    expect(limiter.request(small, midnight)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 }, day: { remaining: 999 } },
    });
  });

  test('is suspended for ten minutes by its 225th rejection after a 429, and further requests do not extend that', () => {
    const limiter = new Limiter();
    const start = evening + 12;
    expect(burst(limiter, 60 + 200, small, start - 10)).toMatchObject({ kind: 'rejected', retryAfter: 10 });
    expect(burst(limiter, 60 + 200, small, start)).toMatchObject({ kind: 'rejected', retryAfter: 60 });
    expect(burst(limiter, 224, small, start + 10)).toMatchObject({ kind: 'rejected', retryAfter: 50 });
    expect(limiter.request(small, start + 15)).toMatchObject({
      kind: 'suspended',
      retryAfter: 600,
      status: { minute: { remaining: 0, reset: start + 615 } },
    });
    expect(burst(limiter, 500, small, start + 310)).toMatchObject({ kind: 'suspended', retryAfter: 305 });
    expect(limiter.request(small, start + 614)).toMatchObject({ kind: 'suspended', retryAfter: 1 });
    expect(limiter.request(small, start + 615)).toMatchObject({
      kind: 'admitted',
      status: { minute: { remaining: 59 }, day: { remaining: 939 } },
    });
  });

  test('suspended by an operator for longer than a day has a Retry-After of a day', () => {
    const usage = { ...unused, suspendedUntil: noon + 1_000_000_000 };
    expect(decisionAfter(decide(usage, small, noon), usage, small, noon)).toMatchObject({
      kind: 'suspended',
      retryAfter: 86_400,
      status: { minute: { remaining: 0, reset: noon + 86_400 } },
    });
  });
});

test('a key suspended for less than its full minute has the Retry-After of the minute', () => {
  const { minute, day } = windowsAt(noon);
  for (const [minuteCount, reset] of [
    [60, noon + 60],
    [59, noon + 10],
  ] as const) {
    const usage = { ...unused, minute, minuteCount, day, dayCount: 70, suspendedUntil: noon + 10 };
    expect(decisionAfter(decide(usage, small, noon), usage, small, noon)).toMatchObject({
      kind: 'suspended',
      retryAfter: reset - noon,
      status: { minute: { remaining: 0, reset } },
    });
  }
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

// The rate that the plan tolerates, from 10 seconds after the first rejection to the end of the minute, or for half a minute.
test.each([
  [small, 0, 225],
  [small, 20, 135],
  [small, 59, 135],
  [medium, 0, 625],
  [medium, 20, 375],
  [large, 0, 2_084],
  [large, 20, 1_250],
  [{ perMinute: 60_000, perDay: 1e9 }, 0, 8_334],
  [{ perMinute: 1, perDay: 10 }, 0, 225],
])('with %o, first rejected at second %d, rejection %d suspends', (limits, second, threshold) => {
  expect(suspensionThreshold(noon + second, limits)).toBe(threshold);
});

test('both windows full until the same midnight, the minute is in force', () => {
  const limits = { perMinute: 1, perDay: 1 };
  const { minute, day } = windowsAt(evening);
  const usage = { ...unused, minute, minuteCount: 1, day, dayCount: 1 };
  const { status } = decisionAfter(decide(usage, limits, evening), usage, limits, evening);
  expect(status.minute.reset).toBe(status.day.reset);
  expect(status.inForce).toBe('minute');
});

test('the status of an unused key is its full allowance', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 40 }), (now) => {
      const { minute, day } = decideUncounted(unused, { perMinute: 60, perDay: 1_000 }, now).status;
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

describe('a stored window that starts ahead of the time', () => {
  const full = { ...unused, minuteCount: 60, dayCount: 1_000, rejections: 99 };
  const { minute, day } = windowsAt(noon);

  test('by a minute or less is of another clock, and counts', () => {
    const usage = { ...full, minute: noon + clockTolerance, day };
    expect(decide(usage, small, noon)).toMatchObject({
      kind: 'startRejecting',
      windows: { minute: noon + 60, day },
    });
  });

  test.each([clockTolerance + 1, 3_600, 86_400])(
    'by %d s is not trusted: the minute starts again',
    (ahead) => {
      const usage = { ...full, dayCount: 7, minute: noon + ahead, day };
      const transition = decide(usage, small, noon);
      expect(transition).toEqual({ kind: 'startMinute', windows: { minute, day } });
      // As it is shown when the write that starts the minute is lost, and while the key is suspended.
      const { status } = decisionAfter(transition, { ...usage, suspendedUntil: noon + 10 }, small, noon);
      expect(status).toMatchObject({ minute: { reset: noon + 10 }, day: { remaining: 993 } });
    },
  );

  test.each([3_600, 86_400])('by %d s is not trusted: the day starts again', (ahead) => {
    const usage = { ...full, minute: noon + ahead, day: noon + ahead };
    expect(decide(usage, small, noon)).toEqual({ kind: 'startDay', windows: { minute, day } });
  });

  test('by a rejection of a wrong clock does not keep rejections from being counted', () => {
    const usage = { ...full, dayCount: 7, minute: noon, day, rejectedSince: noon + 61 };
    expect(decide(usage, small, noon).kind).toBe('startRejecting');
    expect(decide({ ...usage, rejectedSince: noon + 60 }, small, noon).kind).toBe('reject');
  });
});
