import realTimers from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { Footprint } from './footprint.ts';
import { idOf, replaceGlobals } from './globals.ts';
import { stayOffline } from './offline.ts';
import { Network } from './network.ts';
import { Notes, OpenCalls } from './open-calls.ts';
import type { Actor } from './conduct.ts';
import type { Failure, History, Options, Outcome, Simulation } from './options.ts';
import type { Choice, Effects } from './reduction.ts';
import { Requests, running, type Settings as OfRequests } from './requests.ts';
import { entryOfOutcome, linesOf } from './story.ts';
import { Tables } from './tables/tables.ts';
import { toWire } from './tables/values.ts';
import { Random, settled, World } from './world.ts';

/** The clock of the process is replaced while a schedule runs. */
const realNow = performance.now.bind(performance);

/** What a schedule takes at most. No few requests take more, unless they do not end. */
const maxSteps = 1_000;
const stackFrames = 60;
/** After how many steps a process that stands still goes on. */
const longestPause = maxSteps / 2;
const oneDraw = 'one draw of each random number';
const noTime = 'what is not simulated takes no time';
/** How often timers of no time go off before something else has its turn. */
const maxTurns = 10;

/** What decides what happens. */
export interface Director {
  /** The index of the choice to take. Undefined: this schedule need not go on. */
  readonly choose: (choices: readonly Choice[]) => number | undefined;
  /** After the step that was chosen. */
  readonly stepped: (effects: Effects) => void;
  /** @param isIdle nothing new has happened since it last did */
  readonly timePasses: (isIdle: boolean) => void;
}

interface Settings extends OfRequests {
  /** It waits for what is loaded. */
  readonly loads?: boolean;
  /** The requests begin in the reverse order. */
  readonly isReversed?: boolean;
  /** How long schedules wait for what is not simulated, until one has done so in vain. */
  readonly patience?: { milliseconds: number };
}

/** Takes the choices of a path, then always the first one. */
export function following(path: readonly number[]): Director {
  let position = 0;
  return { choose: () => path[position++] ?? 0, stepped: () => {}, timePasses: () => {} };
}

const { setTimeout: sleep } = realTimers;
/** Milliseconds that a schedule waits for files, modules and other threads. */
export const patience = 1_000;
/** How many turns of the event loop it waits for at most. */
const mostTurns = 1_000;

/** Waits for what is not simulated. False if nothing has come of it. */
async function someMore(hasMore: () => boolean, milliseconds: number): Promise<boolean> {
  for (let turn = 0; turn < 20 && !hasMore(); turn += 1) await settled();
  const end = realNow() + milliseconds;
  while (!hasMore() && realNow() < end) await sleep(1);
  return hasMore();
}

/** One order of what happens. */
export class Schedule<Shared> implements Simulation {
  /** The index of each choice that was taken. */
  readonly taken: number[] = [];
  /** What was wrong. */
  sentence: string | undefined;
  /** Why it was not run to its end, although it is one of its own. */
  cut: string | undefined;
  /** Whether it was left out: it differs from others only in the order of independent steps. */
  isKnown = false;
  /** Whether a request has not ended. */
  isStuck = false;
  /** Whether something was loaded, or came from another thread. */
  hasWaited = false;
  /** Whether an event deletes, as the time to live does. */
  hasDeletion = false;
  readonly world: World;
  readonly tables: Tables;
  readonly network: Network;
  shared!: Shared;
  readonly #options: Options<Shared>;
  readonly #director: Director;
  readonly #settings: Settings;
  readonly #outside = new Random(1).next;
  readonly #random = () => this.#draw('random');
  readonly #newId = () => {
    const process = running();
    const id = idOf(process?.random ?? this.#outside);
    process?.ids.add(id);
    return id;
  };
  readonly #notes = new Notes();
  readonly #requests: Requests<Shared>;
  readonly #calls: OpenCalls<Shared>;
  readonly #events: Set<string>;
  /** How many requests had ended when time last went on. */
  #ended = 0;
  #steps = 0;

  constructor(options: Options<Shared>, director: Director, settings: Settings = {}) {
    const { startsAt = '2026-01-01T00:00:00Z' } = options;
    this.#options = options;
    this.#director = director;
    this.#settings = settings;
    this.#events = new Set(Object.keys(options.events ?? {}));
    const world = (this.world = new World(new Date(startsAt).getTime(), this.#random));
    world.newId = this.#newId;
    // What is stored before has been there for long.
    let isBefore = true;
    const tables = (this.tables = new Tables(options.tables, () => (isBefore ? -Infinity : world.now)));
    for (const [table, items] of Object.entries(options.items ?? {}))
      for (const item of items) tables.put(table, toWire(marshall(item, { removeUndefinedValues: true })));
    isBefore = false;
    this.network = new Network(world, tables, (call) => this.#calls.add(call));
    this.#requests = new Requests(this, options, this.trace, settings);
    this.#calls = new OpenCalls(options, this, this.#requests, this.#notes);
  }

  /** Also one that was aborted before anything happened to it. */
  get hasCalls(): boolean {
    return this.#requests.hasCalls;
  }

  /** What each request has done. */
  get actors(): readonly Actor[] {
    return this.#requests.all;
  }

  get trace(): Notes['trace'] {
    return this.#notes.trace;
  }

  /** What could have happened on AWS, and is in no schedule. */
  get leftOut(): Set<string> {
    return this.#notes.leftOut;
  }

  get faults(): number {
    return this.#calls.faults;
  }

  get hasPaused(): boolean {
    return this.#notes.met.some(({ fate }) => fate === 'paused');
  }

  get failure(): Failure {
    return {
      sentence: this.sentence!,
      trace: linesOf(this.trace),
      steps: this.#notes.met,
      repeat: this.taken.join('.').replace(/(\.0)+$/, ''),
    };
  }

  get history(): History<Shared> {
    return {
      outcomes: this.#requests.outcomes as Outcome[],
      tables: this.tables,
      shared: this.shared,
      calls: this.#notes.calls,
      faults: this.faults,
      events: Object.keys(this.#options.events ?? {}).filter((name) => !this.#events.has(name)),
      together: this.#requests.together,
    };
  }

  #draw(stream: 'random' | 'randomOfCrypto'): number {
    const process = running();
    if (process) this.leftOut.add(oneDraw);
    return (process?.[stream] ?? this.#outside)();
  }

  async run(): Promise<void> {
    // The user's code is behind many frames of the SDK.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = stackFrames;
    const restore = replaceGlobals(() => ({
      world: this.world,
      clockOffset: 0,
      random: this.#random,
      randomOfCrypto: () => this.#draw('randomOfCrypto'),
      newId: this.#newId,
    }));
    const goOnline = stayOffline((error) => (this.network.unsupported ??= error));
    try {
      this.shared = this.#options.shared?.(this) as Shared;
      for (const [service, each] of Object.entries(this.#options.services?.(this) ?? {}))
        this.network.serve(service, each);
      const requests = [...this.#options.requests.entries()];
      for (const [index, request] of this.#settings.isReversed ? requests.toReversed() : requests)
        this.#requests.start(request, this.shared, index);
      await this.#settled();
      await this.#interleave();
      if (this.isKnown || this.cut !== undefined) return;
      if (this.#calls.timers.length > 0)
        this.leftOut.add('no timer goes off after the last request has ended');
      if (this.#options.shared)
        this.leftOut.add('no other request uses what is shared between a call and its answer');
      this.sentence = (await this.#finish()) ?? (await this.#judge());
      this.trace.push(
        ...this.#requests.outcomes.map((outcome, index) => entryOfOutcome(outcome, index, this.world.now)),
      );
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      goOnline();
      restore();
    }
  }

  /** Until all requests have ended, or the schedule need not go on. */
  async #interleave(): Promise<void> {
    while (this.#steps <= maxSteps) {
      const choices = this.#choices();
      if (choices.length === 0) {
        if (this.#calls.count === 0) {
          if (this.#requests.hasEnded) return;
          const hasMore = () => this.#calls.count > 0 || this.#requests.hasEnded;
          if (this.#settings.loads && this.world.timers.length === 0 && (await someMore(hasMore, patience))) {
            this.hasWaited = true;
            continue;
          }
        }
        if (!(await this.#passTime())) return;
        continue;
      }
      this.cut = this.#calls.endless;
      if (this.cut !== undefined) return;
      const taken = this.#director.choose(choices);
      if (taken === undefined) {
        this.isKnown = true;
        return;
      }
      const choice = choices[taken];
      if (choice === undefined) throw new Error('The schedule to repeat is of other requests or options.');
      await this.#take(choice, taken);
    }
  }

  async #take(choice: Choice, taken: number): Promise<void> {
    const [timers, late] = [new Set(this.#calls.timers), new Set(this.#calls.late)];
    this.#steps += 1;
    this.taken.push(taken);
    const footprint = (this.tables.footprint = choice.footprint);
    const { shared, namesShared = false } = this.#options;
    const { ended } = this.#requests;
    if (shared && !namesShared && choice.kind !== 'wait') footprint.add('shared', 'write');
    await choice.take();
    await this.#settled();
    if (this.#requests.ended > ended) footprint.add('ended', 'mark');
    // An event happens only while a call is open, so whether it can depends on every step.
    if (this.#options.events) footprint.add('events', choice.kind === 'event' ? 'write' : 'read');
    this.tables.footprint = new Footprint();
    this.#director.stepped({
      footprint,
      timers: this.#calls.timers.flatMap((timer) => (timers.has(timer) ? [] : [timer.at])),
      started: this.#calls.late.filter((each) => !late.has(each)),
    });
  }

  /** Lets everything happen that happens next. False if nothing does, or if a call would wait longer than its client. */
  async #passTime(): Promise<boolean> {
    const [timer] = this.world.timers;
    const { isIdle } = this.#calls;
    if (timer === undefined || timer.at === Infinity || !this.#calls.passTime(timer.at)) {
      this.isKnown = this.#calls.count > 0;
      return false;
    }
    this.#steps += 1;
    this.#director.timePasses(isIdle && this.#requests.ended === this.#ended);
    this.#ended = this.#requests.ended;
    this.world.step();
    await this.#settled();
    return true;
  }

  /** Runs the requests afterwards. What is wrong if one does not end. */
  async #finish(): Promise<string | undefined> {
    // From here on, several calls are answered at once.
    this.#requests.conduct = undefined;
    for (const request of [undefined, ...(this.#options.afterwards ?? [])]) {
      if (request) this.#requests.start(request, this.shared);
      do {
        await this.#settled();
        await this.#calls.answerAll();
        await this.#settled();
        this.#steps += 1;
      } while (
        this.#steps <= maxSteps &&
        !this.#requests.hasEnded &&
        (this.#calls.count > 0 || this.world.step())
      );
      const unanswered = this.#requests.outcomes.indexOf(undefined) + 1;
      if (unanswered === 0) continue;
      this.isStuck = true;
      return this.#steps > maxSteps
        ? `Request ${unanswered} has not ended after ${maxSteps} steps.`
        : `Request ${unanswered} is never answered. It waits for nothing in the simulation, ${this.#perhaps()}.`;
    }
    return undefined;
  }

  /** What a request can wait for that is never answered. */
  #perhaps(): string {
    const crashed = this.#requests.outcomes.findIndex((outcome) => outcome?.status === 'crashed') + 1;
    return this.#options.shared && crashed > 0
      ? `perhaps for request ${crashed}, which has crashed. If what is shared is the memory of one process, leave out the faults ` +
          'crashedBefore and crashedAfter'
      : 'perhaps for a timer or a client that a module has kept';
  }

  /** What is wrong by the check. It can wait for timers of the simulation and for what is real. */
  async #judge(): Promise<string | undefined> {
    const judging = { isDone: false };
    const judge = async () => this.#options.check?.(this.history);
    const judged = judge()
      .catch((error: unknown) => `The check fails: ${error instanceof Error ? error.message : String(error)}`)
      .finally(() => (judging.isDone = true));
    do await settled();
    while (!judging.isDone && this.world.step());
    return judged;
  }

  async #settled(): Promise<void> {
    await this.#turn();
    for (
      let turn = 0;
      turn < maxTurns && (this.world.timers[0]?.at ?? Infinity) <= this.world.now;
      turn += 1
    ) {
      this.world.step();
      await this.#turn();
    }
    const error = this.network.unsupported ?? this.#settings.conduct?.error;
    if (error) throw error;
    this.#calls.settle();
    for (const each of this.#requests.all) {
      if (each.ids.size > 0) this.leftOut.add(oneDraw);
      each.ids.clear();
      each.isAwake &&= this.#settings.loads === true;
    }
  }

  /** Until everything has gone on that can. */
  async #turn(): Promise<void> {
    let turn = 0;
    do await settled();
    while (this.world.turns > 0 && (turn += 1) < mostTurns);
    const { patience: left } = this.#settings;
    // Requests with something in common wait for each other.
    if (left === undefined || this.#options.shared !== undefined || !this.#isWorking()) return;
    const from = realNow();
    const isDone = await someMore(() => !this.#isWorking(), left.milliseconds);
    if (!isDone) left.milliseconds = 0;
    else if (realNow() - from >= 1) {
      this.hasWaited = true;
      this.leftOut.add(noTime);
    }
  }

  /** Whether a request goes on although it waits for nothing in the simulation. */
  #isWorking(): boolean {
    const { timers } = this.world;
    return this.#requests.all.some(
      (each) =>
        each.isAwake &&
        each.state === 'running' &&
        this.#requests.outcomes[each.index] === undefined &&
        !this.#calls.hasOf(each) &&
        timers.every(({ process }) => process !== each),
    );
  }

  /** What can happen next. None: time goes on. */
  #choices(): Choice[] {
    const { choices, hasOpen } = this.#calls.choices(this.#steps < longestPause);
    return [...choices, ...(hasOpen ? [...this.#events].map((name) => this.#eventOf(name)) : [])];
  }

  #eventOf(name: string): Choice {
    const id = `event ${name}`;
    const common = { kind: 'event', until: 0, needsTime: false } as const;
    const take = () => this.#happen(name);
    const footprint = new Footprint();
    return { ...common, id, process: id, subject: id, isUseful: true, isPatient: false, footprint, take };
  }

  #happen(name: string): void {
    this.#events.delete(name);
    this.#calls.isIdle = false;
    const { deletions } = this.tables;
    this.#options.events![name]!(this);
    this.hasDeletion ||= this.tables.deletions > deletions;
    this.trace.push({ at: this.world.now, what: name });
  }
}
