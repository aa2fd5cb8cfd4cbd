import { alwaysOf, boundsOf, unmetText } from './bounds.ts';
import { Conduct, differenceOf } from './conduct.ts';
import { defaultKinds, kindsOfAws } from './faults.ts';
import { type Level, type Options, type Report } from './options.ts';
import { Search } from './reduction.ts';
import { type Director, following, patience, Schedule } from './schedule.ts';
import { serializable } from './serial.ts';
import { textOf } from './story.ts';
import { Tally } from './tally.ts';
import { Random } from './world.ts';

/** The exploration that runs in this process, until it has ended. */
let current: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
const unendedPauses =
  'no pause ends, and no late call arrives, between two equal answers to a request that polls';
/** Milliseconds after which a run says how far it is, and then again. */
const reportEvery = 5_000;
/** The most faults of a level of a run that deepens. */
const deepest = 2;
/** Schedules at random have one more at most. */
const mostAtRandom = deepest + 1;
/** The part of the time that is left for schedules at random, if a level takes longer. */
const partForRandom = 0.25;
/** The most repetitions of schedules in which a request does something new. */
const partForRepetitions = 0.1;
/** In milliseconds. The clock of the process is replaced while a schedule runs. */
const realNow = performance.now.bind(performance);

/**
 * Runs requests in every order of their calls of DynamoDB, with every fate of each call up to a number of faults. Clock, timers and
 * random numbers of this process are replaced meanwhile.
 * @param now the time that is spent, in milliseconds, for tests
 */
export async function explore<Shared>(options: Options<Shared>, now = realNow): Promise<Report> {
  // A runner has given up the test that runs it, or forgets to wait for it.
  for (let running = current; running !== undefined; running = current) {
    running.stop.abort();
    await running.ended;
  }
  const [stop, ended] = [new AbortController(), Promise.withResolvers<void>()];
  current = { stop, ended: ended.promise };
  try {
    const exploration = new Exploration(options, stop.signal, now);
    await exploration.rehearse();
    return await exploration.run();
  } finally {
    current = undefined;
    ended.resolve();
  }
}

class Exploration<Shared> {
  readonly #options: Options<Shared>;
  readonly #tally: Tally<Shared>;
  readonly #judge: ReturnType<typeof serializable<Shared>> | undefined;
  readonly #stop: AbortSignal;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #deepens: boolean;
  readonly #conduct: Conduct | undefined;
  readonly #patience = { milliseconds: patience };
  /** What requests have done. */
  readonly #keys = new Set<string>();
  /** The same without its numbers. */
  readonly #deeds = new Set<string>();
  #repetitions = 0;
  #first: Schedule<Shared> | undefined;
  #reportedAt: number;
  #levels: Level[] = [];
  #random = 0;
  /** What is not explored within the last level that is complete. */
  #leftOut: readonly string[] = [];

  constructor(options: Options<Shared>, stop: AbortSignal, now: () => number) {
    this.#options = options;
    this.#tally = new Tally(options);
    this.#judge = options.check ? undefined : serializable(options);
    this.#stop = stop;
    this.#now = now;
    this.#startedAt = this.#reportedAt = now();
    const { time, faults, seed, repeat } = options;
    this.#deepens = time !== undefined && [faults, seed, repeat].every((each) => each === undefined);
    this.#conduct = options.shared ? undefined : new Conduct();
  }

  /** Runs a schedule several times. @throws Error if requests do something else each time */
  async rehearse(): Promise<void> {
    // Loads what is loaded lazily, so that every schedule finds the same.
    const first = (this.#first = this.#schedule(following([]), undefined, { loads: true }));
    await first.run();
    if (first.hasWaited) this.#conduct?.forget();
    await this.#runAgain(first, undefined);
    if (this.#options.shared === undefined)
      await this.#schedule(following([]), undefined, { isReversed: true }).run();
  }

  #schedule(director: Director, level: number | undefined, settings: object = {}): Schedule<Shared> {
    const common = { conduct: this.#conduct, patience: this.#patience };
    return new Schedule(this.#optionsOf(level), director, { ...common, ...settings });
  }

  /** @throws Error if requests do something else than in the same schedule before */
  async #runAgain(before: Schedule<Shared>, level: number | undefined): Promise<void> {
    const again = this.#schedule(following(before.taken), level);
    await again.run();
    const error = differenceOf(before.actors, again.actors, before.hasWaited);
    if (error) throw error;
  }

  async run(): Promise<Report> {
    const { time = Infinity, seed, repeat } = this.#options;
    const end = this.#startedAt + time;
    if (repeat !== undefined) await this.#repeat(repeat);
    else if (seed !== undefined) await this.#runAtRandom(new Random(seed), [undefined], end);
    else if (this.#deepens) await this.#deepen(end - time * partForRandom, end);
    else await this.#runLevel(undefined, end);
    const tally = this.#tally;
    // What a module has kept from the last schedule makes a difference in the first one.
    if (repeat === undefined && !tally.hasFailures) await this.#runAgain(this.#first!, undefined);
    if (!tally.hasStarted)
      throw new Error(
        'No call has reached the simulation. Give each client of the AWS SDK the `client` of the environment, as in ' +
          `\`new DynamoDBClient(client)\`.${tally.firstOutcomes}`,
      );
    if (repeat === undefined && !tally.hasFailures) this.#judgeFailing();
    const { schedules, violations, failures, cut } = tally;
    const complete = this.#levels.findLast(({ isComplete }) => isComplete);
    return {
      schedules,
      violations,
      isComplete: complete !== undefined,
      levels: this.#levels,
      random: this.#random,
      bounds: [
        ...boundsOf(this.#optionsOf(this.#deepens ? (complete?.faults ?? 0) : undefined), tally.hasDeletion),
        ...this.#leftOut,
        alwaysOf(this.#options),
      ].join('; '),
      perSecond: schedules / Math.max(0.001, (this.#now() - this.#startedAt) / 1_000),
      cut,
      failure: failures[0],
      failures,
    };
  }

  /** What a few schedules show is not true of all. */
  #judgeFailing(): void {
    const { failing } = this.#tally;
    if (failing === undefined) return;
    const sentence = `Request ${failing} succeeds in no schedule`;
    if (this.#deepens && !this.#levels[0]?.isComplete)
      this.#leftOut = [...this.#leftOut, `${sentence} that was run`];
    else this.#tally.fail(`${sentence}. If it is to fail, let it return its error.`);
  }

  /** @param end of the levels @param endOfAll of the schedules at random, which come last */
  async #deepen(end: number, endOfAll: number): Promise<void> {
    for (let faults = 0; faults <= deepest; faults += 1) {
      await this.#runLevel(faults, end);
      if (this.#tally.hasFailures) return;
      if (!this.#levels.at(-1)!.isComplete) break;
    }
    const from = this.#levels.filter(({ isComplete }) => isComplete).length;
    const levels = Array.from({ length: mostAtRandom + 1 - from }, (_, index) => from + index);
    await this.#runAtRandom(new Random(0), levels, endOfAll);
  }

  async #runLevel(level: number | undefined, end: number): Promise<void> {
    const { reduce = true } = this.#options;
    const { faults = 0, kinds = defaultKinds } = this.#optionsOf(level);
    const search = new Search(reduce);
    const before = this.#tally.schedules;
    let isComplete = false;
    do {
      await this.#runOne(search, level);
      isComplete = !search.advance();
    } while (!isComplete && !this.#isOver(end));
    isComplete &&= this.#tally.cut === undefined;
    this.#levels.push({ faults, schedules: this.#tally.schedules - before, isComplete });
    if (!isComplete && this.#levels.length > 1) return;
    const unmet = isComplete && faults > 0 ? this.#tally.unmetOf(kinds) : [];
    this.#leftOut = [
      ...unmetText(unmet),
      ...this.#tally.leftOut,
      ...(search.leavesOutEnds ? [unendedPauses] : []),
    ];
  }

  /** @param levels one after the other, again and again */
  async #runAtRandom(random: Random, levels: readonly (number | undefined)[], end: number): Promise<void> {
    do {
      const level = levels[this.#random % levels.length];
      await this.#runOne(at(random), level);
      this.#random += 1;
    } while (!this.#isOver(end));
    if (levels[0] === undefined) this.#leftOut = [...this.#tally.leftOut];
  }

  async #repeat(repeat: string): Promise<void> {
    const [, level, path] = /^(?:(\d+):)?(.*)$/s.exec(repeat)!;
    const director = following(path!.split('.').map(Number));
    await this.#runOne(director, level === undefined ? undefined : Number(level));
  }

  async #runOne(director: Director, level: number | undefined): Promise<void> {
    const schedule = this.#schedule(director, level);
    await schedule.run();
    if (director instanceof Search) director.checkEnd();
    await this.#checkNew(schedule, level);
    if (this.#judge && !schedule.isKnown && schedule.cut === undefined)
      schedule.sentence ??= await this.#judge(schedule.history);
    this.#tally.add(schedule, level);
    if (this.#stop.aborted)
      throw new Error(
        'Another exploration has begun in this process. Wait for each, also for one that fails.',
      );
    if (this.#now() - this.#reportedAt < reportEvery) return;
    this.#reportedAt = this.#now();
    const { schedules, violations } = this.#tally;
    const remaining = director instanceof Search ? director.remaining : 0;
    const milliseconds = this.#reportedAt - this.#startedAt;
    process.stderr.write(`${progressOf(schedules, milliseconds, remaining, violations)}\n`);
  }

  /** What a module does once only is done where a request does something new. */
  async #checkNew(schedule: Schedule<Shared>, level: number | undefined): Promise<void> {
    const { size } = this.#deeds;
    for (const { name, deeds } of schedule.actors)
      for (const deed of deeds) {
        if (this.#keys.has(`${name} ${deed.key}`)) continue;
        this.#keys.add(`${name} ${deed.key}`);
        this.#deeds.add(`${name} ${deed.told.replaceAll(/\d+/g, '#')}`);
      }
    if (this.#deeds.size === size || this.#repetitions > 10 + this.#tally.schedules * partForRepetitions)
      return;
    this.#repetitions += 1;
    await this.#runAgain(schedule, level);
  }

  /** @param level of a run that deepens */
  #optionsOf(level: number | undefined): Options<Shared> {
    return level === undefined ? this.#options : { kinds: kindsOfAws, ...this.#options, faults: level };
  }

  #isOver(end: number): boolean {
    const { budget = 100_000, signal } = this.#options;
    return this.#tally.schedules >= budget || this.#now() >= end || signal?.aborted === true;
  }
}

function progressOf(schedules: number, milliseconds: number, remaining: number, violations: number): string {
  const rate = Math.round((schedules * 1_000) / milliseconds);
  return (
    `dynamodb-interleavings: ${schedules} schedule${schedules === 1 ? '' : 's'} in ${Math.round(milliseconds / 1_000)} s, ${rate} a second, ` +
    `${violations} of them violations, at least ${remaining} to go`
  );
}

/**
 * Says on stderr what a run that deepens has reached.
 * @param now the time that is spent, in milliseconds, for tests
 * @throws Error of the shortest failure: its sentence, its trace and how to repeat it. Or if not all schedules were run, of a run that
 * deepens not all without a fault, unless the option `partial` allows it
 */
export async function verify<Shared>(options: Options<Shared>, now = realNow): Promise<Report> {
  const report = await explore(options, now);
  if (report.failure) throw new Error(textOf(report));
  if (!report.isComplete && options.partial !== true && options.repeat === undefined)
    throw new Error(
      `Not all: ${textOf(report)}${report.cut === undefined ? '' : ` A request makes this call: ${report.cut}.`}`,
    );
  if (report.levels.length > 0 && report.random > 0)
    process.stderr.write(`dynamodb-interleavings: ${textOf(report)}\n`);
  return report;
}

/** Each schedule has a rate of its own for what is not most likely, so that faults come early and late. */
function at(random: Random): Director {
  const rate = random.next();
  return {
    choose: (choices) => {
      const useful = choices.filter(({ isUseful }) => isUseful);
      const ofSubject = random.pick([...Map.groupBy(useful, ({ subject }) => subject).values()]);
      return choices.indexOf(random.chance(rate) ? random.pick(ofSubject) : ofSubject[0]!);
    },
    stepped: () => {},
    timePasses: () => {},
  };
}
