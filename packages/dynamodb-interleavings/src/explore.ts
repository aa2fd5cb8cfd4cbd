import { AsyncLocalStorage } from 'node:async_hooks';
import realTimers from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { replaceGlobals } from './globals.ts';
import { type Call, type Fate, type Fault, Network, type RequestHandler } from './network.ts';
import type { TableDefinition } from './tables/schema.ts';
import { Tables } from './tables/tables.ts';
import type { Item } from './tables/values.ts';
import { Random, settled, World } from './world.ts';

/** What is made anew for each schedule. */
export interface Simulation {
  readonly world: World;
  readonly network: Network;
  readonly tables: Tables;
}

/** What a request gets: an execution environment of its own. */
export interface Environment<Shared = unknown> {
  /** Its name in traces. */
  readonly name: string;
  readonly world: World;
  readonly shared: Shared;
  /** For clients of the SDK: `new DynamoDBClient(environment.client)`. */
  readonly client: {
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
    readonly requestHandler: RequestHandler;
  };
}

export type Request<Shared = unknown> = (environment: Environment<Shared>) => Promise<unknown>;

/** What a request came to. */
export type Outcome =
  | { readonly status: 'fulfilled'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: unknown };

/** A schedule that has been run. */
export interface History<Shared = unknown> {
  /** Of the requests, then of those afterwards. */
  readonly outcomes: readonly Outcome[];
  readonly tables: Tables;
  readonly shared: Shared;
  /** In the order in which they met their fates. */
  readonly calls: readonly Call[];
}

export interface Options<Shared = unknown> {
  readonly tables: readonly TableDefinition[];
  /** What is stored before, as the document client takes it. By table. */
  readonly items?: Readonly<Record<string, readonly object[]>>;
  /** Makes what requests have in common, for each schedule. */
  readonly shared?: (simulation: Simulation) => Shared;
  /** Run at the same time, each in an environment of its own. */
  readonly requests: readonly Request<Shared>[];
  /** Run after all others, one after the other and without faults. */
  readonly afterwards?: readonly Request<Shared>[];
  /** What else happens, by name: each at most once, before any open call is answered. */
  readonly events?: Readonly<Record<string, (simulation: Simulation & { readonly shared: Shared }) => void>>;
  /** What is wrong, in one sentence, or undefined. */
  readonly check: (history: History<Shared>) => string | undefined;
  /** Faults in a schedule at most. Default: 0 */
  readonly faults?: number;
  /** Faults that calls can meet. */
  readonly kinds?: readonly Fault[];
  /** How often at most a delay ends before an open call is answered. Default: 2 */
  readonly delays?: number;
  /** Default: 2026-01-01T00:00:00Z */
  readonly startsAt?: number | string;
  /** Milliseconds that a client waits for an answer. Default: 1000 */
  readonly requestTimeout?: number;
  /** Schedules at most. Default: 100,000 */
  readonly budget?: number;
  /** Runs schedules at random instead, as many as the budget. */
  readonly seed?: number;
  /** Runs only the schedule of a failure. */
  readonly repeat?: string;
  /**
   * Leaves out schedules that reach a state that another one has reached: the same tables, answers and time. Sound only for
   * requests whose behaviour depends on nothing else. Default: false
   */
  readonly skipKnownStates?: boolean;
}

export interface Failure {
  readonly sentence: string;
  /** Call by call. */
  readonly trace: readonly string[];
  /** What calls met, in order. `arrives`: a call that its client has given up. To make the same happen elsewhere. */
  readonly steps: readonly {
    readonly sender: string;
    readonly operation: string;
    readonly fate: Fate | 'arrives';
  }[];
  /** For the option `repeat`. */
  readonly repeat: string;
}

export interface Report {
  readonly schedules: number;
  /** Schedules that failed. */
  readonly violations: number;
  /** Whether these were all schedules. */
  readonly isComplete: boolean;
  /** With the fewest faults and then the fewest steps of those that were run. */
  readonly failure: Failure | undefined;
}

const allKinds: readonly Fault[] = [
  'lostBefore',
  'lostAfter',
  'late',
  'hungAfter',
  'throttled',
  'conflict',
  'denied',
];
/** No few requests take more steps, unless they do not end. */
const maxSteps = 200;

/** A choice that was made, of how many. */
interface Step {
  readonly taken: number;
  readonly options: number;
}

/** How a schedule chooses, and whether it waits for what is loaded. */
interface Follow {
  readonly path?: readonly Step[];
  readonly random?: Random | undefined;
  readonly known?: Set<string> | undefined;
  readonly loads?: boolean;
}

let isExploring = false;
/** Of the request that runs, whoever makes its calls. */
const callsOfRequest = new AsyncLocalStorage<Call[]>();

const { setTimeout: sleep } = realTimers;
const loadingMs = 1_000;

/** Waits for files and modules. False if nothing has come of it for a second. */
async function someMore(hasMore: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < loadingMs && !hasMore(); waited += 10) await sleep(10);
  return hasMore();
}

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

/** The shortest failure: its sentence, its trace and how to repeat it. */
export function textOf({ failure, violations, schedules }: Report): string {
  if (failure === undefined) return `${schedules} schedules, no violation.`;
  return [
    failure.sentence,
    ...failure.trace.map((line, index) => `${String(index + 1).padStart(3)}. ${line}`),
    `${violations} of ${schedules} schedules violate it. To repeat this one: repeat: '${failure.repeat}'`,
  ].join('\n');
}

/** The next path in depth-first order. Empty after the last one. */
function nextOf(steps: readonly Step[]): Step[] {
  const last = steps.findLastIndex(({ taken, options }) => taken + 1 < options);
  return last < 0 ? [] : [...steps.slice(0, last), { ...steps[last]!, taken: steps[last]!.taken + 1 }];
}

function isShorter<Shared>(a: Schedule<Shared>, b: Schedule<Shared>): boolean {
  return a.faults === b.faults ? a.trace.length < b.trace.length : a.faults < b.faults;
}

/** One order of what happens. */
class Schedule<Shared> implements Simulation {
  readonly steps: Step[] = [];
  readonly trace: string[] = [];
  /** What was wrong. Undefined also if it was left out, because its state was known. */
  sentence: string | undefined;
  faults = 0;
  readonly #options: Options<Shared>;
  readonly #follow: Follow;
  readonly world: World;
  readonly tables: Tables;
  readonly network: Network;
  shared!: Shared;
  readonly #random = new Random(1).next;
  readonly #met: Failure['steps'][number][] = [];
  /** The calls of each request. */
  readonly #sent: Call[][] = [];
  readonly #outcomes: (Outcome | undefined)[] = [];
  /** In the order in which they met their fates. */
  readonly #calls: Call[] = [];
  readonly #late: Call[] = [];
  readonly #events: Set<string>;
  #open: Call[] = [];
  #delays = 0;

  constructor(options: Options<Shared>, follow: Follow) {
    const { startsAt = '2026-01-01T00:00:00Z' } = options;
    this.#options = options;
    this.#follow = follow;
    this.#events = new Set(Object.keys(options.events ?? {}));
    const world = (this.world = new World(new Date(startsAt).getTime(), this.#random));
    const tables = (this.tables = new Tables(options.tables, () => world.now));
    for (const [table, items] of Object.entries(options.items ?? {}))
      for (const item of items) tables.put(table, marshall(item, { removeUndefinedValues: true }) as Item);
    this.network = new Network(world, tables, (call) => {
      this.#open.push(call);
      callsOfRequest.getStore()?.push(call);
    });
  }

  get failure(): Failure {
    const taken = this.steps.map((step) => step.taken).join('.');
    return {
      sentence: this.sentence!,
      trace: this.trace,
      steps: this.#met,
      repeat: taken.replace(/(\.0)+$/, ''),
    };
  }

  async run(): Promise<void> {
    const restore = replaceGlobals(() => ({ world: this.world, clockOffset: 0, random: this.#random }));
    try {
      this.shared = this.#options.shared?.(this) as Shared;
      for (const request of this.#options.requests) this.#start(request);
      await this.#settled();
      if (!(await this.#interleave())) return;
      await this.#finish();
      const unanswered = this.#outcomes.indexOf(undefined);
      this.sentence =
        unanswered >= 0
          ? `Request ${unanswered + 1} is never answered.`
          : this.#options.check({
              outcomes: this.#outcomes as Outcome[],
              tables: this.tables,
              shared: this.shared,
              calls: this.#calls,
            });
      this.trace.push(...this.#outcomes.map(outcomeText));
    } finally {
      restore();
    }
  }

  #start(request: Request<Shared>): void {
    const index = this.#outcomes.push(undefined) - 1;
    const name = `request ${index + 1}`;
    const client = {
      region: 'eu-central-1',
      credentials: { accessKeyId: 'simulated', secretAccessKey: 'simulated' },
      requestHandler: this.network.handlerFor(name, () => {}, this.#options.requestTimeout ?? 1_000),
    };
    const calls: Call[] = (this.#sent[index] = []);
    callsOfRequest
      .run(calls, async () => request({ name, world: this.world, shared: this.shared, client }))
      .then(
        (value) => (this.#outcomes[index] = { status: 'fulfilled', value }),
        (reason: unknown) => (this.#outcomes[index] = { status: 'rejected', reason }),
      );
  }

  /** Until all requests have ended. False if it reaches a known state. */
  async #interleave(): Promise<boolean> {
    const { path = [], random, known, loads = false } = this.#follow;
    const { steps } = this;
    while (steps.length <= maxSteps) {
      const choices = this.#choices();
      if (choices.length === 0) {
        if (this.#hasEnded()) break;
        const isLoading = loads && this.world.timers.length === 0;
        if (isLoading && (await someMore(() => this.#open.length > 0 || this.#hasEnded()))) continue;
        if (!this.world.step()) break;
        await this.#settled();
        continue;
      }
      if (known !== undefined && steps.length >= path.length) {
        const state = this.#state();
        if (known.has(state)) return false;
        known.add(state);
      }
      // It follows the path, then takes always the first choice, or a random one.
      const taken = path[steps.length]?.taken ?? random?.below(choices.length) ?? 0;
      const take = choices[taken];
      if (take === undefined) throw new Error('The schedule to repeat is of other requests or options.');
      steps.push({ taken, options: choices.length });
      take();
      await this.#settled();
    }
    return true;
  }

  async #finish(): Promise<void> {
    for (const request of this.#options.afterwards ?? []) {
      this.#start(request);
      do {
        await this.#settled();
        for (const call of this.#open) this.#meet(call, 'answered');
        await this.#settled();
      } while (this.#open.length > 0 || (!this.#hasEnded() && this.world.step()));
    }
  }

  async #settled(): Promise<void> {
    await settled();
    if (this.network.unsupported) throw this.network.unsupported;
    this.#open = this.#open.filter(({ ended }) => !ended);
  }

  #hasEnded(): boolean {
    return this.#outcomes.every((outcome) => outcome !== undefined);
  }

  /** What can happen next. */
  #choices(): (() => void)[] {
    const { faults = 0, delays = 2, kinds = allKinds } = this.#options;
    const fates = ['answered', ...(this.faults < faults ? kinds : [])] as const;
    const open = this.#open.flatMap((call) =>
      fates.filter((fate) => this.network.canMeet(fate, call)).map((fate) => () => this.#meet(call, fate)),
    );
    const late = this.#late.map((call) => () => this.#arrive(call));
    if (open.length === 0) return late;
    const [timer] = this.world.timers;
    const isDelay = timer !== undefined && this.#open.every(({ deadline }) => timer.at < deadline);
    return [
      ...open,
      ...late,
      ...(isDelay && this.#delays < delays ? [() => this.#pass()] : []),
      ...[...this.#events].map((name) => () => this.#happen(name)),
    ];
  }

  #meet(call: Call, fate: Fate): void {
    this.#open = this.#open.filter((each) => each !== call);
    if (fate !== 'answered') this.faults += 1;
    if (fate === 'late') this.#late.push(call);
    call.fate = fate;
    this.#calls.push(call);
    this.#met.push({ sender: call.name, operation: call.operation, fate });
    this.network.meet(call)();
    this.trace.push(`${described(call)}: ${fate === 'answered' ? call.outcome : phrases[fate](call)}`);
  }

  /** DynamoDB applies a call that its client has given up. */
  #arrive(call: Call): void {
    this.#late.splice(this.#late.indexOf(call), 1);
    this.#met.push({ sender: call.name, operation: call.operation, fate: 'arrives' });
    this.network.apply(call);
    this.trace.push(`${described(call)}, given up before, arrives at DynamoDB`);
  }

  #pass(): void {
    const before = this.world.now;
    this.#delays += 1;
    this.world.step();
    this.trace.push(`${this.world.now - before} ms pass`);
  }

  #happen(name: string): void {
    this.#events.delete(name);
    this.#options.events![name]!(this);
    this.trace.push(name);
  }

  /** Equal requests can change places. */
  #state(): string {
    const { requests } = this.#options;
    const processes = requests.map((request, index) =>
      JSON.stringify([
        requests.indexOf(request),
        this.#sent[index]!.map(({ operation, outcome, fate, ended }) => [
          operation,
          outcome,
          fate === undefined,
          ended,
        ]),
        this.#outcomes[index] && outcomeText(this.#outcomes[index], 0),
      ]),
    );
    const { delays = 2 } = this.#options;
    return JSON.stringify([
      this.world.now,
      this.world.timers.map(({ at }) => at),
      this.tables.contents,
      [this.faults, delays - this.#delays, [...this.#events], this.#late.map(described)],
      processes.toSorted((a, b) => (a < b ? -1 : 1)),
    ]);
  }
}

const phrases: Readonly<Record<Fault, (call: Call) => string>> = {
  lostBefore: () => 'the connection breaks before DynamoDB gets it',
  lostAfter: () => 'DynamoDB applies it, and its answer is lost',
  late: () => 'the connection breaks, and the call is still on its way',
  hungBefore: () => 'DynamoDB does not get it, and no answer comes',
  hungAfter: () => 'DynamoDB applies it, and no answer comes',
  unreadableBefore: ({ outcome }) => `something else than DynamoDB answers: ${outcome}`,
  unreadableAfter: ({ outcome }) => `DynamoDB applies it, and something else answers: ${outcome}`,
  failed: ({ outcome }) => `DynamoDB fails: ${outcome}`,
  throttled: ({ outcome }) => `throttled: ${outcome}`,
  conflict: ({ outcome }) => `conflicts with a transaction: ${outcome}`,
  denied: ({ outcome }) => `denied: ${outcome}`,
};

function described({ name: sender, operation, table, input }: Call): string {
  const { TableName: _name, ReturnValues: _values, ...members } = input as Record<string, unknown>;
  const text = JSON.stringify(members).replaceAll(/\{"[SN]":("[^"]*")\}/g, '$1');
  return `${sender}: ${operation} of ${table} ${text.length > 240 ? `${text.slice(0, 240)}…` : text}`;
}

function outcomeText(outcome: Outcome | undefined, index: number): string {
  if (outcome === undefined) return `request ${index + 1} does not end`;
  if (outcome.status === 'rejected') return `request ${index + 1} fails: ${String(outcome.reason)}`;
  return `request ${index + 1} returns ${JSON.stringify(outcome.value)}`;
}
