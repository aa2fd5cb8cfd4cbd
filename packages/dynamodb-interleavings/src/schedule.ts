import { AsyncLocalStorage } from 'node:async_hooks';
import realTimers from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { replaceGlobals } from './globals.ts';
import { type Call, defaultKinds, type Fate, Network } from './network.ts';
import type { Failure, Options, Outcome, Request, Simulation } from './options.ts';
import { described, outcomeText, phrases } from './story.ts';
import { Tables } from './tables/tables.ts';
import type { Item } from './tables/values.ts';
import { Random, settled, World } from './world.ts';

/** No few requests take more steps, unless they do not end. */
const maxSteps = 200;

/** A choice that was made, of how many. */
export interface Step {
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
/** Of the request that runs, whoever makes its calls. */
const callsOfRequest = new AsyncLocalStorage<Call[]>();

const { setTimeout: sleep } = realTimers;
const loadingMs = 1_000;

/** Waits for files and modules. False if nothing has come of it for a second. */
async function someMore(hasMore: () => boolean): Promise<boolean> {
  for (let waited = 0; waited < loadingMs && !hasMore(); waited += 10) await sleep(10);
  return hasMore();
}

/** One order of what happens. */
export class Schedule<Shared> implements Simulation {
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
    // What is stored before has been there for long.
    let isBefore = true;
    const tables = (this.tables = new Tables(options.tables, () => (isBefore ? -Infinity : world.now)));
    for (const [table, items] of Object.entries(options.items ?? {}))
      for (const item of items) tables.put(table, marshall(item, { removeUndefinedValues: true }) as Item);
    isBefore = false;
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
    const { faults = 0, delays = 2, kinds = defaultKinds } = this.#options;
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
    if (fate === 'answered' && this.network.advance(call)) {
      this.trace.push(`${described(call)}: item ${call.parts.length} is done`);
      this.#met.push({ sender: call.name, operation: call.operation, fate: 'item' });
      return;
    }
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
