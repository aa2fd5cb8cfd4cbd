import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { current, earlier } from './environments.ts';
import { exploreRequests, type RequestScene } from './explore-requests.ts';
import { isFullRun } from '../../support/rounds.ts';

// The service in one process, without network and real time: the functions as they are bundled, on tables in memory. One model of
// the interface (test/service/simulation/model.ts) says what each answer may be. test/README.md says how to run more of it.

const midnight = Date.parse('2026-07-02T00:00:00Z') / 1000;
const noon = midnight + 43_200;
const limits = { perMinute: 2, perDay: 10 };
const atNoon = { minute: noon, minuteCount: 0, day: midnight, dayCount: 0 };
const yesterday = { minute: midnight - 60, minuteCount: 2, day: midnight - 86_400, dayCount: 9 };
/** A minute that has been full for as long as rejections are not counted. */
const full = { ...atNoon, minuteCount: 2, dayCount: 2, rejectedSince: noon + 1 };

const request = { method: 'GET', path: '/nowhere' } as const;
const creation = (name: string, idempotencyKey?: string): RequestScene['requests'][number] => ({
  method: 'POST',
  path: '/pets',
  body: JSON.stringify({ name, categoryId: 7 }),
  ...(idempotencyKey !== undefined && { idempotencyKey }),
});

type Named = readonly [
  name: string,
  Omit<RequestScene, 'limits' | 'maxFaults' | 'requests'>,
  RequestScene['requests'],
];

/** One for each write of the limiter. In test/service/limits.test.ts one version has these and more. */
const scenesOfTwoVersions: readonly Named[] = [
  ['the first ones of a day', { now: midnight, usage: yesterday }, [request, request, request]],
  [
    'the first ones of a minute',
    { now: noon, usage: { ...atNoon, minute: noon - 60, minuteCount: 2 } },
    [request, request, request],
  ],
  [
    'with one left in the minute',
    { now: noon, usage: { ...atNoon, minuteCount: 1, dayCount: 1 } },
    [request, request, request],
  ],
  [
    'before the last rejection that does not suspend',
    { now: noon + 20, usage: { ...full, rejections: 219 } },
    [request, request, request],
  ],
];

const scenes: readonly Named[] = [
  [
    'with one left in the day, the first one of a minute and the last one of the minute before',
    {
      now: noon - 0.2,
      usage: { ...atNoon, minute: noon - 60, minuteCount: 1, dayCount: 9 },
      // Each timer is a moment at which a delayed call can be answered. One call that is late meets every minute.
      delays: 1,
    },
    [request, { ...request, after: 300 }, { ...request, after: 350 }],
  ],
  [
    'before the last rejection that does not suspend, while an operator suspends the key for an hour',
    {
      now: noon + 20,
      usage: { ...full, rejections: 219 },
      suspendedUntil: noon + 3_600,
      afterwards: [request],
    },
    [request, request, request],
  ],
  [
    'with one Idempotency-Key and one body',
    { now: noon, usage: atNoon },
    [creation('Rex', 'key'), creation('Rex', 'key'), creation('Rex', 'key')],
  ],
  [
    'with one Idempotency-Key and two bodies',
    { now: noon, usage: atNoon },
    [creation('Rex', 'key'), creation('Bella', 'key'), creation('Rex', 'key')],
  ],
  [
    'that draw the same ID',
    { now: noon, usage: atNoon },
    [creation('Rex'), creation('Bella'), creation('Momo')],
  ],
  [
    'that draw the same ID, one with an Idempotency-Key',
    { now: noon, usage: atNoon },
    [creation('Rex'), creation('Bella', 'key'), creation('Momo', 'key 2')],
  ],
];

interface Size extends Pick<RequestScene, 'maxFaults' | 'kinds' | 'sample' | 'versions'> {
  readonly title: string;
  /** Concurrent requests. */
  readonly count: number;
  /** Whether only scenes of equal requests are run, which can change places. Others have too many schedules. */
  readonly needsEqual?: boolean;
}

const commonKinds = ['lostBefore', 'lostAfter', 'throttled', 'conflict'] as const;
// A fault multiplies the schedules by kinds and calls. An answer that is lost after the call was applied makes the most states.
const lostAnswer = ['lostAfter'] as const;
/** Schedules at random, of a scene that has too many. */
const sample = 150;
const pair = { count: 2, maxFaults: 1, ...(!isFullRun && { kinds: lostAnswer }) } as const;
const sizes: readonly Size[] = [
  ...(isFullRun
    ? [
        { title: '1 request', count: 1, maxFaults: 2 },
        { title: '2 concurrent requests', count: 2, maxFaults: 2 },
        { title: '3 concurrent requests', count: 3, maxFaults: 0 },
        { title: '3 equal requests', count: 3, maxFaults: 1, kinds: lostAnswer, needsEqual: true },
        // All of these would take hours.
        { title: '3 concurrent requests, with a fault', count: 3, maxFaults: 1, sample },
        { title: '3 equal requests, two faults', count: 3, maxFaults: 2, sample, needsEqual: true },
      ]
    : [
        { title: '1 request', count: 1, maxFaults: 2, kinds: commonKinds },
        { title: '2 concurrent requests', ...pair },
      ]),
  ...(earlier === undefined
    ? []
    : [{ title: '2 concurrent requests of two versions', ...pair, versions: [current, earlier] }]),
];

const limitsOf = (requests: RequestScene['requests']) => ({
  ...limits,
  perMinute: requests.includes(request) ? 2 : 10,
});
const areEqual = ([, , [first, ...others]]: Named) => others.every((each) => isDeepStrictEqual(each, first));

for (const { title, count, needsEqual = false, ...size } of sizes)
  describe(`${title}, in ${size.sample === undefined ? 'every order' : 'some orders'} of their calls, with at most ${size.maxFaults} faults:`, () => {
    const all = size.versions === undefined ? scenes : [...scenesOfTwoVersions, ...scenes];
    test.each(all.filter((scene) => !needsEqual || areEqual(scene)))(
      '%s',
      { timeout: 600_000 },
      async (_name, scene, requests) => {
        const run = {
          ...scene,
          limits: limitsOf(requests),
          requests: requests.slice(0, count),
          ...size,
        };
        const schedules = await exploreRequests(run);
        expect(schedules).toBeGreaterThan(1);
      },
    );
  });

describe('2 concurrent requests: the reduction leaves out no answer and nothing that is stored', () => {
  const size = isFullRun ? { maxFaults: 1, kinds: lostAnswer } : { maxFaults: 0 };
  test.each(scenes)('%s', { timeout: 600_000 }, async (_, scene, requests) => {
    const run = { ...scene, limits: limitsOf(requests), requests: requests.slice(0, 2), ...size };
    const [reduced, all] = [new Set<string>(), new Set<string>()];
    const schedules = await exploreRequests({ ...run, results: reduced });
    expect(schedules).toBeLessThan(await exploreRequests({ ...run, results: all, reduce: false }));
    expect(reduced).toEqual(all);
  });
});
