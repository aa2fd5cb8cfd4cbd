import type { Call } from './call.ts';
import { defaultKinds, type Fate } from './faults.ts';
import { defaults, type Failure, type Options, type Simulation } from './options.ts';
import type { Choice } from './reduction.ts';
import type { Requests } from './requests.ts';
import { type Entry, entryOf } from './story.ts';
import {
  type Happening,
  type Pending,
  possible,
  type RequestProcess,
  type Situation,
  untilOf,
} from './transitions.ts';
import type { Timer } from './world.ts';

/** How often a request makes the same call again, without a pause, before it is taken for one that waits for another. */
const maxRepetitions = 25;

/** Of a request that has had two open calls at the same time. PROOF.md says what other orders would take. */
const inOrder = 'answers to one request arrive in the order in which DynamoDB gets its calls';

/** What has happened in a schedule. */
export class Notes {
  readonly trace: Entry[] = [];
  readonly met: Failure['steps'][number][] = [];
  /** In the order in which they met their fates. */
  readonly calls: Call[] = [];
  /** What could have happened on AWS, and is in no schedule. */
  readonly leftOut = new Set<string>();
}

/** The calls of a schedule that have not come to their ends, what can happen to each, and what does. */
export class OpenCalls<Shared> {
  faults = 0;
  /** Whether requests have only repeated calls, with the same answers, since time last went on. */
  isIdle = false;
  #pending: Pending[] = [];
  #delays = 0;
  /** How often each call was made since time last went on. */
  readonly #repetitions = new Map<string, number>();
  readonly #options: Options<Shared>;
  readonly #simulation: Simulation;
  readonly #requests: Requests<Shared>;
  readonly #notes: Notes;

  constructor(options: Options<Shared>, simulation: Simulation, requests: Requests<Shared>, notes: Notes) {
    this.#options = options;
    this.#simulation = simulation;
    this.#requests = requests;
    this.#notes = notes;
  }

  get count(): number {
    return this.#pending.length;
  }

  /** Whether a request waits for a call. */
  hasOf(process: RequestProcess): boolean {
    return this.#pending.some(
      ({ owner, state, call: { ended } }) => owner === process && state !== 'late' && !ended,
    );
  }

  /** Whose steps the calls are that their clients have given up. */
  get late(): readonly string[] {
    return this.#pending.flatMap(({ state, process }) => (state === 'late' ? [process] : []));
  }

  add(call: Call): void {
    const { owner, name, id } = this.#requests.noteCall(call);
    if (this.#pending.some(({ process }) => process === name)) this.#notes.leftOut.add(inOrder);
    this.#pending.push({ id, process: name, owner, call, state: 'sent', isSlow: false, waits: false });
    const text = `${name} ${call.operation} ${JSON.stringify(call.input)}`;
    this.#repetitions.set(text, (this.#repetitions.get(text) ?? 0) + 1);
  }

  /** Leaves out the calls that have ended. */
  settle(): void {
    this.#pending = this.#pending.filter(({ state, call: { ended } }) => state === 'late' || !ended);
  }

  /** Time goes on. False if a call would wait longer than its client, or a late one longer than all requests. */
  passTime(at: number): boolean {
    if (at >= Math.min(...this.#pending.map(untilOf))) return false;
    const isLast = this.#pending.length > 0 && this.#pending.every(({ state }) => state === 'late');
    if (isLast && this.#requests.hasEnded) return false;
    for (const each of this.#pending) each.waits = false;
    this.#repetitions.clear();
    this.isIdle = true;
    return true;
  }

  /** What can happen next to each of them, and whether a client waits for one. @param canStandStill whether a pause can go on */
  choices(canStandStill: boolean): { readonly choices: Choice[]; readonly hasOpen: boolean } {
    const [timer] = this.timers;
    const active = this.#pending
      .filter(({ waits }) => !waits)
      .toSorted((a, b) => Number(a.isSlow) - Number(b.isSlow));
    return {
      choices: active.flatMap((pending) => this.#choicesOf(pending, timer, canStandStill)),
      hasOpen: active.some(({ state }) => state !== 'late'),
    };
  }

  /** Answers all of them. */
  async answerAll(): Promise<void> {
    for (const pending of this.#pending) await this.#meet(pending, 'answered');
  }

  /** Timers but the time-outs of the calls that have not met their fates. */
  get timers(): Timer[] {
    const timeouts = new Set(
      this.#pending.flatMap(({ state, call }) => (state === 'late' ? [] : [call.timeout])),
    );
    return this.#simulation.world.timers.filter((timer) => !timeouts.has(timer) && timer.at < Infinity);
  }

  /** A request that repeats a call without a pause while another one waits: there is no end of orders. */
  get endless(): string | undefined {
    const [busy] = [...this.#repetitions].find(([, count]) => count > maxRepetitions) ?? [];
    if (busy === undefined || new Set(this.#pending.map(({ process }) => process)).size < 2) return undefined;
    return `${busy.split(' ').slice(0, 3).join(' ')} again and again without a pause`;
  }

  #choicesOf(pending: Pending, timer: Timer | undefined, canStandStill: boolean): Choice[] {
    const { id, process, call, state, isSlow } = pending;
    const until = untilOf(pending);
    const all = possible(pending, this.#situation(canStandStill));
    // One without an end goes on waiting while the others only repeat what they have done.
    const isEndless = state === 'late' || state === 'paused';
    const isPatient = isEndless && isSlow && all.some(({ name }) => name === 'waits');
    const choices = all.map(({ name, variant, needsTime, isApplied, footprint }): Choice => {
      const isWait = name === 'waits';
      // Whoever stands still does not give up.
      const end = name === 'paused' ? Infinity : until;
      return {
        id: `${id} ${name} ${variant} ${call.parts.length}`,
        process,
        kind: isWait ? 'wait' : 'step',
        subject: id,
        until: end,
        needsTime,
        isApplied,
        isUseful: !needsTime || (timer !== undefined && timer.at < end),
        isPatient: isPatient && !isWait,
        footprint,
        take: () => (isWait ? this.#wait(pending) : this.#step(pending, name, variant)),
      };
    });
    return isPatient ? choices.toReversed() : choices;
  }

  #situation(canStandStill: boolean): Situation {
    const { faults = 0, delays = defaults.delays, kinds = defaultKinds } = this.#options;
    const { requests, events, shared, services } = this.#options;
    return {
      network: this.#simulation.network,
      kinds,
      hasFaults: this.faults < faults,
      hasDelays: this.#delays < delays,
      canStandStill,
      seesPauses: requests.length > 1 || [events, shared, services].some((each) => each !== undefined),
      hasEnded: () => {
        this.#simulation.tables.footprint.add('ended', 'read');
        return this.#requests.hasEnded;
      },
    };
  }

  #wait(pending: Pending): void {
    const { state, isSlow } = pending;
    if (state !== 'late' && !isSlow) this.#delays += 1;
    if (!isSlow) this.isIdle = false;
    pending.isSlow = true;
    pending.waits = true;
  }

  async #step(pending: Pending, name: Exclude<Happening, 'waits'>, variant: number): Promise<void> {
    const { call } = pending;
    call.variant = variant;
    const steps: Readonly<Partial<Record<Happening, () => void | Promise<void>>>> = {
      paused: () => this.#pause(pending),
      resumes: () => this.#resume(pending),
      arrives: () => {
        this.#close(pending);
        this.#simulation.network.apply(call);
      },
      item: () => {
        this.#notes.leftOut.add('batches do their items in order');
        this.#simulation.network.advance(call);
      },
      applied: () => this.#apply(pending),
      told: () => {
        this.#close(pending);
        return pending.tell!();
      },
    };
    const step = steps[name];
    if (step === undefined) {
      await this.#meet(pending, name as Fate);
      return;
    }
    await step();
    this.isIdle = false;
    this.#note(call, name);
  }

  #note(call: Call, fate: Failure['steps'][number]['fate']): void {
    this.#notes.met.push({ sender: call.name, operation: call.operation, fate });
    this.#notes.trace.push(entryOf(call, this.#simulation.world.now, fate));
  }

  #close(pending: Pending): void {
    this.#pending = this.#pending.filter((each) => each !== pending);
  }

  async #meet(pending: Pending, fate: Fate): Promise<void> {
    const { call, owner } = pending;
    if (fate !== 'answered') this.faults += 1;
    if (fate === 'unprocessed' && this.#simulation.network.leavesOne(call)) {
      this.#simulation.network.advance(call, true);
      this.isIdle = false;
      this.#note(call, 'left');
      return;
    }
    this.#close(pending);
    if (fate === 'late')
      this.#pending.push({ ...pending, process: `late ${pending.id}`, state: 'late', waits: false });
    call.fate = fate;
    const last = this.#notes.calls.findLast(({ name }) => name === call.name);
    this.#notes.calls.push(call);
    await this.#simulation.network.meet(call)();
    if (owner && fate.startsWith('crashed')) this.#crash(owner);
    this.isIdle &&= fate === 'answered' && last !== undefined && isSame(last, call);
    this.#note(call, fate);
  }

  /** DynamoDB applies a call. Its answer comes after time has gone on. */
  #apply(pending: Pending): void {
    const { call } = pending;
    this.#wait(pending);
    call.fate = 'answered';
    this.#notes.calls.push(call);
    pending.tell = this.#simulation.network.meet(call);
    pending.state = 'applied';
  }

  /**
   * The process ends. Its other open calls do not reach DynamoDB: that they did is another schedule, in which they met their fates
   * before. All of it is a step of the process, and time, which its timers were to let pass, depends on every step.
   */
  #crash(owner: RequestProcess): void {
    this.#requests.crash(owner);
    this.#pending = this.#pending.filter((each) => each.state === 'late' || each.owner !== owner);
  }

  /** The process stands still before it sends the call, at least until time goes on: without that it is as if it had not. */
  #pause(pending: Pending): void {
    this.faults += 1;
    pending.owner!.state = 'paused';
    pending.state = 'paused';
    pending.isSlow = true;
    pending.waits = true;
    this.#simulation.world.cancel(pending.call.timeout);
  }

  /** The process goes on: with what was due meanwhile, and with its call, which can still meet any fate. */
  #resume(pending: Pending): void {
    pending.owner!.state = 'running';
    pending.state = 'sent';
    pending.isSlow = false;
    pending.call.await();
  }
}

/** Whether a call repeats another one, and got the same answer. */
function isSame(a: Call, b: Call): boolean {
  return (
    a.service === b.service && a.operation === b.operation && a.table === b.table && a.outcome === b.outcome
  );
}
