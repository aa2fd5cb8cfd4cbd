import { type DynamoDBDocumentClient, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { ThrottlingException } from '@aws-sdk/client-dynamodb';
import { type MemoryTables, transactionCanceled } from './memory-tables.ts';

/**
 * What happens to a call of DynamoDB. A lost call is repeated by the SDK, with the same ClientRequestToken, or ends in an
 * error, because the time is over. `refused`: another transaction is in progress, or DynamoDB throttles.
 */
const fates = ['answered', 'lostBefore', 'lostAfter', 'failedBefore', 'failedAfter', 'refused'] as const;
type Fate = (typeof fates)[number];

interface PendingCall {
  readonly command: unknown;
  attempts: number;
  /** Whether an attempt whose answer was lost was applied. */
  applied: boolean;
  readonly resolve: (output: object) => void;
  readonly reject: (error: unknown) => void;
}

/** Something that runs concurrently. It waits for nothing but the calls of its client. */
export interface Process<T> {
  /** Equal for processes that do the same when they get the same answers. */
  readonly kind: string;
  run(client: DynamoDBDocumentClient): Promise<T>;
}

export interface Ending<T> {
  readonly results: readonly PromiseSettledResult<T>[];
  readonly tables: MemoryTables;
  /** Fates other than `answered`. */
  readonly faults: number;
}

export interface Exploration<T> {
  readonly tables: () => MemoryTables;
  readonly processes: () => readonly Process<T>[];
  readonly maxFaults: number;
  readonly check: (ending: Ending<T>) => void;
}

/** No request of the service makes more calls than this in a schedule with few faults. */
const maxSteps = 60;

/**
 * Runs the processes in every order of their calls, and with every fate of each call, up to a number of faults. A
 * schedule that reaches a state that another one has reached is not run to its end: all continuations have been run.
 * @returns the number of schedules
 */
export async function explore<T>(exploration: Exploration<T>): Promise<number> {
  const known = new Set<string>();
  let schedules = 0;
  let path: Choice[] = [];
  do {
    path = await runSchedule(exploration, path, known);
    schedules += 1;
    // The next path in depth-first order.
    while (path.length > 0 && path.at(-1)!.taken + 1 === path.at(-1)!.options) path.pop();
    if (path.length > 0) path[path.length - 1] = { ...path.at(-1)!, taken: path.at(-1)!.taken + 1 };
  } while (path.length > 0);
  return schedules;
}

interface Choice {
  readonly taken: number;
  readonly options: number;
}

/** Follows `path`, then always the first option. Returns all choices. */
async function runSchedule<T>(
  { tables: newTables, processes: newProcesses, maxFaults, check }: Exploration<T>,
  path: readonly Choice[],
  known: Set<string>,
): Promise<Choice[]> {
  const choices: Choice[] = [];
  const tables = newTables();
  const pending = new Map<number, PendingCall>();
  const results: PromiseSettledResult<T>[] = [];
  const histories: string[][] = [];
  let faults = 0;

  const processes = newProcesses();
  const idle = processes.map(() => Promise.withResolvers<void>());
  for (const [index, process] of processes.entries()) {
    histories[index] = [];
    const send = (command: unknown) =>
      new Promise<object>((resolve, reject) => {
        pending.set(index, { command, attempts: 1, applied: false, resolve, reject });
        idle[index]!.resolve();
      });
    void Promise.allSettled([process.run({ send } as unknown as DynamoDBDocumentClient)]).then(([result]) => {
      results[index] = result!;
      idle[index]!.resolve();
    });
    await idle[index]!.promise;
  }

  while (pending.size > 0) {
    const options = [...pending].flatMap(([index, call]) =>
      fates
        .filter((fate) => fate === 'answered' || faults < maxFaults)
        .map((fate) => ({ index, call, fate })),
    );
    if (choices.length >= path.length) {
      const state = stateOf(
        tables,
        faults,
        processes.map(({ kind }, index) => ({ kind, history: histories[index]!, call: pending.get(index) })),
      );
      if (known.has(state)) return choices;
      known.add(state);
    }
    if (choices.length > maxSteps) throw new Error(`A process is stuck: ${JSON.stringify(histories)}`);
    const taken = path[choices.length]?.taken ?? 0;
    choices.push({ taken, options: options.length });
    const { index, call, fate } = options[taken]!;
    if (fate !== 'answered') faults += 1;
    const outcome = meet(fate, call, tables);
    if (outcome === undefined) continue;
    histories[index]!.push(outcome.description);
    pending.delete(index);
    idle[index] = Promise.withResolvers<void>();
    outcome.settle();
    await idle[index].promise;
  }
  check({ results, tables, faults });
  return choices;
}

/** Processes of one kind can be exchanged. An answer determines what a process does next. */
function stateOf(tables: MemoryTables, faults: number, processes: readonly ProcessState[]): string {
  const states = processes.map(({ kind, history, call }) =>
    JSON.stringify([kind, history, call && [call.applied, call.attempts > 1]]),
  );
  return JSON.stringify([tables.contents, faults, states.toSorted()]);
}

interface ProcessState {
  readonly kind: string;
  readonly history: readonly string[];
  readonly call: PendingCall | undefined;
}

interface Outcome {
  readonly description: string;
  readonly settle: () => void;
}

/** What the process sees of a call, or undefined while the SDK repeats it. */
function meet(fate: Fate, call: PendingCall, tables: MemoryTables): Outcome | undefined {
  const succeed = (output: object): Outcome => ({
    description: JSON.stringify(output),
    settle: () => call.resolve(output),
  });
  const fail = (error: unknown): Outcome => ({
    description: JSON.stringify([String(error), error]),
    settle: () => call.reject(error),
  });
  const applied = (): Outcome => {
    try {
      return succeed(tables.send(call.command, call.attempts));
    } catch (error) {
      return fail(error);
    }
  };
  switch (fate) {
    case 'answered':
      return applied();
    case 'lostBefore':
      call.attempts += 1;
      return undefined;
    case 'lostAfter':
      applied();
      call.applied = true;
      call.attempts += 1;
      return undefined;
    case 'failedAfter':
      applied();
      return fail(timeout());
    case 'failedBefore':
      return fail(timeout());
    case 'refused':
      return fail(refusal(call));
  }
}

function timeout(): Error {
  return Object.assign(new Error('No answer in time'), { name: 'TimeoutError' });
}

function refusal({ command }: PendingCall): Error {
  if (command instanceof TransactWriteCommand)
    return transactionCanceled([{ Code: 'None' }, { Code: 'TransactionConflict' }]);
  return new ThrottlingException({ message: 'Throughput exceeds the current capacity', $metadata: {} });
}
