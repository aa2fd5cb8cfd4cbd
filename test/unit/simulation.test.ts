import { describe, expect, test } from 'vitest';
import { errorCatalogue } from '../../functions/http/errors.ts';
import { explore, type Scene } from '../simulation/explored.ts';
import { type Exchange } from '../simulation/gateway.ts';
import { simulate } from '../simulation/seeded.ts';
import { isFullRun } from '../support/rounds.ts';

// The service in one process, without network and real time: the functions as they are bundled, on tables in memory. One model of
// the interface (test/simulation/model.ts) says what each answer may be. docs/reliability.md says how to run more of it.

const midnight = Date.parse('2026-07-02T00:00:00Z') / 1000;
const noon = midnight + 43_200;
const limits = { perMinute: 2, perDay: 10 };
const atNoon = { minute: noon, minuteCount: 0, day: midnight, dayCount: 0 };
const yesterday = { minute: midnight - 60, minuteCount: 2, day: midnight - 86_400, dayCount: 9 };
/** A minute that has been full for as long as rejections are not counted. */
const full = { ...atNoon, minuteCount: 2, dayCount: 2, rejectedSince: noon + 1, rejectedUntil: noon + 60 };

const request = { method: 'GET', path: '/nowhere' } as const;
const creation = (name: string, idempotencyKey?: string): Scene['requests'][number] => ({
  method: 'POST',
  path: '/pets',
  body: JSON.stringify({ name, categoryId: 7 }),
  ...(idempotencyKey !== undefined && { idempotencyKey }),
});

const scenes: readonly (readonly [
  name: string,
  Omit<Scene, 'limits' | 'maxFaults' | 'requests'>,
  Scene['requests'],
])[] = [
  ['the first ones of a key', { now: noon }, [request, request, request]],
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
    'with one left in the day',
    { now: noon, usage: { ...atNoon, minute: noon - 60, dayCount: 9 } },
    [request, request, request],
  ],
  [
    'before the 100th rejection',
    { now: noon + 20, usage: { ...full, rejections: 98 } },
    [request, request, request],
  ],
  [
    'of a key that is suspended',
    { now: noon, usage: { ...atNoon, suspendedUntil: noon + 17 } },
    [request, request, request],
  ],
  [
    'one by a clock that is ahead',
    { now: noon, usage: { ...atNoon, minute: noon - 60, minuteCount: 2 } },
    [{ ...request, clockOffset: 60_000 }, request, request],
  ],
  [
    'one by a clock that is in the day before',
    { now: midnight, usage: yesterday },
    [{ ...request, clockOffset: -1_000 }, request, request],
  ],
  [
    'with one left in the day, one by a clock that is in the minute before',
    { now: noon, usage: { ...atNoon, minute: noon - 60, dayCount: 9 } },
    [{ ...request, clockOffset: -1_000 }, request, request],
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

/** Concurrent requests, and faults of their calls. */
const sizes: readonly (readonly [count: number, maxFaults: number])[] = isFullRun
  ? [
      [2, 2],
      [3, 1],
    ]
  : [
      [1, 2],
      [2, 1],
    ];

describe.each(sizes)(
  '%i concurrent requests in every order of their calls, with at most %i faults:',
  (count, maxFaults) => {
    test.each(scenes)('%s', { timeout: 600_000 }, async (_name, scene, requests) => {
      const perMinute = requests.includes(request) ? 2 : 10;
      const schedules = await explore({
        ...scene,
        limits: { ...limits, perMinute },
        requests: requests.slice(0, count),
        maxFaults,
      });
      expect(schedules).toBeGreaterThan(1);
    });
  },
);

describe('minutes of the service', () => {
  const { SEED: seed, SECONDS: seconds } = process.env;
  const first = Number(seed ?? (seconds === undefined ? 1 : Date.now()));
  const byDefault = isFullRun ? 1_500 : 30;
  const count = seed !== undefined ? 1 : seconds !== undefined ? Infinity : byDefault;
  const end = seconds === undefined ? Infinity : performance.now() + Number(seconds) * 1000;

  test('from seeds: every answer is what the interface says', { timeout: 2 ** 31 - 1 }, async () => {
    const seen = new Set<string>();
    let requests = 0;
    let each = first;
    for (; each < first + count && performance.now() < end; each += 1) {
      try {
        const { exchanges } = await simulate(each);
        requests += exchanges.length;
        for (const exchange of exchanges) seen.add(outcomeOf(exchange));
      } catch (error) {
        const repeat = `SEED=${each} npx vitest run --project unit test/unit/simulation.test.ts`;
        throw new Error(`${String(error)}\nTo repeat it: ${repeat}`, { cause: error });
      }
    }
    console.log(`${each - first} simulations from seed ${first}, ${requests} requests.`);
    if (each - first < 30) return;
    // So that the seeds are known to reach everything.
    const outcomes = ['200', '201', 'replayed', 'uncounted', ...Object.keys(errorCatalogue)];
    expect([...seen].toSorted()).toEqual(expect.arrayContaining(outcomes));
  });
});

function outcomeOf({ answer, operation }: Exchange): string {
  if (answer.headers === undefined) return `gateway ${answer.status}`;
  if (operation?.log[0]?.includes('"LimiterFailOpen":1') === true) return 'uncounted';
  if (answer.status >= 400) return String((answer.body as { code: unknown }).code);
  return answer.headers['Idempotency-Replayed'] === undefined ? String(answer.status) : 'replayed';
}
