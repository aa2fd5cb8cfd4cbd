import { availableParallelism } from 'node:os';
import {
  Environment,
  type EnvironmentOptions,
  type InvocationInput,
  type InvocationResult,
  LoadError,
} from './environment.ts';
import type { FunctionDefinition } from './function-definitions.ts';

/** Lambda: the functions of the stack, each with its execution environments. */

/** @param signal drops an invocation that still waits; a running one continues */
export type Invoke = (
  functionArn: string,
  input: InvocationInput,
  signal?: AbortSignal,
) => Promise<InvocationResult>;

function failed(errorType: string, errorMessage: string): InvocationResult {
  return { ok: false, errorType, errorMessage };
}

/** https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */
const throttled = failed('TooManyRequestsException', 'Rate Exceeded.');
const stopped = failed('Service.Stopped', 'The function is stopped');

export function describeFailure(result: InvocationResult): string {
  return result.ok ? '' : `${result.errorType}: ${result.errorMessage}`;
}

/** The account's limit for invocations of all functions at the same time. A new account has ten, and asks for more. */
const concurrency = 100;

/** Execution environments of one function. Two for each processor keep it busy while a database answers. */
const maxEnvironments = Math.min(8, 2 * availableParallelism());

export class Functions {
  readonly #options: EnvironmentOptions;
  readonly #pools = new Map<string, Pool>();
  /** Those that were replaced, which may still have invocations. */
  #retired: Pool[] = [];
  #underWay = 0;

  constructor(options: EnvironmentOptions) {
    this.#options = options;
  }

  get definitions(): FunctionDefinition[] {
    return [...this.#pools.values()].map(({ definition }) => definition);
  }

  /**
   * Runs these functions in place of those before. At first they are loaded by their first invocations, or for a debugger.
   *
   * @throws Error naming all functions whose code cannot be loaded; then nothing is changed
   */
  async apply(definitions: readonly FunctionDefinition[]): Promise<void> {
    const pools = definitions.map((definition) => new Pool(definition, this.#options));
    if (this.#pools.size > 0) await load(pools);
    else if (this.#options.inspected !== undefined) for (const pool of pools) pool.startForWaiting();
    const before = [...this.#pools.values()];
    this.#pools.clear();
    for (const pool of pools) this.#pools.set(pool.definition.arn, pool);
    this.#retire(before);
  }

  /**
   * Uses other code from the next invocation on. Invocations in progress finish on the old code.
   *
   * @param file is not loaded yet
   * @throws Error when it cannot be loaded; the old code stays in use
   */
  async replaceCode(arn: string, file: string): Promise<void> {
    const before = this.#pools.get(arn)!;
    const pool = new Pool({ ...before.definition, file }, this.#options);
    await load([pool]);
    this.#pools.set(arn, pool);
    this.#retire([before]);
  }

  readonly invoke: Invoke = async (arn, input, signal) => {
    const pool = this.#pools.get(arn);
    if (pool === undefined) return failed('ResourceNotFoundException', `Function not found: ${arn}`);
    if (this.#underWay >= concurrency) return throttled;
    this.#underWay += 1;
    try {
      return await pool.invoke(input, signal);
    } finally {
      this.#underWay -= 1;
    }
  };

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values(), ...this.#retired].map((pool) => pool.stop()));
  }

  #retire(pools: readonly Pool[]): void {
    for (const pool of pools) pool.retire();
    this.#retired = [...this.#retired, ...pools].filter(({ isBusy }) => isBusy);
  }
}

/** @throws Error */
async function load(pools: readonly Pool[]): Promise<void> {
  const started = await Promise.allSettled(pools.map((pool) => pool.start()));
  const problems = started.flatMap((each, index) =>
    each.status === 'rejected' ? [`${pools[index]!.definition.label} ${(each.reason as Error).message}`] : [],
  );
  if (problems.length === 0) return;
  await Promise.all(pools.map((pool) => pool.stop()));
  throw new Error(problems.join('\n'));
}

interface Waiting extends InvocationInput {
  readonly finish: (result: InvocationResult) => void;
}

/**
 * The execution environments of one function. Without an idle one an invocation waits for the first that becomes idle,
 * while another one starts.
 */
class Pool {
  readonly definition: FunctionDefinition;
  readonly #options: EnvironmentOptions;
  readonly #all = new Set<Environment>();
  readonly #idle: Environment[] = [];
  readonly #waiting = new Set<Waiting>();
  #starting = 0;
  #isRetired = false;
  #isStopped = false;

  constructor(definition: FunctionDefinition, options: EnvironmentOptions) {
    this.definition = definition;
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#all.size > 0;
  }

  async invoke(input: InvocationInput, signal?: AbortSignal): Promise<InvocationResult> {
    if (this.#isStopped) return stopped;
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const waiting: Waiting = { ...input, finish: resolve };
    this.#waiting.add(waiting);
    signal?.addEventListener('abort', () => {
      if (this.#waiting.delete(waiting)) resolve(failed('Service.Dropped', 'The caller stopped waiting'));
    });
    this.#dispatch();
    return promise;
  }

  /** Starts an environment. @throws LoadError */
  async start(): Promise<void> {
    this.#starting += 1;
    const environment = new Environment(this.definition, this.#options, () => {
      this.#all.delete(environment);
      const index = this.#idle.indexOf(environment);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    this.#all.add(environment);
    await environment.loaded().finally(() => (this.#starting -= 1));
    this.#offer(environment);
  }

  /** Code that cannot be loaded fails one invocation for each attempt. */
  startForWaiting(): void {
    this.start().catch((error: unknown) => {
      if (!(error instanceof LoadError)) throw error;
      if (this.#isStopped) return;
      this.#options.onLog(this.definition.label, error.message);
      const [first] = this.#waiting;
      if (first !== undefined && this.#waiting.delete(first)) first.finish({ ok: false, ...error.failure });
      this.#dispatch();
    });
  }

  /** Finishes its invocations, and then ends. */
  retire(): void {
    this.#isRetired = true;
    this.#dispatch();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { finish } of this.#waiting) finish(stopped);
    this.#waiting.clear();
    await Promise.all([...this.#all].map((environment) => environment.stop()));
  }

  #offer(environment: Environment): void {
    if (!environment.hasEnded) this.#idle.push(environment);
    this.#dispatch();
  }

  #dispatch(): void {
    if (this.#isStopped) return;
    for (const waiting of this.#waiting) {
      // The most recently used one has the warmest caches.
      const environment = this.#idle.pop();
      if (environment === undefined) break;
      this.#waiting.delete(waiting);
      void environment.invoke(waiting).then((result) => {
        waiting.finish(result);
        this.#offer(environment);
      });
    }
    if (this.#isRetired) for (const environment of this.#idle.splice(0)) void environment.stop();
    const limit = this.#options.inspected === undefined ? maxEnvironments : 1;
    while (this.#all.size < limit && this.#starting < this.#waiting.size) this.startForWaiting();
  }
}
