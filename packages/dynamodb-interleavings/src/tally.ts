import { longestPauses, unexploredBy } from './bounds.ts';
import type { Fate, Fault } from './faults.ts';
import type { Failure, Options } from './options.ts';
import type { Schedule } from './schedule.ts';
import { outcomeText } from './story.ts';

/** Failures with different sentences that are kept. */
const mostFailures = 20;

/** A schedule that failed, and the level that a repetition of it has to name. */
interface Failed<Shared> {
  readonly schedule: Schedule<Shared>;
  readonly level: number | undefined;
}

/** What the schedules of a run have come to so far. */
export class Tally<Shared> {
  schedules = 0;
  /** Schedules that failed. */
  violations = 0;
  /** Whether a call has reached the simulation, or a request that waits for nothing in it has not ended. */
  hasStarted = false;
  cut: string | undefined;
  /** Whether an event deletes. */
  hasDeletion = false;
  readonly leftOut = new Set<string>();
  readonly #options: Options<Shared>;
  /** The shortest one for each sentence. */
  readonly #failures = new Map<string, Failed<Shared>>();
  readonly #succeeded = new Set<number>();
  readonly #met = new Set<Fate | undefined>();
  #first: Failed<Shared> | undefined;

  constructor(options: Options<Shared>) {
    this.#options = options;
  }

  get hasFailures(): boolean {
    return this.#failures.size > 0;
  }

  /** The shortest one first. */
  get failures(): Failure[] {
    const all = [...this.#failures.values()].toSorted((a, b) => (isShorter(a, b) ? -1 : 1));
    return all.map(({ schedule: { failure }, level }) => ({
      ...failure,
      repeat: `${level === undefined ? '' : `${level}:`}${failure.repeat}`,
    }));
  }

  /** What the requests of the first schedule came to. */
  get firstOutcomes(): string {
    const { outcomes = [] } = this.#first?.schedule.history ?? {};
    return outcomes.map((outcome, index) => ` Request ${index + 1} ${outcomeText(outcome)}.`).join('');
  }

  /** Those of these that no call has met. */
  unmetOf(kinds: readonly Fault[]): Fault[] {
    return kinds.filter((kind) => !this.#met.has(kind));
  }

  /** A request that has succeeded in no schedule. */
  get failing(): number | undefined {
    const index = this.#options.requests.findIndex((_, each) => !this.#succeeded.has(each));
    return index < 0 ? undefined : index + 1;
  }

  /** @param level that a repetition of it has to name */
  add(schedule: Schedule<Shared>, level: number | undefined): void {
    if (!schedule.isKnown) this.schedules += 1;
    this.hasStarted ||= schedule.hasCalls || schedule.isStuck;
    this.cut ??= schedule.cut;
    this.hasDeletion ||= schedule.hasDeletion;
    this.#first ??= { schedule, level };
    const { calls } = schedule.history;
    for (const each of [...schedule.leftOut, ...unexploredBy(calls)]) this.leftOut.add(each);
    // One that was not run to its end may be none: a pause needs a timer that goes off meanwhile.
    if (!schedule.isKnown) for (const { fate } of calls) this.#met.add(fate);
    if (schedule.hasPaused && !schedule.isKnown) {
      this.#met.add('paused');
      this.leftOut.add(longestPauses);
    }
    // What is not of DynamoDB can look like a success.
    if (!calls.some(({ fate }) => fate?.startsWith('unreadable')))
      for (const [index, outcome] of schedule.history.outcomes.entries())
        if (outcome?.status === 'fulfilled') this.#succeeded.add(index);
    if (schedule.sentence === undefined) return;
    this.violations += 1;
    this.#keep({ schedule, level }, schedule.sentence);
  }

  /** All schedules fail for the same reason, which the first one shows. */
  fail(sentence: string): void {
    this.#first!.schedule.sentence = sentence;
    this.#keep(this.#first!, sentence);
    this.violations = this.schedules;
  }

  #keep(failed: Failed<Shared>, sentence: string): void {
    const best = this.#failures.get(sentence);
    if (best ? isShorter(failed, best) : this.#failures.size < mostFailures)
      this.#failures.set(sentence, failed);
  }
}

function isShorter<Shared>({ schedule: a }: Failed<Shared>, { schedule: b }: Failed<Shared>): boolean {
  return a.faults === b.faults ? a.trace.length < b.trace.length : a.faults < b.faults;
}
