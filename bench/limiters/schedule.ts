import { devNull } from 'node:os';
import { mock } from 'node:test';
import { type Ask, type Limiter, limiters } from './limiters.ts';
import { type Fate, SimulatedTable, sleep } from './simulated-table.ts';

/** Requests of one key in a simulated time, the same for every limiter. */

const perMinute = 300;
const minuteMs = 60_000;
/** A full minute, so that the edge of a minute is where the schedule expects it. */
const start = Date.parse('2026-11-22T12:00:00Z');

type Random = () => number;

/** https://github.com/bryc/code/blob/master/jshash/PRNGs.md#mulberry32 */
function seededRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Scenario {
  readonly name: string;
  readonly minutes: number;
  /** What happens to an attempt of a call, `now` milliseconds after the start. */
  readonly fate: (random: Random, now: number) => Fate;
  /** Sends requests until the end. */
  readonly clients: (send: () => Promise<number>, random: Random) => Promise<unknown>;
}

const healthy = (random: Random): Fate => ({ kind: 'answered', latency: 3 + Math.floor(random() * 6) });

/** 40 clients that offer twice the limit, and wait as long as they are told after a rejection. */
const parallel: Pick<Scenario, 'minutes' | 'clients'> = {
  minutes: 4,
  clients: (send, random) =>
    Promise.all(
      Array.from({ length: 40 }, async () => {
        const think = () => Math.floor(random() * 8_000);
        await sleep(think());
        while (Date.now() < start + 4 * minuteMs) await sleep((await send()) + think());
      }),
    ),
};

/** So many requests, spread evenly from a time on. */
async function burst(send: () => Promise<number>, count: number, from: number, during: number) {
  const one = (index: number) => sleep(from + Math.floor((index * during) / count)).then(send);
  await Promise.all(Array.from({ length: count }, (_, index) => one(index)));
}

const scenarios: readonly Scenario[] = [
  { name: 'parallel clients', fate: healthy, ...parallel },
  {
    name: 'edge of a minute',
    minutes: 3,
    fate: healthy,
    clients: (send) =>
      Promise.all([
        // Some limiters begin their minute with the first request.
        burst(send, 1, 0, 0),
        burst(send, perMinute, minuteMs - 2_000, 1_900),
        burst(send, perMinute, minuteMs + 100, 1_900),
      ]),
  },
  {
    name: 'waves',
    minutes: 3,
    fate: healthy,
    clients: (send) =>
      Promise.all([burst(send, 420, minuteMs / 2, 0), burst(send, 420, minuteMs * 1.5 + 1_000, 0)]),
  },
  {
    name: 'throttled table',
    fate: (random) => ({ ...healthy(random), kind: random() < 0.5 ? 'throttled' : 'answered' }),
    ...parallel,
  },
  {
    name: 'no answers in minute 2',
    fate: (random, now) => ({
      ...healthy(random),
      kind: Math.floor(now / minuteMs) === 1 ? 'lost' : 'answered',
    }),
    ...parallel,
  },
];

interface Decision {
  readonly arrivedAt: number;
  readonly decidedAt: number;
  readonly kind: 'admitted' | 'rejected' | 'undecided';
}

export interface LimiterResult {
  readonly scenario: string;
  /** Whether the table refuses calls or does not answer. */
  readonly isFailing: boolean;
  readonly limiter: string;
  /** Admitted beyond the limit of a minute of the clock, summed up. */
  readonly over: number;
  /** The most in any 60 seconds. */
  readonly most: number;
  /** Although fewer than the limit were admitted in the 60 seconds before. */
  readonly rejectedBelow: number;
  /** The limiter failed, and its caller has to decide. */
  readonly undecided: number;
  /** The longest wait for a decision, in milliseconds. */
  readonly longest: number;
  /** For each request. */
  readonly calls: number;
}

/** @param seed the same gives the same results */
export async function measureLimiters(seed: number): Promise<LimiterResult[]> {
  // No settings of this machine, and all files read before time is simulated.
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) process.env[name] = devNull;
  for (const limiter of Object.values(limiters))
    await limiter(new SimulatedTable(() => ({ kind: 'answered', latency: 0 })), perMinute)();
  const results: LimiterResult[] = [];
  for (const scenario of scenarios)
    for (const [name, limiter] of Object.entries(limiters))
      results.push({
        scenario: scenario.name,
        isFailing: scenario.fate !== healthy,
        limiter: name,
        ...(await simulate(scenario, limiter, seed)),
      });
  return results;
}

async function simulate({ minutes, fate, clients }: Scenario, limiter: Limiter, seed: number) {
  const { random } = Math;
  // The SDK spreads its retries.
  Math.random = seededRandom(seed);
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: start });
  try {
    const ofTable = seededRandom(seed + 1);
    const table = new SimulatedTable(() => fate(ofTable, Date.now() - start));
    const decisions: Decision[] = [];
    // As on Lambda: an environment serves one request at a time.
    const idle: Ask[] = [];
    const send = async (): Promise<number> => {
      const ask = idle.pop() ?? limiter(table, perMinute);
      const arrivedAt = Date.now();
      const outcome = await ask().catch(() => ({ kind: 'undecided' as const }));
      decisions.push({ arrivedAt, decidedAt: Date.now(), kind: outcome.kind });
      idle.push(ask);
      return outcome.kind === 'rejected' ? outcome.retryAfter : 0;
    };
    const progress = { ended: false };
    const running = clients(send, seededRandom(seed + 2)).then(() => (progress.ended = true));
    const limit = start + (minutes + 12) * minuteMs;
    while (!progress.ended && Date.now() < limit) {
      mock.timers.tick(1);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    if (!progress.ended) throw new Error('The clients of a schedule did not end.');
    await running;
    return { ...judge(decisions), calls: Math.round((table.calls / decisions.length) * 100) / 100 };
  } finally {
    mock.timers.reset();
    Math.random = random;
  }
}

function judge(decisions: readonly Decision[]) {
  const of = (kind: Decision['kind']) => decisions.filter((each) => each.kind === kind);
  const admitted = of('admitted').toSorted((a, b) => a.decidedAt - b.decidedAt);
  // A request that began in one minute and ended in the next counts in neither: no limiter is blamed wrongly.
  const minuteOf = (time: number) => Math.floor(time / minuteMs);
  const inMinutes = Map.groupBy(
    admitted.filter(({ arrivedAt, decidedAt }) => minuteOf(arrivedAt) === minuteOf(decidedAt)),
    ({ decidedAt }) => minuteOf(decidedAt),
  );
  const admittedBefore = ({ arrivedAt, decidedAt }: Decision) =>
    admitted.filter((each) => each.decidedAt > arrivedAt - minuteMs && each.arrivedAt <= decidedAt).length;
  const inMinuteFrom = (first: Decision) =>
    admitted.filter(
      ({ arrivedAt, decidedAt }) => decidedAt >= first.decidedAt && arrivedAt < first.decidedAt + minuteMs,
    ).length;
  return {
    over: [...inMinutes.values()].reduce((sum, { length }) => sum + Math.max(0, length - perMinute), 0),
    most: Math.max(0, ...admitted.map(inMinuteFrom)),
    rejectedBelow: of('rejected').filter((each) => admittedBefore(each) < perMinute).length,
    undecided: of('undecided').length,
    longest: Math.max(...decisions.map(({ arrivedAt, decidedAt }) => decidedAt - arrivedAt)),
  };
}
