import { describe, expect, test } from 'vitest';
import { retryDelay } from '../../../packages/client/src/retry.ts';
import { toApiError } from '../../../packages/client/src/errors.ts';
import { toleratedRate } from '../../../functions/access/limiter-decisions.ts';
import { fixedPlans, type Limits } from '../../../functions/access/plans.ts';
import { usagePlanSettings } from '../../../lib/api/usage-plan-settings.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import { suspendedAfter, type Worker } from '../../support/fleets.ts';

// Whom the limiter suspends, in virtual time: docs/api.md#back-off-after-a-429.

const noon = Date.parse('2026-04-01T12:00:00Z');
const hour = 3_600_000;
const plans = { ...fixedPlans, 'tiny enterprise': { perMinute: 30, perDay: 43_200 } } as const;
type Name = keyof typeof plans;

/** The same for each run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 0x7fffffff) / 0x7fffffff;
}
const random = randomFrom(7);
const latency = () => 50 + 250 * random();

type NewWorker = (pause: number) => Worker;

/** Sends once in each `pause`, and waits for `Retry-After` and up to a second more. */
const obeying: NewWorker = (pause) => ({
  starts: random() * pause,
  next: ({ retryAfter }) => latency() + (retryAfter === undefined ? pause : (retryAfter + random()) * 1000),
});

/** The program in docs/api.md. After it has given up, it waits as long. */
const apiGuide: NewWorker = (pause) => {
  let attempt = 0;
  return {
    starts: random() * pause,
    next: ({ retryAfter }) => {
      if (retryAfter === undefined) attempt = 0;
      if (retryAfter === undefined) return latency() + pause;
      const jitter = random() * Math.min(2 ** attempt, 5);
      attempt = attempt === 5 ? 0 : attempt + 1;
      return latency() + (retryAfter + jitter) * 1000;
    },
  };
};

/** The TypeScript client with its default settings. What it throws is not handled: the next call follows after `pause`. */
const typescriptClient: NewWorker = (pause) => {
  let attempt = 0;
  return {
    starts: random() * pause,
    next: ({ retryAfter }) => {
      attempt += 1;
      const delay = retryAfter === undefined ? undefined : delayOf(retryAfter, attempt);
      if (delay === undefined) attempt = 0;
      return latency() + (delay ?? Math.max(pause, retryAfter === undefined || retryAfter <= 60 ? 0 : hour));
    },
  };
};

function delayOf(retryAfter: number, attempt: number): number | undefined {
  const details = { status: 429, headers: new Headers(), retryAfter: retryAfter * 1000 };
  const failure = toApiError('rate_limit_exceeded', '', details);
  return retryDelay(failure, attempt, { maxRetries: 5, maxRetryDelay: 60_000 }, random());
}

/** With the usage plan, as deployed, and without it: API Gateway throttles on a best-effort basis. */
function bothWays(name: Name, workers: () => readonly Worker[], length = hour, start = noon) {
  const limits: Limits = plans[name];
  const { rateLimit, burstLimit } = usagePlanSettings(
    name === 'tiny enterprise' ? 'enterprise' : name,
    presets.prod.accountThrottle,
  );
  return [undefined, { rate: rateLimit, burst: burstLimit }].map((bucket) =>
    suspendedAfter(workers(), { limits, bucket, start, length }),
  );
}

const fleet = (size: number, worker: NewWorker, pause: number) => () =>
  Array.from({ length: size }, () => worker(pause * 1000));

const never = [undefined, undefined];

describe('never suspended within an hour:', () => {
  test.each<[Name, number, number]>([
    ['pro', 270, 30],
    ['business', 900, 30],
    // Twice the limit, by fleets of any size.
    ['free', 60, 30],
    ['free', 180, 90],
    ['pro', 300, 30],
    ['pro', 450, 45],
    ['pro', 900, 90],
    ['business', 1_500, 45],
    ['business', 10_000, 300],
    ['tiny enterprise', 30, 30],
    ['tiny enterprise', 3_600, 3_600],
  ])('%s, %d workers that obey Retry-After, each with a request in %d s', (name, size, pause) => {
    expect(bothWays(name, fleet(size, obeying, pause))).toEqual(never);
  });

  test.each<[Name, number]>([
    ['free', 3_600],
    ['pro', 18_000],
  ])('%s, %d workers that obey Retry-After, with twice the limit', (name, size) => {
    const { perMinute } = plans[name];
    const workers = fleet(size, obeying, (size / perMinute / 2) * 60)();
    expect(suspendedAfter(workers, { limits: plans[name], start: noon, length: hour })).toBeUndefined();
  });

  describe.each([
    ['the program in api.md', apiGuide],
    ['the TypeScript client', typescriptClient],
  ])('500 workers with %s', (_name, worker) => {
    test.each<[Name, number]>([
      ['free', 0],
      ['free', 1],
      ['free', 5],
      ['free', 180],
      ['pro', 0],
      ['pro', 15],
      ['pro', 30],
      ['pro', 60],
      ['business', 0],
      ['business', 15],
    ])('%s, %d s between an answer and the next request', (name, pause) => {
      expect(bothWays(name, fleet(500, worker, pause))).toEqual(never);
    });
  });
});

/** A client that ignores what it is answered, as workers with five requests a second, for a part of each minute. */
function constantly(perSecond: number, part = 60_000): () => readonly Worker[] {
  const worker = (starts: number): Worker => {
    let time = 0;
    return {
      starts,
      next: () => {
        const pause = time + 200 < part ? 200 : 60_000 - time;
        time = (time + pause) % 60_000;
        return pause;
      },
    };
  };
  const count = perSecond / 5;
  return () => Array.from({ length: count }, (_, index) => worker((index * 200) / count));
}

describe('what the limiter cannot tell apart (docs/limits.md#exceptions):', () => {
  test('300 requests a second for 9.9 seconds of each minute, and workers that come back when the window resets', () => {
    expect(bothWays('tiny enterprise', constantly(300, 9_900))).toEqual(never);
  });

  test('500 workers with a Free key and a request in 30 s each, and one that goes on', () => {
    const [seconds] = bothWays('free', fleet(500, apiGuide, 30));
    expect(seconds).toBeLessThan(60);
  });
});

describe('suspended within two minutes, whenever it starts:', () => {
  test.each<[Name, number]>([
    ['free', 5],
    ['free', 20],
    ['free', 300],
    ['pro', 15],
    ['pro', 20],
    ['pro', 300],
    ['business', 50],
    ['business', 300],
    ['tiny enterprise', 5],
    ['tiny enterprise', 300],
  ])('%s, %d requests a second that ignore 429', (name, perSecond) => {
    expect(perSecond * 60).toBeGreaterThan(toleratedRate(plans[name]));
    for (let second = 0; second < 60; second += 3) {
      const found = bothWays(name, constantly(perSecond), 121_000, noon + second * 1000);
      for (const seconds of found) expect(seconds, `started at second ${second}`).toBeLessThanOrEqual(120);
    }
  });
});
