import realTimers from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { Footprint } from './footprint.ts';
import { replaceGlobals } from './globals.ts';
import { stayOffline } from './offline.ts';
import type { Call } from './call.ts';
import { defaultKinds, type Fate } from './faults.ts';
import { Network } from './network.ts';
import {
  defaults,
  type Failure,
  type History,
  type Options,
  type Outcome,
  type Request,
  type Simulation,
} from './options.ts';
import type { Choice, Effects } from './reduction.ts';
import { diagramOf, type Entry, entryOf, entryOfOutcome, linesOf } from './story.ts';
import { Tables } from './tables/tables.ts';
import type { Item } from './tables/values.ts';
import {
  type Happening,
  type Pending,
  possible,
  type RequestProcess,
  type Situation,
  untilOf,
} from './transitions.ts';
import { processes, Random, settled, type Timer, World } from './world.ts';

/** What a schedule takes at most. No few requests take more, unless they do not end. */
const maxSteps = 1_000;
/** How often a request makes the same call again, without a pause, before it is taken for one that waits for another. */
const maxRepetitions = 25;
const stackFrames = 60;
/** After how many steps a process that stands still goes on. */
const longestPause = maxSteps / 2;
/** What a client of the SDK would look up in variables and files, or compute, for each call. It finds the defaults, as on Lambda. */
const configuration = {
  region: 'eu-central-1',
  credentials: { accessKeyId: 'simulated', secretAccessKey: 'simulated' },
  signer: { sign: (request: unknown) => Promise.resolve(request) },
  useDualstackEndpoint: false,
  useFipsEndpoint: false,
  defaultsMode: 'legacy',
  accountIdEndpointMode: () => Promise.resolve('preferred'),
  authSchemePreference: () => Promise.resolve([]),
  endpointDiscoveryEnabledProvider: () => Promise.resolve(undefined),
  userAgentAppId: () => Promise.resolve(undefined),
} as const;
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

interface Settings {
  /** It waits for what is loaded. */
  readonly loads?: boolean;
  /** For random numbers. */
  readonly seed?: number;
  /** Of the requests, those afterwards included. */
  readonly names?: readonly string[];
}

/** Takes the choices of a path, then always the first one. */
export function following(path: readonly number[]): Director {
  let position = 0;
  return { choose: () => path[position++] ?? 0, stepped: () => {}, timePasses: () => {} };
}

const running = () => processes.getStore() as RequestProcess | undefined;

const { setTimeout: sleep } = realTimers;
const loadingMs = 1_000;

/** Waits for files and modules. False if nothing has come of it for a second. */
async function someMore(hasMore: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < loadingMs && !hasMore(); waited += 10) await sleep(10);
  return hasMore();
}

/** One order of what happens. */
export class Schedule<Shared> implements Simulation {
  /** The index of each choice that was taken. */
  readonly taken: number[] = [];
  readonly trace: Entry[] = [];
  /** What was wrong. */
  sentence: string | undefined;
  /** Why it was not run to its end, although it is one of its own. */
  cut: string | undefined;
  /** Whether it was left out: it differs from others only in the order of independent steps. */
  isKnown = false;
  /** Whether a request has not ended. */
  isStuck = false;
  /** What could have happened on AWS, and is in no schedule. */
  readonly leftOut = new Set<string>();
  faults = 0;
  readonly world: World;
  readonly tables: Tables;
  readonly network: Network;
  shared!: Shared;
  readonly #options: Options<Shared>;
  readonly #director: Director;
  readonly #settings: Settings;
  readonly #outside = new Random(1).next;
  readonly #random = () => (running()?.random ?? this.#outside)();
  readonly #met: Failure['steps'][number][] = [];
  readonly #processes: RequestProcess[] = [];
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** In the order in which they met their fates. */
  readonly #calls: Call[] = [];
  readonly #events: Set<string>;
  /** How often each call was made since time last went on. */
  readonly #repetitions = new Map<string, number>();
  /** Calls that no request makes. */
  readonly #nobody = { name: 'nobody', calls: [] as Call[] };
  readonly #inside = new Set<RequestProcess>();
  #together: readonly string[] = [];
  #pending: Pending[] = [];
  /** Whether requests have only repeated calls, with the same answers, since time last went on. */
  #isIdle = false;
  /** How many had ended then. */
  #ended = 0;
  #delays = 0;
  #steps = 0;

  constructor(options: Options<Shared>, director: Director, settings: Settings = {}) {
    const { startsAt = '2026-01-01T00:00:00Z' } = options;
    this.#options = options;
    this.#director = director;
    this.#settings = settings;
    this.#events = new Set(Object.keys(options.events ?? {}));
    const world = (this.world = new World(new Date(startsAt).getTime(), this.#random));
    // What is stored before has been there for long.
    let isBefore = true;
    const tables = (this.tables = new Tables(options.tables, () => (isBefore ? -Infinity : world.now)));
    for (const [table, items] of Object.entries(options.items ?? {}))
      for (const item of items) tables.put(table, marshall(item, { removeUndefinedValues: true }) as Item);
    isBefore = false;
    this.network = new Network(world, tables, (call) => this.#send(call));
  }

  /** Also one that was aborted before anything happened to it. */
  get hasCalls(): boolean {
    return [this.#nobody, ...this.#processes].some(({ calls }) => calls.length > 0);
  }

  get hasPaused(): boolean {
    return this.#met.some(({ fate }) => fate === 'paused');
  }

  get failure(): Failure {
    return {
      sentence: this.sentence!,
      trace: linesOf(this.trace),
      diagram: diagramOf(this.trace),
      steps: this.#met,
      repeat: this.taken.join('.').replace(/(\.0)+$/, ''),
    };
  }

  get history(): History<Shared> {
    return {
      outcomes: this.#outcomes as Outcome[],
      tables: this.tables,
      shared: this.shared,
      calls: this.#calls,
      faults: this.faults,
      events: Object.keys(this.#options.events ?? {}).filter((name) => !this.#events.has(name)),
      together: this.#together,
    };
  }

  async run(): Promise<void> {
    // The user's code is behind many frames of the SDK.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = stackFrames;
    const restore = replaceGlobals(() => ({ world: this.world, clockOffset: 0, random: this.#random }));
    const goOnline = stayOffline((error) => (this.network.unsupported ??= error));
    try {
      this.shared = this.#options.shared?.(this) as Shared;
      for (const [service, each] of Object.entries(this.#options.services?.(this) ?? {}))
        this.network.serve(service, each);
      for (const request of this.#options.requests) this.#start(request);
      await this.#settled();
      await this.#interleave();
      if (this.isKnown || this.cut !== undefined) return;
      if (this.#timers().length > 0) this.leftOut.add('no timer goes off after the last request has ended');
      if (this.#options.shared) this.leftOut.add('nobody uses what is shared between a write and its answer');
      this.sentence = (await this.#finish()) ?? (await this.#judge());
      this.trace.push(
        ...this.#outcomes.map((outcome, index) => entryOfOutcome(outcome, index, this.world.now)),
      );
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      goOnline();
      restore();
    }
  }

  #start(request: Request<Shared>): void {
    const index = this.#outcomes.push(undefined) - 1;
    const { seed = 1, names } = this.#settings;
    const name = names?.[index] ?? `request ${index + 1}`;
    const { requestTimeout = defaults.requestTimeout } = this.#options;
    const requestHandler = this.network.handlerFor(name, () => {}, requestTimeout);
    const clientOf = (service: string) => ({
      ...configuration,
      endpoint: `https://${service}.${configuration.region}.amazonaws.com`,
      requestHandler,
    });
    const random = Random.of(seed, name).next;
    const process: RequestProcess = { index, name, random, calls: [], state: 'running' };
    this.#processes.push(process);
    const inside = <Result>(section: () => Promise<Result>) => this.#guard(process, section);
    const { world, shared } = this;
    const environment = { name, world, shared, inside, client: clientOf('dynamodb'), clientOf };
    processes
      .run(process, async () => request(environment))
      .then(
        (value) => (this.#outcomes[index] = { status: 'fulfilled', value }),
        (reason: unknown) => (this.#outcomes[index] = { status: 'rejected', reason }),
      );
  }

  /** Runs a section in which no other process may be. One that has crashed is in none. */
  async #guard<Result>(process: RequestProcess, section: () => Promise<Result>): Promise<Result> {
    const note = (what: string): void => {
      this.tables.footprint.add('sections', 'write');
      this.trace.push({ name: process.name, at: this.world.now, what });
    };
    note('is inside');
    this.#inside.add(process);
    const together = [...this.#inside].filter(({ state }) => state !== 'crashed');
    if (together.length > 1 && this.#together.length === 0) this.#together = together.map(({ name }) => name);
    return section().finally(() => {
      note('is outside again');
      this.#inside.delete(process);
    });
  }

  #send(call: Call): void {
    const owner = running();
    const { calls, name } = owner ?? this.#nobody;
    calls.push(call);
    const id = `${name} call ${calls.length}`;
    this.#pending.push({ id, process: name, owner, call, state: 'sent', isSlow: false, waits: false });
    const text = `${name} ${call.operation} ${JSON.stringify(call.input)}`;
    this.#repetitions.set(text, (this.#repetitions.get(text) ?? 0) + 1);
  }

  /** Until all requests have ended, or the schedule need not go on. */
  async #interleave(): Promise<void> {
    while (this.#steps <= maxSteps) {
      const choices = this.#choices();
      if (choices.length === 0) {
        if (this.#pending.length === 0) {
          if (this.#hasEnded()) return;
          const hasMore = () => this.#pending.length > 0 || this.#hasEnded();
          if (this.#settings.loads && this.world.timers.length === 0 && (await someMore(hasMore))) continue;
        }
        if (!(await this.#passTime())) return;
        continue;
      }
      if (this.#isBusy()) return;
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
    const [timers, pending] = [new Set(this.#timers()), new Set(this.#pending)];
    this.#steps += 1;
    this.taken.push(taken);
    const footprint = (this.tables.footprint = choice.footprint);
    const { shared, namesShared = false } = this.#options;
    const { length: ended } = this.#outcomes.filter(Boolean);
    if (shared && !namesShared && choice.kind !== 'wait') footprint.add('shared', 'write');
    await choice.take();
    await this.#settled();
    if (this.#outcomes.filter(Boolean).length > ended) footprint.add('ended', 'mark');
    // An event happens only while a call is open, so whether it can depends on every step.
    if (this.#options.events) footprint.add('events', choice.kind === 'event' ? 'write' : 'read');
    this.tables.footprint = new Footprint();
    this.#director.stepped({
      footprint,
      timers: this.#timers().flatMap((timer) => (timers.has(timer) ? [] : [timer.at])),
      started: this.#pending.flatMap((each) =>
        each.state === 'late' && !pending.has(each) ? [each.process] : [],
      ),
    });
  }

  /** Lets everything happen that happens next. False if nothing does, or if a call would wait longer than its client. */
  async #passTime(): Promise<boolean> {
    const [timer] = this.world.timers;
    const limit = Math.min(...this.#pending.map(untilOf));
    if (timer === undefined || timer.at === Infinity || timer.at >= limit) {
      this.isKnown = this.#pending.length > 0;
      return false;
    }
    for (const each of this.#pending) each.waits = false;
    this.#repetitions.clear();
    this.#steps += 1;
    this.#director.timePasses(this.#isIdle && this.#outcomes.filter(Boolean).length === this.#ended);
    this.#isIdle = true;
    this.#ended = this.#outcomes.filter(Boolean).length;
    this.world.step();
    await this.#settled();
    return true;
  }

  /** Runs the requests afterwards. What is wrong if one does not end. */
  async #finish(): Promise<string | undefined> {
    for (const { call } of this.#pending.filter(({ state }) => state === 'late')) this.network.apply(call);
    for (const request of [undefined, ...(this.#options.afterwards ?? [])]) {
      if (request) this.#start(request);
      do {
        await this.#settled();
        for (const pending of this.#pending) await this.#meet(pending, 'answered');
        await this.#settled();
        this.#steps += 1;
      } while (
        this.#steps <= maxSteps &&
        !this.#hasEnded() &&
        (this.#pending.length > 0 || this.world.step())
      );
      const unanswered = this.#outcomes.indexOf(undefined) + 1;
      if (unanswered === 0) continue;
      this.isStuck = true;
      return this.#steps > maxSteps
        ? `Request ${unanswered} has not ended after ${maxSteps} steps.`
        : `Request ${unanswered} is never answered. It waits for nothing in the simulation, perhaps for a timer that a module has kept.`;
    }
    return undefined;
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
    await settled();
    for (
      let turn = 0;
      turn < maxTurns && (this.world.timers[0]?.at ?? Infinity) <= this.world.now;
      turn += 1
    ) {
      this.world.step();
      await settled();
    }
    if (this.network.unsupported) throw this.network.unsupported;
    this.#pending = this.#pending.filter(({ state, call: { ended } }) => state === 'late' || !ended);
  }

  #hasEnded(): boolean {
    return this.#outcomes.every((outcome) => outcome !== undefined);
  }

  /** A request that repeats a call without a pause while another one waits: there is no end of orders. */
  #isBusy(): boolean {
    const [busy] = [...this.#repetitions].find(([, count]) => count > maxRepetitions) ?? [];
    if (busy === undefined || new Set(this.#pending.map(({ process }) => process)).size < 2) return false;
    this.cut = `${busy.split(' ').slice(0, 3).join(' ')} again and again without a pause`;
    return true;
  }

  /** Timers but the time-outs of the calls that have not met their fates. */
  #timers(): Timer[] {
    const timeouts = new Set(
      this.#pending.flatMap(({ state, call }) => (state === 'late' ? [] : [call.timeout])),
    );
    return this.world.timers.filter((timer) => !timeouts.has(timer) && timer.at < Infinity);
  }

  /** What can happen next. None: time goes on. */
  #choices(): Choice[] {
    const [timer] = this.#timers();
    const active = this.#pending
      .filter(({ waits }) => !waits)
      .toSorted((a, b) => Number(a.isSlow) - Number(b.isSlow));
    const choices = active.flatMap((pending) => this.#choicesOf(pending, timer));
    const hasOpen = active.some(({ state }) => state !== 'late');
    return [...choices, ...(hasOpen ? [...this.#events].map((name) => this.#eventOf(name)) : [])];
  }

  #choicesOf(pending: Pending, timer: Timer | undefined): Choice[] {
    const { id, process, call, state, isSlow } = pending;
    const until = untilOf(pending);
    const all = possible(pending, this.#situation);
    // One without an end goes on waiting while the others only repeat what they have done.
    const isEndless = state === 'late' || state === 'paused';
    const isPatient = isEndless && isSlow && all.some(({ name }) => name === 'waits');
    const choices = all.map(({ name, variant, needsTime, isApplied, footprint }): Choice => {
      const isWait = name === 'waits';
      return {
        id: `${id} ${name} ${variant} ${call.parts.length}`,
        process,
        kind: isWait ? 'wait' : 'step',
        subject: id,
        until,
        needsTime,
        isApplied,
        isUseful: !needsTime || (timer !== undefined && timer.at < until),
        isPatient: isPatient && !isWait,
        footprint,
        take: () => (isWait ? this.#wait(pending) : this.#step(pending, name, variant)),
      };
    });
    return isPatient ? choices.toReversed() : choices;
  }

  get #situation(): Situation {
    const { faults = 0, delays = defaults.delays, kinds = defaultKinds } = this.#options;
    const { requests, events, shared, services } = this.#options;
    return {
      network: this.network,
      kinds,
      hasFaults: this.faults < faults,
      hasDelays: this.#delays < delays,
      canStandStill: this.#steps < longestPause,
      seesPauses: requests.length > 1 || [events, shared, services].some((each) => each !== undefined),
      hasEnded: () => {
        this.tables.footprint.add('ended', 'read');
        return this.#hasEnded();
      },
    };
  }

  #eventOf(name: string): Choice {
    const id = `event ${name}`;
    const common = { kind: 'event', until: 0, needsTime: false } as const;
    const take = () => this.#happen(name);
    const footprint = new Footprint();
    return { ...common, id, process: id, subject: id, isUseful: true, isPatient: false, footprint, take };
  }

  #wait(pending: Pending): void {
    const { state, isSlow } = pending;
    if (state !== 'late' && !isSlow) this.#delays += 1;
    if (!isSlow) this.#isIdle = false;
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
        this.network.apply(call);
      },
      item: () => {
        this.leftOut.add('batches do their items in order');
        this.network.advance(call);
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
    this.#isIdle = false;
    this.#note(call, name);
  }

  #note(call: Call, fate: Failure['steps'][number]['fate']): void {
    this.#met.push({ sender: call.name, operation: call.operation, fate });
    this.trace.push(entryOf(call, this.world.now, fate));
  }

  #close(pending: Pending): void {
    this.#pending = this.#pending.filter((each) => each !== pending);
  }

  async #meet(pending: Pending, fate: Fate): Promise<void> {
    const { call, owner } = pending;
    if (fate !== 'answered') this.faults += 1;
    if (fate === 'unprocessed' && this.network.leavesOne(call)) {
      this.network.advance(call, true);
      this.#isIdle = false;
      this.#note(call, 'left');
      return;
    }
    this.#close(pending);
    if (fate === 'late')
      this.#pending.push({ ...pending, process: `late ${pending.id}`, state: 'late', waits: false });
    call.fate = fate;
    const last = this.#calls.findLast(({ name }) => name === call.name);
    this.#calls.push(call);
    await this.network.meet(call)();
    if (owner && fate.startsWith('crashed')) this.#crash(owner);
    this.#isIdle &&= fate === 'answered' && last !== undefined && isSame(last, call);
    this.#note(call, fate);
  }

  /** DynamoDB applies a call. Its answer comes after time has gone on. */
  #apply(pending: Pending): void {
    const { call } = pending;
    this.#wait(pending);
    call.fate = 'answered';
    this.#calls.push(call);
    pending.tell = this.network.meet(call);
    pending.state = 'applied';
  }

  /**
   * The process ends. Its other open calls do not reach DynamoDB: that they did is another schedule, in which they met their fates
   * before. All of it is a step of the process, and time, which its timers were to let pass, depends on every step.
   */
  #crash(owner: RequestProcess): void {
    this.world.end(owner);
    this.#pending = this.#pending.filter((each) => each.state === 'late' || each.owner !== owner);
    this.#outcomes[owner.index] ??= { status: 'crashed' };
  }

  /** The process stands still before it sends the call, at least until time goes on: without that it is as if it had not. */
  #pause(pending: Pending): void {
    this.faults += 1;
    pending.owner!.state = 'paused';
    pending.state = 'paused';
    pending.isSlow = true;
    pending.waits = true;
    this.world.cancel(pending.call.timeout);
  }

  /** The process goes on: with what was due meanwhile, and with its call, which can still meet any fate. */
  #resume(pending: Pending): void {
    pending.owner!.state = 'running';
    pending.state = 'sent';
    pending.isSlow = false;
    pending.call.await();
  }

  #happen(name: string): void {
    this.#events.delete(name);
    this.#isIdle = false;
    this.#options.events![name]!(this);
    this.trace.push({ at: this.world.now, what: name });
  }
}

/** Whether a call repeats another one, and got the same answer. */
function isSame(a: Call, b: Call): boolean {
  return (
    a.service === b.service && a.operation === b.operation && a.table === b.table && a.outcome === b.outcome
  );
}
