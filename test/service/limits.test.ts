import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fixedPlans } from '../../functions/access/plans.ts';
import { isFullRun, rounds } from '../support/rounds.ts';
import {
  type Answers,
  KeyInEnvironment,
  type Limits,
  rejectionsThatSuspend,
  unused,
  type Usage,
} from './limits.model.ts';
import { kindOf } from './limits.check.ts';
import { explore, type Scene } from './explore.ts';
import { type Answer, type Key, World } from './world.ts';

// docs/interface.md#rate-limits says what a client sees of its limits, and limits.model.ts computes it.

const noon = Date.parse('2026-07-01T12:00:00Z') / 1000;
const midnight = noon + 43_200;
const yesterday = noon - 43_200;
const atNoon = { minute: noon, minuteCount: 0, day: yesterday, dayCount: 0 };

/** What the model knows of an answer. */
function told({ status, code, headers, log, calls }: Answer, { usage: item }: Key) {
  const shown = Object.entries(headers).filter(([name]) =>
    /^(X-RateLimit-|RateLimit|Retry-After$)/.test(name),
  );
  const stored = Object.keys(unused).map((name) => [name, item[name] ?? 0]);
  return {
    kind: kindOf(JSON.stringify(log)),
    status,
    code,
    headers: Object.fromEntries(shown) as object,
    stored: Object.fromEntries(stored) as object,
    asks: calls.length > 0,
  };
}

const statuses = {
  admitted: [404, 'route_not_found'],
  uncounted: [404, 'route_not_found'],
  rejected: [429, 'rate_limit_exceeded'],
  suspended: [429, 'key_suspended'],
} as const;

function expected(
  model: KeyInEnvironment,
  now: number,
  answered?: Answers,
  isSlow?: boolean,
): ReturnType<typeof told> {
  const asks = model.asks(now);
  const { kind, headers } = model.request(now, answered, isSlow);
  const [status, code] = statuses[kind];
  return { kind, status, code, headers, stored: model.stored, asks };
}

describe('every answer and every item is that of the model', () => {
  const startOf = (time: number, length: number) => Math.floor(time / length) * length;
  /** Counts around a limit. */
  const countFor = (limit: number) => fc.constantFrom(0, 1, limit - 1, limit, limit + 1);
  /** Minutes of yesterday, of earlier today, of now, of a clock that is ahead, and of clocks that are wrong. */
  const minutesAhead = [-86_400, -60, 0, 0, 0, 60, 120, 3_600, 86_400];
  const usageFor = ({ perMinute, perDay }: Limits, now: number): fc.Arbitrary<Usage> => {
    const counted = fc.record({
      minute: fc.constantFrom(...minutesAhead),
      minuteCount: countFor(perMinute),
      dayCount: countFor(perDay),
    });
    const full = fc.constantFrom(
      { minuteCount: perMinute },
      { dayCount: perDay },
      { minuteCount: perMinute, dayCount: perDay },
    );
    const rejected = fc.record({
      rejectedSince: fc.oneof(
        fc.constantFrom(-11, -10, -10, -9, 0, 60, 61, 86_400).map((ahead) => now + ahead),
        fc.constantFrom(-1, 0).map((ahead) => startOf(now, 60) + ahead),
      ),
      left: fc.constantFrom(0, 1, 1, 2, 3),
    });
    const suspendedUntil = fc.constantFrom(-1, 0, 1, 45, 90_000, 250_000_000_000).map((ahead) => now + ahead);
    const inFull = fc.record({ counted, full, minute: fc.constantFrom(0, 0, 0, 60), rejected });
    return fc
      .oneof(
        counted,
        inFull.map((all) => ({ ...all.counted, minute: all.minute, ...all.full, ...all.rejected })),
        fc
          .record({ counted, suspendedUntil })
          .map((all) => ({ ...all.counted, suspendedUntil: all.suspendedUntil })),
      )
      .map(
        ({ minute: ahead, left = 0, ...rest }: { minute: number; left?: number; rejectedSince?: number }) => {
          const minute = startOf(now, 60) + ahead;
          const { rejectedSince = 0 } = rest;
          const rejections = rejectedSince === 0 ? 0 : rejectionsThatSuspend(perMinute, rejectedSince) - left;
          return { ...unused, ...rest, minute, day: startOf(minute, 86_400), rejections };
        },
      );
  };
  /** What happens between two calls of a request. */
  const meanwhiles: Readonly<Record<string, (usage: Usage, now: number) => Partial<Usage>>> = {
    'an operator suspends the key': (_usage, now) => ({ suspendedUntil: now + 300 }),
    'an operator resumes the key': () => ({ rejections: 0, suspendedUntil: 0 }),
    'another request is rejected first': (_usage, now) => ({ rejectedSince: now, rejections: 0 }),
    'another request starts the windows': (_usage, now) => ({
      minute: startOf(now, 60),
      minuteCount: 1,
      day: startOf(now, 86_400),
      dayCount: 1,
    }),
    'a clock that is ahead fills the next minute': ({ minuteCount, dayCount }, now) => ({
      minute: startOf(now, 60) + 60,
      day: startOf(startOf(now, 60) + 60, 86_400),
      minuteCount,
      dayCount,
    }),
    'a wrong clock starts the next day': (_usage, now) => ({
      minute: startOf(now, 60) + 86_400,
      minuteCount: 1,
      day: startOf(now, 86_400) + 86_400,
      dayCount: 1,
    }),
  };
  const small = fc.record({
    perMinute: fc.integer({ min: 1, max: 3 }),
    perDay: fc.integer({ min: 1, max: 5 }),
  });
  const large = fc.constantFrom(...Object.values(fixedPlans), { perMinute: 60_000, perDay: 86_400_000 });
  const what = (...each: readonly string[]) => fc.constantFrom(...each);
  const step = {
    after: fc.constantFrom(0, 0, 60, 600, 86_400),
    second: fc.constantFrom(0, 0, 1, 9, 10, 11, 30, 31, 45, 59),
    answered: fc.constantFrom<Answers>('none', 'first'),
    fate: fc.constantFrom('throttled', 'hungBefore'),
    count: fc.constantFrom(1, 1, 2, 4),
  };
  const usage = fc.record({
    ...step,
    what: what('nothing', 'faults', ...Array<string>(6).fill('usage'), ...Object.keys(meanwhiles)),
  });
  const faults = fc.record({
    ...step,
    after: fc.constantFrom(0, 0, 0, 0, 60, 86_400),
    what: what('nothing', 'nothing', 'faults', 'faults', 'faults', 'faults', 'usage'),
  });

  test.each([
    [
      'from any usage, and whatever happens between two calls of a request',
      fc.oneof(small, large),
      usage,
      3,
      { full: 5_000, sample: 700 },
    ],
    ['of an environment whose calls are answered or not', small, faults, 10, { full: 1_000, sample: 120 }],
  ])('%s', async (_name, limits, steps, maxLength, runs) => {
    const world = new World({ isChecked: false });
    const met = new Set<string | undefined>();
    const minutes = fc.constantFrom(noon, midnight - 60);
    await fc.assert(
      fc.asyncProperty(
        limits,
        minutes,
        fc.array(steps, { minLength: 1, maxLength }),
        fc.gen(),
        async (of, start, all, gen) => {
          // The same environment is answered now, because a clock that was set back ends a pause.
          world.meets = () => 'answered';
          world.now = noon - 3_600;
          await world.send(world.key(of));
          const [key, model] = [world.key(of), new KeyInEnvironment(of)];
          const [seen, wanted]: [object[], object[]] = [[], []];
          let minute = start;
          for (const { after, second, what: event, answered, fate, count } of all) {
            minute = startOf(minute + after, 60);
            const now = (world.now = minute + second);
            const meanwhile = meanwhiles[event];
            if (event === 'usage' || meanwhile !== undefined)
              key.usage = model.stored = gen(usageFor, of, now);
            world.meets = ({ table }, number) => {
              if (table !== 'RateLimits') return 'answered';
              if (meanwhile !== undefined && number === 2) {
                key.usage = model.stored = { ...model.stored, ...meanwhile(model.stored, now) };
                met.add(event);
              }
              return event === 'faults' && number > (answered === 'first' ? 1 : 0) ? fate : 'answered';
            };
            for (let each = 0; each < count; each += 1) {
              // A request that waits in vain moves the clock.
              const { now: sentAt } = world;
              seen.push(told(await world.send(key), key));
              const isSlow = fate === 'hungBefore';
              const next = expected(model, sentAt, event === 'faults' ? answered : 'all', isSlow);
              wanted.push(next);
              met.add(next.kind);
              if (!next.asks && steps === faults) met.add('not asked');
            }
          }
          expect(seen).toEqual(wanted);
        },
      ),
      { numRuns: rounds(runs) },
    );
    // Otherwise the test would prove nothing.
    expect(met).toEqual(
      new Set([
        'admitted',
        'uncounted',
        'rejected',
        'suspended',
        ...(steps === usage ? Object.keys(meanwhiles) : ['not asked']),
      ]),
    );
  });
});

describe('a client', () => {
  test('that has used up its minute waits for the next one', async () => {
    const world = new World({ at: '2026-07-01T12:00:58Z' });
    const key = world.key('free', { minute: noon, minuteCount: 59, day: yesterday, dayCount: 100 });
    expect((await world.send(key)).headers).toMatchObject({ 'X-RateLimit-Remaining': '0' });
    const rejected = await world.send(key);
    expect(rejected).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(rejected.headers).toMatchObject({
      'Retry-After': '2',
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': `${noon + 60}`,
      'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      RateLimit: '"minute";r=0;t=2, "day";r=899;t=43142',
    });
    world.wait(2);
    expect((await world.send(key)).headers).toMatchObject({ 'X-RateLimit-Remaining': '59' });
  });

  test('that sends everything at once gets each number of requests once, and exactly its limit', async () => {
    const world = new World();
    const key = world.key({ perMinute: 20, perDay: 1_000 });
    const answers = await world.sendAll(30, key);
    const left = answers
      .filter(({ status }) => status !== 429)
      .map(({ headers }) => Number(headers['X-RateLimit-Remaining']));
    expect(left.toSorted((a, b) => b - a)).toEqual(Array.from({ length: 20 }, (_, index) => 19 - index));
  });

  test('that goes on for a minute is suspended for ten, in the numbers of docs/api.md', async () => {
    const world = new World({ isChecked: false });
    const key = world.key('free');
    const kinds = async (count: number) =>
      Object.fromEntries(
        [...Map.groupBy(await world.sendAll(count, key), ({ code }) => code ?? '')].map(([code, all]) => [
          code,
          all.length,
        ]),
      );
    expect(await kinds(60 + 40)).toEqual({ route_not_found: 60, rate_limit_exceeded: 40 });
    world.wait(10);
    expect(await kinds(224)).toEqual({ rate_limit_exceeded: 224 });
    expect(await kinds(1)).toEqual({ key_suspended: 1 });
    world.wait(599);
    expect(await world.send(key)).toMatchObject({ code: 'key_suspended', headers: { 'Retry-After': '1' } });
    world.wait(1);
    expect(await world.send(key)).toMatchObject({
      code: 'route_not_found',
      headers: { 'X-RateLimit-Remaining': '59' },
    });
  });

  test('whose key expires while its authorization is cached gets 401 without an allowance, and no metric', async () => {
    const world = new World();
    const key = world.key('free', {}, { expiresAt: noon + 30 });
    world.wait(29);
    expect((await world.send(key)).status).toBe(404);
    world.wait(1);
    const { status, code, headers, log } = await world.send(key, 'GET /pets/findByStatus?status=sold');
    expect([status, code]).toEqual([401, 'unauthorized']);
    expect(headers).toMatchObject({
      'X-RateLimit-Limit': '0',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '0',
    });
    expect(log).not.toHaveProperty('_aws');
  });

  test('over its limit stores nothing, and learns that before what is wrong with its request', async () => {
    const world = new World();
    const key = world.key({ perMinute: 1, perDay: 10 });
    await world.send(key);
    for (const body of ['{"name":"Rex","categoryId":7}', '{}'])
      expect((await world.send(key, 'POST /pets', { body })).status).toBe(429);
    for (const read of ['GET /pets?limit=0', 'GET /pets?limit=1'])
      expect((await world.send(key, read)).status).toBe(429);
    expect(world.tables.items('Pets')).toEqual([]);
  });
});

describe('an operator', () => {
  test('sees the calls of a deprecated operation, in the metrics and in the table', async () => {
    const world = new World();
    const key = world.key('free');
    await world.send(key, 'GET /pets?limit=1');
    const { log } = await world.send(key, 'GET /pets/findByStatus?status=sold');
    expect(log).toMatchObject({ RequestsAdmitted: 1, DeprecatedCalls: 1 });
    expect(key.usage).toMatchObject({ dayCount: 2, deprecatedCalls: 1 });
  });

  test('pays for one write a request, for two if the first is refused, and for no read', async () => {
    const world = new World();
    const key = world.key({ perMinute: 2, perDay: 3 });
    const written = [];
    for (const second of [0, 1, 2, 3, 9, 12, 60, 61]) {
      world.now = noon + second;
      const { calls } = await world.send(key);
      written.push(calls.map(({ operation }) => (operation === 'UpdateItem' ? 'W' : operation)).join(''));
    }
    // A day starts, a rejection starts the wait of 10 seconds in which none is counted, a minute starts, the day is full.
    expect(written).toEqual(['WW', 'W', 'WW', 'W', 'W', 'WW', 'WW', 'WW']);
  });

  test('finds the use of a key for 90 days after its last day', async () => {
    const world = new World();
    const key = world.key('free');
    for (const [now, from] of [
      [noon, midnight],
      [noon + 120, midnight],
      [midnight, midnight + 86_400],
    ] as const) {
      world.now = now;
      await world.send(key);
      expect(key.usage['expiresAt']).toBe(from + 90 * 86_400);
    }
  });

  test('is told of a malformed item, whose key is admitted after ten writes', async () => {
    const world = new World({ isChecked: false });
    const key = world.key('free', { day: yesterday, dayCount: 7 });
    const { status, log, calls } = await world.send(key);
    expect([status, calls.length]).toEqual([404, 10]);
    expect(log).toMatchObject({ LimiterFailOpen: 1, level: 'ERROR' });
    expect(JSON.stringify(log['errors'])).toMatch(/malformed.*dayCount\\":7/);
  });
});

describe.each([
  'hungBefore',
  'hungAfter',
  'lostBefore',
  'throttled',
  'failed',
  'denied',
  'unreadableBefore',
] as const)('when calls of the table are %s', (fate) => {
  test('a request is admitted within a second with what is known of its key, and the log says why', async () => {
    const world = new World({ isChecked: false });
    const key = world.key('free');
    world.meets = ({ table }) => (table === 'RateLimits' ? fate : 'answered');
    const { status, headers, log, calls } = await world.send(key);
    expect([status, headers['X-RateLimit-Remaining']]).toEqual([404, '60']);
    // Whoever repeats a throttled call holds an environment, and the partition is busy enough.
    expect(calls.length).toBeLessThanOrEqual(fate === 'throttled' ? 1 : 4);
    expect(log).toMatchObject({
      LimiterFailOpen: 1,
      level: 'ERROR',
      errors: [{ message: expect.any(String) as string }],
    });
    expect(world.now).toBeLessThanOrEqual(noon + 1);
  });

  test('a rejection that cannot be counted stays one', async () => {
    const world = new World({ isChecked: false });
    const key = world.key({ perMinute: 1, perDay: 100 });
    await world.send(key);
    world.meets = ({ table }, number) => (table === 'RateLimits' && number > 1 ? fate : 'answered');
    expect(await world.send(key)).toMatchObject({ status: 429, headers: { 'X-RateLimit-Remaining': '0' } });
  });
});

describe('while calls of the table hang', () => {
  const hanging = ({ isChecked = true } = {}) => {
    const world = new World({ isChecked });
    const key = world.key('business');
    world.meets = ({ table }) => (table === 'RateLimits' ? 'hungBefore' : 'answered');
    return { world, key };
  };
  /** One after the other, so one environment serves them. */
  const sendInTurn = async (world: World, count: number, request?: string, body?: string) => {
    const found = { asking: 0, counted: 0, milliseconds: 0 };
    for (let sent = 0; sent < count; sent += 1) {
      const { calls, log } = await world.send(world.keys[0]!, request, { ...(body && { body }) });
      found.asking += calls.some(({ table }) => table === 'RateLimits') ? 1 : 0;
      found.counted += log['RequestsAdmitted'] === 1 ? 1 : 0;
      const { startedAt, endedAt } = world.exchanges.at(-1)!;
      found.milliseconds += endedAt - startedAt;
    }
    return found;
  };

  test('three requests wait for an answer, the next ones do not', async () => {
    const { world } = hanging();
    expect(await sendInTurn(world, 12)).toEqual({ asking: 3, counted: 0, milliseconds: 1_000 + 250 + 250 });
  });

  test('then one request in four seconds asks, for a quarter of a second', async () => {
    const { world } = hanging();
    await sendInTurn(world, 12);
    const found = { asking: 0, milliseconds: 0 };
    for (const end = world.now + 40; world.now <= end; world.wait(1)) {
      const { asking, milliseconds } = await sendInTurn(world, 5);
      found.asking += asking;
      found.milliseconds += milliseconds;
    }
    expect(found).toEqual({ asking: 10, milliseconds: 10 * 250 });
  });

  test.each([0, 1, 2, 3, 4])(
    'and then are answered, after %i seconds, all requests are counted within five seconds',
    async (seconds) => {
      const { world } = hanging();
      await sendInTurn(world, 12);
      world.wait(seconds);
      await sendInTurn(world, 1);
      world.meets = () => 'answered';
      const recoveredAt = world.now;
      const uncounted: number[] = [];
      for (; world.now < recoveredAt + 60; world.wait(1))
        if ((await sendInTurn(world, 1)).counted === 0) uncounted.push(world.now - recoveredAt);
      expect(Math.max(...uncounted)).toBeLessThan(5);
    },
  );

  test('a creation does not wait, and a key that was suspended stays suspended', async () => {
    const { world, key } = hanging();
    world.meets = () => 'answered';
    key.usage = { suspendedUntil: noon + 600 };
    await world.send(key);
    const other = world.key('free');
    world.meets = ({ table }) => (table === 'RateLimits' ? 'hungBefore' : 'answered');
    await sendInTurn(world, 3);
    expect(await world.send(key)).toMatchObject({ status: 429, code: 'key_suspended', calls: [] });
    world.keys.unshift(other);
    await sendInTurn(world, 3, 'POST /pets', newPet);
    expect(await sendInTurn(world, 2, 'POST /pets', newPet)).toEqual({
      asking: 0,
      counted: 0,
      milliseconds: 0,
    });
    expect(world.tables.items('Pets')).toHaveLength(5);
  });

  test.each([
    ['GET /pets', undefined],
    ['GET /pets/1', undefined],
    ['POST /pets', newPet],
  ])(
    'and those of all other tables, %s holds its environment for 2.7, later 1 second',
    async (request, body) => {
      const { world, key } = hanging();
      await world.send(key);
      world.meets = () => 'hungBefore';
      const held: number[] = [];
      for (let sent = 0; sent < 20; sent += 1) {
        expect(await world.send(key, request, { ...(body && { body }) })).toMatchObject({ status: 503 });
        const { startedAt, endedAt } = world.exchanges.at(-1)!;
        held.push(endedAt - startedAt);
      }
      expect(held.slice(0, 4)).toEqual([2_700, 2_700, 2_700, 2_700]);
      // The SDK's retries are used up.
      expect(Math.max(...held.slice(13))).toBeLessThanOrEqual(1_000);
    },
  );

  test.each(['throttled', 'failed', 'denied', 'lostBefore', 'unreadableBefore'] as const)(
    'unlike when they are %s, each request asks, because an error that comes at once holds nobody',
    async (fate) => {
      const { world } = hanging();
      world.meets = ({ table }) => (table === 'RateLimits' ? fate : 'answered');
      expect(await sendInTurn(world, 12)).toMatchObject({ asking: 12, counted: 0 });
    },
  );

  test('a clock that is set back by an hour ends the pause', async () => {
    const { world } = hanging({ isChecked: false });
    await sendInTurn(world, 12);
    world.wait(-3_600);
    expect(await sendInTurn(world, 2)).toMatchObject({ asking: 1 });
  });

  test('requests in turn are told what the model says, whichever of their calls hang', async () => {
    const request = (world: World) => world.send(world.keys[0]!);
    let paused = 0;
    await explore({
      given: (world) => world.key({ perMinute: 4, perDay: 100 }, atNoon),
      steps: [
        async (world) => {
          for (let sent = 0; sent < 4; sent += 1) await request(world);
          await world.sleep(4_000);
          await request(world);
        },
      ],
      faults: 4,
      kinds: ['hungBefore'],
      delays: 0,
      check: ({ exchanges }) => {
        paused += exchanges.some(({ operation }) => operation?.calls.length === 0) ? 1 : 0;
      },
    });
    // Otherwise the test would prove nothing.
    expect(paused).toBeGreaterThan(0);
  });
});

const newPet = '{"name":"Rex","categoryId":7}';

describe('requests at the same time', () => {
  const before = { minute: midnight - 60, minuteCount: 2, day: yesterday, dayCount: 9 };
  const full = { ...atNoon, minuteCount: 2, dayCount: 2, rejectedSince: noon + 1 };
  const request = (world: World) => world.send(world.keys[0]!);

  const scenes: readonly (readonly [string, number, Partial<Usage>])[] = [
    ['the first ones of a key', noon, {}],
    ['the first ones of a day', midnight, before],
    ['the first ones of a minute', noon, { ...atNoon, minute: noon - 60, minuteCount: 2 }],
    ['with one left in the minute', noon, { ...atNoon, minuteCount: 1, dayCount: 1 }],
    ['with no window left', noon, { ...atNoon, minuteCount: 2, dayCount: 10 }],
    ['with one left in the day', noon, { ...atNoon, minute: noon - 60, dayCount: 9 }],
    [
      'the last ones of a day, after another clock has started the next one',
      midnight - 1,
      { minute: midnight, minuteCount: 1, day: midnight, dayCount: 1 },
    ],
    ['before the last rejection that does not suspend', noon + 20, { ...full, rejections: 219 }],
    ['of a key that is suspended', noon, { ...atNoon, suspendedUntil: noon + 17 }],
    [
      'of a key that is suspended for a part of a full minute',
      noon,
      { ...atNoon, minuteCount: 2, dayCount: 2, suspendedUntil: noon + 17 },
    ],
    [
      'of a key that a clock has counted which was a day ahead',
      noon,
      { ...full, minute: noon + 86_400, day: midnight },
    ],
  ];
  const inEveryOrder = (
    now: number,
    usage: Partial<Usage>,
    more: Pick<Scene<Key>, 'afterwards' | 'faults' | 'kinds'>,
  ) =>
    explore({
      at: new Date(now * 1000).toISOString(),
      given: (world) => world.key({ perMinute: 2, perDay: 10 }, usage),
      steps: [request, request],
      ...more,
    });

  const common = ['lostBefore', 'lostAfter', 'throttled', 'conflict'] as const;
  test.each(scenes)(
    'requests %s, in every order and with a fault, are told what the model says',
    async (_name, now, usage) => {
      const more = { afterwards: [request, request], faults: 1, kinds: common };
      expect(await inEveryOrder(now, usage, more)).toBeGreaterThan(1);
    },
  );

  const ends = isFullRun
    ? (['crashedBefore', 'crashedAfter', 'paused', 'late'] as const)
    : (['crashedAfter', 'late'] as const);
  test.each(scenes.filter(([name]) => isFullRun || name === 'with one left in the minute'))(
    'requests %s, in every order, while processes crash or stand still and calls arrive late, are told what the model says',
    async (_name, now, usage) => {
      const more = { afterwards: [request], faults: 2, kinds: ends };
      expect(await inEveryOrder(now, usage, more)).toBeGreaterThan(10);
    },
  );
});
