import type { Options, Report } from './options.ts';
import { Schedule, type Step } from './schedule.ts';
import { textOf } from './story.ts';
import { Random } from './world.ts';

let isExploring = false;

/**
 * Runs requests in every order of their calls of DynamoDB, with every fate of each call up to a number of faults. Clock, timers and
 * random numbers of this process are replaced meanwhile.
 */
export async function explore<Shared>(options: Options<Shared>): Promise<Report> {
  if (isExploring) throw new Error('Another exploration is running in this process.');
  const { budget = 100_000, seed, repeat } = options;
  const random = seed === undefined || repeat !== undefined ? undefined : new Random(seed);
  const known = options.skipKnownStates === true ? new Set<string>() : undefined;
  let path = (repeat?.split('.') ?? []).map((taken): Step => ({ taken: Number(taken), options: Infinity }));
  let [schedules, violations, isComplete] = [0, 0, false];
  let best: Schedule<Shared> | undefined;
  isExploring = true;
  try {
    // Loads what is loaded lazily, so that every schedule finds the same.
    await new Schedule(options, { loads: true }).run();
    do {
      const schedule = new Schedule(options, { path, random, known });
      await schedule.run();
      schedules += 1;
      if (schedule.sentence !== undefined) {
        violations += 1;
        if (best === undefined || isShorter(schedule, best)) best = schedule;
      }
      if (repeat !== undefined) break;
      if (seed !== undefined) continue;
      path = nextOf(schedule.steps);
      isComplete = path.length === 0;
    } while (!isComplete && schedules < budget);
  } finally {
    isExploring = false;
  }
  return { schedules, violations, isComplete, failure: best?.failure };
}

/** @throws Error of the shortest failure: its sentence, its trace and how to repeat it */
export async function verify<Shared>(options: Options<Shared>): Promise<Report> {
  const report = await explore(options);
  if (report.failure) throw new Error(textOf(report));
  return report;
}

/** The next path in depth-first order. Empty after the last one. */
function nextOf(steps: readonly Step[]): Step[] {
  const last = steps.findLastIndex(({ taken, options }) => taken + 1 < options);
  return last < 0 ? [] : [...steps.slice(0, last), { ...steps[last]!, taken: steps[last]!.taken + 1 }];
}

function isShorter<Shared>(a: Schedule<Shared>, b: Schedule<Shared>): boolean {
  return a.faults === b.faults ? a.trace.length < b.trace.length : a.faults < b.faults;
}
