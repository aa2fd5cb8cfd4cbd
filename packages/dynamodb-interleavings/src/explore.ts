import type { Options, Report } from './options.ts';
import { Search } from './reduction.ts';
import { type Director, Schedule } from './schedule.ts';
import { textOf } from './story.ts';
import { Random } from './world.ts';

let isExploring = false;
/** In milliseconds. The clock of the process is replaced while a schedule runs. */
const realNow = performance.now.bind(performance);

/**
 * Runs requests in every order of their calls of DynamoDB, with every fate of each call up to a number of faults. Clock, timers and
 * random numbers of this process are replaced meanwhile.
 */
export async function explore<Shared>(options: Options<Shared>): Promise<Report> {
  if (isExploring) throw new Error('Another exploration is running in this process.');
  const { budget = 100_000, seed, repeat, reduce = true, skipKnownStates = false } = options;
  const search = new Search(reduce, skipKnownStates);
  const random = new Random(seed ?? 0);
  const path = repeat?.split('.').map(Number);
  let [schedules, violations, isComplete] = [0, 0, false];
  let cut: string | undefined;
  const end = realNow() + (options.timeLimit ?? Infinity);
  let best: Schedule<Shared> | undefined;
  isExploring = true;
  try {
    // Loads what is loaded lazily, so that every schedule finds the same.
    await new Schedule(options, following([]), true).run();
    do {
      const director = path ? following(path) : seed === undefined ? search : at(random);
      const schedule = new Schedule(options, director);
      await schedule.run();
      if (!schedule.isKnown) schedules += 1;
      cut ??= schedule.cut;
      if (schedule.sentence !== undefined) {
        violations += 1;
        if (best === undefined || isShorter(schedule, best)) best = schedule;
      }
      if (path) break;
      if (seed === undefined) isComplete = !search.advance();
    } while (!isComplete && schedules < budget && realNow() < end && options.signal?.aborted !== true);
  } finally {
    isExploring = false;
  }
  return { schedules, violations, isComplete: isComplete && cut === undefined, cut, failure: best?.failure };
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

/** Takes the choices of a path, then always the first one. */
function following(path: readonly number[]): Director {
  let position = 0;
  return { choose: () => path[position++] ?? 0, stepped: () => {}, timePasses: () => {} };
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
