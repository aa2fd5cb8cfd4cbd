import realTimers from 'node:timers/promises';
import { marshall } from '@aws-sdk/util-dynamodb';
import { replaceGlobals } from './globals.ts';
import { type Call, type Fate, type Fault, Network, type RequestHandler } from './network.ts';
import type { TableDefinition } from './tables/schema.ts';
import { Tables } from './tables/tables.ts';
import type { Item } from './tables/values.ts';
import { Random, settled, World } from './world.ts';

/** What a request gets: an execution environment of its own. */
export interface Environment {
  /** Its name in traces. */
  readonly name: string;
  readonly world: World;
  /** For clients of the SDK: `new DynamoDBClient(environment.client)`. */
  readonly client: {
    readonly region: string;
    readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
    readonly requestHandler: RequestHandler;
  };
}

export type Request = (environment: Environment) => Promise<unknown>;

/** What a request came to. */
export type Outcome =
  | { readonly status: 'fulfilled'; readonly value: unknown }
  | { readonly status: 'rejected'; readonly reason: unknown };

/** A schedule that has been run. */
export interface History {
  /** Of the requests, then of those afterwards. */
  readonly outcomes: readonly Outcome[];
  readonly tables: Tables;
  /** In the order in which they met their fates. */
  readonly calls: readonly Call[];
}

export interface Options {
  readonly tables: readonly TableDefinition[];
  /** What is stored before, as the document client takes it. By table. */
  readonly items?: Readonly<Record<string, readonly object[]>>;
  /** Run at the same time, each in an environment of its own. */
  readonly requests: readonly Request[];
  /** Run after all others, one after the other and without faults. */
  readonly afterwards?: readonly Request[];
  /** What is wrong, in one sentence, or undefined. */
  readonly check: (history: History) => string | undefined;
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

/** The next step of a schedule. `arrives`: DynamoDB applies a call that its client has given up. */
type Choice =
  | { readonly kind: 'call'; readonly call: Call; readonly fate: Fate }
  | { readonly kind: 'arrives'; readonly call: Call }
  | { readonly kind: 'delay' };

/** A choice that was made, of how many. */
export interface Step {
  readonly taken: number;
  readonly options: number;
}

interface Run {
  readonly steps: readonly Step[];
  /** Undefined if it was left out, because its state was known. */
  readonly sentence: string | undefined;
  readonly faults: number;
  readonly trace: readonly string[];
  readonly met: Failure['steps'];
}

let isExploring = false;

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
export async function explore(options: Options): Promise<Report> {
  if (isExploring) throw new Error('Another exploration is running in this process.');
  const { budget = 100_000, seed, repeat } = options;
  const random = new Random(seed ?? 0);
  const known = options.skipKnownStates === true ? new Set<string>() : undefined;
  let path: readonly Step[] = repeat === undefined ? [] : stepsOf(repeat);
  let schedules = 0;
  let violations = 0;
  let best: Run | undefined;
  let isComplete = false;
  isExploring = true;
  try {
    // Loads what is loaded lazily, so that every schedule finds the same.
    await runSchedule(options, [], undefined, undefined, true);
    do {
      const run = await runSchedule(
        options,
        path,
        seed === undefined || repeat !== undefined ? undefined : random,
        known,
      );
      schedules += 1;
      if (run.sentence !== undefined) {
        violations += 1;
        if (best === undefined || isShorter(run, best)) best = run;
      }
      if (repeat !== undefined) break;
      if (seed !== undefined) continue;
      path = nextOf(run.steps);
      isComplete = path.length === 0;
    } while (!isComplete && schedules < budget);
  } finally {
    isExploring = false;
  }
  const failure = best && {
    sentence: best.sentence!,
    trace: best.trace,
    steps: best.met,
    repeat: best.steps
      .map(({ taken }) => taken)
      .join('.')
      .replace(/(\.0)+$/, ''),
  };
  return { schedules, violations, isComplete, failure };
}

/** @throws Error of the shortest failure: its sentence, its trace and how to repeat it */
export async function verify(options: Options): Promise<Report> {
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

function stepsOf(repeat: string): Step[] {
  return repeat.split('.').map((taken) => ({ taken: Number(taken), options: Infinity }));
}

/** The next path in depth-first order. Empty after the last one. */
export function nextOf(steps: readonly Step[]): Step[] {
  const last = steps.findLastIndex(({ taken, options }) => taken + 1 < options);
  return last < 0 ? [] : [...steps.slice(0, last), { ...steps[last]!, taken: steps[last]!.taken + 1 }];
}

function isShorter(a: Run, b: Run): boolean {
  return a.faults === b.faults ? a.trace.length < b.trace.length : a.faults < b.faults;
}

/** Follows `path`, then always the first option, or a random one. */
async function runSchedule(
  options: Options,
  path: readonly Step[],
  random: Random | undefined,
  known: Set<string> | undefined,
  loads = false,
): Promise<Run> {
  const { faults: maxFaults = 0, delays: maxDelays = 2, kinds = allKinds, requestTimeout = 1_000 } = options;
  const { startsAt = '2026-01-01T00:00:00Z', requests, afterwards = [] } = options;
  const numbers = new Random(1);
  const world = new World(new Date(startsAt).getTime(), numbers.next);
  const tables = new Tables(options.tables, () => world.now);
  for (const [table, items] of Object.entries(options.items ?? {}))
    for (const item of items) tables.put(table, marshall(item, { removeUndefinedValues: true }) as Item);
  let open: Call[] = [];
  const late: Call[] = [];
  const calls: Call[] = [];
  const network = new Network(world, tables, (call) => void open.push(call));
  const restore = replaceGlobals(() => ({ world, clockOffset: 0, random: numbers.next }));
  const sent: Call[][] = [];
  const outcomes: (Outcome | undefined)[] = [];
  const start = (request: Request, index: number): void => {
    const name = `request ${index + 1}`;
    const ofRequest: Call[] = [];
    sent[index] = ofRequest;
    outcomes[index] = undefined;
    const client = {
      region: 'eu-central-1',
      credentials: { accessKeyId: 'simulated', secretAccessKey: 'simulated' },
      requestHandler: network.handlerFor(name, (call) => void ofRequest.push(call), requestTimeout),
    };
    const run = async () => request({ name, world, client });
    run().then(
      (value) => (outcomes[index] = { status: 'fulfilled', value }),
      (reason: unknown) => (outcomes[index] = { status: 'rejected', reason }),
    );
  };
  const steps: Step[] = [];
  const trace: string[] = [];
  const met: Failure['steps'][number][] = [];
  let [faults, delays] = [0, 0];
  const take = (choice: Choice): void => {
    if (choice.kind === 'delay') {
      delays += 1;
      const before = world.now;
      world.step();
      trace.push(`${world.now - before} ms pass`);
    } else if (choice.kind === 'arrives') {
      const { name: sender, operation } = choice.call;
      late.splice(late.indexOf(choice.call), 1);
      met.push({ sender, operation, fate: 'arrives' });
      network.apply(choice.call);
      trace.push(`${described(choice.call)}, given up before, arrives at DynamoDB`);
    } else {
      const { call, fate } = choice;
      open = open.filter((each) => each !== call);
      if (fate !== 'answered') faults += 1;
      if (fate === 'late') late.push(call);
      call.fate = fate;
      calls.push(call);
      met.push({ sender: call.name, operation: call.operation, fate });
      network.meet(call)();
      trace.push(`${described(call)}: ${fate === 'answered' ? call.outcome : phrases[fate](call)}`);
    }
  };
  const hasEnded = () => outcomes.every((outcome) => outcome !== undefined);
  try {
    for (const [index, request] of requests.entries()) start(request, index);
    await settled();
    for (;;) {
      open = open.filter(({ ended }) => !ended);
      const [timer] = world.timers;
      const choices: Choice[] = open.flatMap((call) =>
        (['answered', ...(faults < maxFaults ? kinds : [])] as const)
          .filter((fate) => network.canMeet(fate, call))
          .map((fate) => ({ kind: 'call', call, fate }) as const),
      );
      choices.push(...late.map((call) => ({ kind: 'arrives', call }) as const));
      const isDelay =
        timer !== undefined && timer.at < Math.min(...open.map(({ sentAt }) => sentAt + requestTimeout));
      if (open.length > 0 && isDelay && delays < maxDelays) choices.push({ kind: 'delay' });
      if (choices.length === 0) {
        if (hasEnded()) break;
        if (loads && timer === undefined && (await someMore(() => open.length > 0 || hasEnded()))) continue;
        if (!world.step()) break;
        await settled();
        continue;
      }
      if (known !== undefined && steps.length >= path.length) {
        const state = stateOf(world, tables, [faults, delays, late.map(described)], requests, sent, outcomes);
        if (known.has(state)) return { steps, sentence: undefined, faults, trace, met };
        known.add(state);
      }
      if (steps.length > maxSteps) break;
      const taken = path[steps.length]?.taken ?? random?.below(choices.length) ?? 0;
      const choice = choices[taken];
      if (choice === undefined) throw new Error('The schedule to repeat is of other requests or options.');
      steps.push({ taken, options: choices.length });
      take(choice);
      await settled();
      if (network.unsupported) throw network.unsupported;
    }
    for (const [index, request] of afterwards.entries()) {
      start(request, requests.length + index);
      do {
        await settled();
        for (const call of open) take({ kind: 'call', call, fate: 'answered' });
        await settled();
      } while (open.length > 0 || (!hasEnded() && world.step()));
    }
    if (network.unsupported) throw network.unsupported;
    const unanswered = outcomes.findIndex((outcome) => outcome === undefined);
    const sentence =
      unanswered >= 0
        ? `Request ${unanswered + 1} is never answered.`
        : options.check({ outcomes: outcomes as Outcome[], tables, calls });
    return { steps, sentence, faults, trace: [...trace, ...outcomes.map(outcomeText)], met };
  } finally {
    restore();
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

/** Equal requests can change places. */
function stateOf(
  world: World,
  tables: Tables,
  counts: readonly unknown[],
  requests: readonly Request[],
  sent: readonly (readonly Call[])[],
  outcomes: readonly (Outcome | undefined)[],
): string {
  const processes = requests.map((request, index) =>
    JSON.stringify([
      requests.indexOf(request),
      sent[index]!.map(({ operation, outcome, fate, ended }) => [operation, outcome, fate, ended]),
      outcomes[index] === undefined ? undefined : outcomeText(outcomes[index], 0),
    ]),
  );
  const timers = world.timers.map(({ at }) => at);
  return JSON.stringify([
    world.now,
    timers,
    tables.contents,
    counts,
    processes.toSorted((a, b) => (a < b ? -1 : 1)),
  ]);
}
