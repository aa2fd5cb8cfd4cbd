import type { Fate } from './faults.ts';
import { defaults, type Options, type Report } from './options.ts';
import { Search } from './reduction.ts';
import { type Director, following, Schedule } from './schedule.ts';
import { serializable } from './serial.ts';
import { textOf } from './story.ts';
import { Random } from './world.ts';

/** The exploration that runs in this process, until it has ended. */
let current: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
const unendedPauses =
  'no pause ends, and no late call arrives, between two equal answers to a request that polls';
/** Milliseconds after which a run says how far it is, and then again. */
const reportEvery = 5_000;
/** Failures with different sentences that are kept. */
const mostFailures = 20;
/** In milliseconds. The clock of the process is replaced while a schedule runs. */
const realNow = performance.now.bind(performance);

/**
 * Runs requests in every order of their calls of DynamoDB, with every fate of each call up to a number of faults. Clock, timers and
 * random numbers of this process are replaced meanwhile.
 */
export async function explore<Shared>(options: Options<Shared>): Promise<Report> {
  // A runner has given up the test that runs it, or forgets to wait for it.
  for (let running = current; running !== undefined; running = current) {
    running.stop.abort();
    await running.ended;
  }
  const { budget = 100_000, seed, repeat, reduce = true } = options;
  const judge = options.check ? undefined : serializable(options);
  const search = new Search(reduce);
  const random = new Random(seed ?? 0);
  const path = repeat?.split('.').map(Number);
  let [schedules, violations, isComplete] = [0, 0, false];
  let [hasCalls, isStuck] = [false, false];
  let cut: string | undefined;
  const end = realNow() + (options.timeLimit ?? Infinity);
  let first: Schedule<Shared> | undefined;
  /** The shortest one for each sentence. */
  const failures = new Map<string, Schedule<Shared>>();
  const successful = new Set<number>();
  const leftOut = new Set<string>();
  const met = new Set<Fate | undefined>();
  const [stop, ended] = [new AbortController(), Promise.withResolvers<void>()];
  current = { stop, ended: ended.promise };
  const startedAt = realNow();
  let reportedAt = startedAt;
  try {
    // Loads what is loaded lazily, so that every schedule finds the same.
    await new Schedule(options, following([]), { loads: true }).run();
    do {
      const director = path ? following(path) : seed === undefined ? search : at(random);
      const schedule = new Schedule(options, director);
      await schedule.run();
      hasCalls ||= schedule.hasCalls;
      isStuck ||= schedule.isStuck;
      if (!schedule.isKnown) schedules += 1;
      first ??= schedule;
      for (const each of schedule.leftOut) leftOut.add(each);
      for (const { fate } of schedule.history.calls) met.add(fate);
      if (schedule.hasPaused) met.add('paused');
      for (const [index, outcome] of schedule.history.outcomes.entries())
        if (outcome?.status === 'fulfilled') successful.add(index);
      cut ??= schedule.cut;
      if (judge && !schedule.isKnown && schedule.cut === undefined)
        schedule.sentence ??= await judge(schedule.history);
      if (schedule.sentence !== undefined) {
        violations += 1;
        const best = failures.get(schedule.sentence);
        if (best ? isShorter(schedule, best) : failures.size < mostFailures)
          failures.set(schedule.sentence, schedule);
      }
      if (stop.signal.aborted)
        throw new Error(
          'Another exploration has begun in this process. Wait for each, also for one that fails.',
        );
      if (realNow() - reportedAt >= reportEvery) {
        reportedAt = realNow();
        process.stderr.write(
          `${progressOf(schedules, reportedAt - startedAt, search.remaining, violations)}\n`,
        );
      }
      if (path) break;
      if (seed === undefined) isComplete = !search.advance();
    } while (!isComplete && schedules < budget && realNow() < end && options.signal?.aborted !== true);
  } finally {
    current = undefined;
    ended.resolve();
  }
  if (!hasCalls && !isStuck)
    throw new Error(
      'No call has reached the simulation. Give each client of the AWS SDK the `client` of the environment, as in ' +
        '`new DynamoDBClient(client)`.',
    );
  const failing = options.requests.findIndex((_, index) => !successful.has(index));
  if (first && failures.size === 0 && path === undefined && failing >= 0) {
    first.sentence = `Request ${failing + 1} succeeds in no schedule. If it is to fail, let it return its error.`;
    failures.set(first.sentence, first);
    violations = schedules;
  }
  const told = [...failures.values()]
    .toSorted((a, b) => (isShorter(a, b) ? -1 : 1))
    .map(({ failure }) => failure);
  if (options.kinds && isComplete && path === undefined && (options.faults ?? 0) > 0)
    for (const kind of options.kinds) if (!met.has(kind)) leftOut.add(`no call met the fault ${kind}`);
  const perSecond = schedules / Math.max(0.001, (realNow() - startedAt) / 1_000);
  return {
    schedules,
    violations,
    isComplete: isComplete && cut === undefined,
    bounds: [boundsOf(options), ...leftOut, ...(search.leavesOutEnds ? [unendedPauses] : [])].join('; '),
    perSecond,
    cut,
    failure: told[0],
    failures: told,
  };
}

/** What the run does not go beyond. */
function boundsOf({
  faults = 0,
  delays = defaults.delays,
  requestTimeout = defaults.requestTimeout,
}: Pick<Options, 'faults' | 'delays' | 'requestTimeout'>): string {
  const many = (count: number, what: string) =>
    count === 0 ? `no ${what}` : `at most ${count} ${what}${count === 1 ? '' : 's'}`;
  return `${many(faults, 'fault')} and ${many(delays, 'delay')}, calls of at most ${requestTimeout / 1_000} s`;
}

function progressOf(schedules: number, milliseconds: number, remaining: number, violations: number): string {
  const rate = Math.round((schedules * 1_000) / milliseconds);
  return (
    `dynamodb-interleavings: ${schedules} schedules in ${Math.round(milliseconds / 1_000)} s, ${rate} a second, ` +
    `${violations} of them violations, at least ${remaining} to go`
  );
}

/**
 * @throws Error of the shortest failure: its sentence, its trace and how to repeat it. Or if not all schedules were run, unless the
 * option `partial` allows it
 */
export async function verify<Shared>(options: Options<Shared>): Promise<Report> {
  const report = await explore(options);
  if (report.failure) throw new Error(textOf(report));
  if (!report.isComplete && options.partial !== true && options.repeat === undefined)
    throw new Error(
      `Not all: ${textOf(report)}${report.cut === undefined ? '' : ` A request makes this call: ${report.cut}.`}`,
    );
  return report;
}

function at(random: Random): Director {
  return {
    choose: (choices) => {
      const useful = choices.filter(({ isUseful }) => isUseful);
      return choices.indexOf(random.pick(useful));
    },
    stepped: () => {},
    timePasses: () => {},
  };
}

function isShorter<Shared>(a: Schedule<Shared>, b: Schedule<Shared>): boolean {
  return a.faults === b.faults ? a.trace.length < b.trace.length : a.faults < b.faults;
}
