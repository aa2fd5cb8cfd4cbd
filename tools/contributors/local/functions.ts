import { availableParallelism } from 'node:os';
import { Environment, type EnvironmentOptions, type InvocationInput } from './environment.ts';
import type { FunctionDefinition } from './function-definitions.ts';
import type { Failure, InvocationResult } from './function-runtime.ts';
import { readableTrace, withoutControls } from './readable.ts';

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

/** The error of code that cannot be loaded, with file and line. */
function loadProblem({ errorType, errorMessage, trace = '' }: Failure): string {
  const head = `${errorType}: ${errorMessage}`;
  // The trace of a syntax error begins with the file and line.
  const lines = [head, ...trace.split('\n').filter((line) => line !== head)];
  return `cannot be loaded: ${withoutControls(readableTrace(lines.join('\n')))}`;
}

/** The account's limit for invocations of all functions at the same time. A new account has ten, and asks for more. */
const concurrency = 100;

/** Execution environments of one function. Two for each processor keep it busy while a database answers. */
const maxEnvironments = Math.min(8, 2 * availableParallelism());

/** What runs a function: environments of its own or, under the inspector, one that all functions share. */
interface Deployed {
  readonly definition: FunctionDefinition;
  readonly pool: Pool;
}

export class Functions {
  readonly #options: EnvironmentOptions;
  readonly #inspected: Pool | undefined;
  readonly #deployed = new Map<string, Deployed>();
  /** Those that were replaced, which may still have invocations. */
  #retired: Pool[] = [];
  #underWay = 0;

  /** @param inspectorPort of one environment for all functions under the inspector, any free one when 0 */
  constructor(options: EnvironmentOptions, inspectorPort?: number) {
    this.#options = options;
    this.#inspected = inspectorPort === undefined ? undefined : new Pool(options, inspectorPort);
  }

  get definitions(): FunctionDefinition[] {
    return [...this.#deployed.values()].map(({ definition }) => definition);
  }

  /** `ws://127.0.0.1:PORT/ID` for a debugger, when the first functions were applied. */
  get inspectorUrl(): string | undefined {
    return this.#inspected?.inspectorUrl;
  }

  /**
   * Runs these functions in place of those before. Invocations in progress finish on the old code. The first functions are
   * loaded by their first invocations, or at once for a debugger.
   *
   * @throws Error naming all functions whose code cannot be loaded; then nothing is changed
   */
  async apply(definitions: readonly FunctionDefinition[]): Promise<void> {
    const isFirst = this.#deployed.size === 0;
    const next = definitions.map((definition) => this.#deploy(definition));
    if (!isFirst) await load(next);
    else if (this.#inspected !== undefined)
      await load(next).catch((error: unknown) => this.#options.onLog('Functions', (error as Error).message));
    const before = [...this.#deployed.values()];
    this.#deployed.clear();
    this.#replace(before, next);
  }

  /**
   * Uses other code from the next invocation on. Invocations in progress finish on the old code.
   *
   * @param file is not loaded yet
   * @throws Error when it cannot be loaded; the old code stays in use
   */
  async replaceCode(arn: string, file: string): Promise<void> {
    const before = this.#deployed.get(arn)!;
    const next = this.#deploy({ ...before.definition, file });
    await load([next]);
    this.#replace([before], [next]);
  }

  readonly invoke: Invoke = async (arn, input, signal) => {
    const deployed = this.#deployed.get(arn);
    if (deployed === undefined) return failed('ResourceNotFoundException', `Function not found: ${arn}`);
    if (this.#underWay >= concurrency) return throttled;
    this.#underWay += 1;
    try {
      return await deployed.pool.run(deployed.definition, input, signal);
    } finally {
      this.#underWay -= 1;
    }
  };

  async stop(): Promise<void> {
    const pools = new Set([...this.#deployed.values()].map(({ pool }) => pool));
    await Promise.all([...pools, ...this.#retired].map((pool) => pool.stop()));
  }

  #deploy(definition: FunctionDefinition): Deployed {
    return { definition, pool: this.#inspected ?? new Pool(this.#options) };
  }

  #replace(before: readonly Deployed[], next: readonly Deployed[]): void {
    for (const deployed of next) this.#deployed.set(deployed.definition.arn, deployed);
    const unused = before.map(({ pool }) => pool).filter((pool) => pool !== this.#inspected);
    for (const pool of unused) pool.retire();
    this.#retired = [...this.#retired, ...unused].filter(({ isBusy }) => isBusy);
  }
}

/** @throws Error */
async function load(all: readonly Deployed[]): Promise<void> {
  const results = await Promise.all(all.map(({ definition, pool }) => pool.run(definition)));
  const problems = results.flatMap((result, index) =>
    result.ok ? [] : [`${all[index]!.definition.label} ${loadProblem(result)}`],
  );
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

interface Waiting {
  readonly definition: FunctionDefinition;
  /** When absent the function is only loaded. */
  readonly input: InvocationInput | undefined;
  readonly finish: (result: InvocationResult) => void;
}

/**
 * Execution environments. Without an idle one an invocation waits for the first that becomes idle, while another one
 * starts.
 */
class Pool {
  readonly #options: EnvironmentOptions;
  #inspectorPort: number | undefined;
  #inspectorUrl: string | undefined;
  readonly #all = new Set<Environment>();
  readonly #idle: Environment[] = [];
  readonly #waiting = new Set<Waiting>();
  #starting = 0;
  #isRetired = false;
  #isStopped = false;

  constructor(options: EnvironmentOptions, inspectorPort?: number) {
    this.#options = options;
    this.#inspectorPort = inspectorPort;
  }

  get isBusy(): boolean {
    return this.#all.size > 0;
  }

  get inspectorUrl(): string | undefined {
    return this.#inspectorUrl;
  }

  /** Invokes a function, or only loads it when there is no input. */
  async run(
    definition: FunctionDefinition,
    input?: InvocationInput,
    signal?: AbortSignal,
  ): Promise<InvocationResult> {
    if (this.#isStopped) return stopped;
    const { promise, resolve: finish } = Promise.withResolvers<InvocationResult>();
    const waiting: Waiting = { definition, input, finish };
    this.#waiting.add(waiting);
    signal?.addEventListener('abort', () => {
      if (this.#waiting.delete(waiting)) finish(failed('Service.Dropped', 'The caller stopped waiting'));
    });
    this.#dispatch();
    return promise;
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

  #dispatch(): void {
    if (this.#isStopped) return;
    for (const waiting of this.#waiting) {
      // The most recently used one has the warmest caches.
      const environment = this.#idle.pop();
      if (environment === undefined) break;
      this.#waiting.delete(waiting);
      void environment.run(waiting.definition, waiting.input).then((result) => {
        waiting.finish(result);
        this.#offer(environment);
      });
    }
    if (this.#isRetired) for (const environment of this.#idle.splice(0)) void environment.stop();
    const limit = this.#inspectorPort === undefined ? maxEnvironments : 1;
    for (const { definition } of [...this.#waiting].slice(this.#starting))
      if (this.#all.size < limit) void this.#start(definition);
  }

  /** Starts an environment. Code that cannot be loaded fails one invocation for each attempt. */
  async #start(definition: FunctionDefinition): Promise<void> {
    this.#starting += 1;
    const port = this.#inspectorPort;
    const place = port === undefined ? definition : { inspectorPort: port };
    const environment = new Environment(place, this.#options, () => {
      this.#all.delete(environment);
      const index = this.#idle.indexOf(environment);
      if (index >= 0) this.#idle.splice(index, 1);
    });
    this.#all.add(environment);
    if (port !== undefined) {
      this.#inspectorUrl = await environment.inspectorUrl;
      // A debugger reconnects to the same port after a restart.
      if (this.#inspectorUrl !== undefined) this.#inspectorPort = Number(new URL(this.#inspectorUrl).port);
    }
    const loaded = await environment.run(definition);
    this.#starting -= 1;
    // Under the inspector the environment has other functions, too.
    if (loaded.ok || port !== undefined) return this.#offer(environment);
    void environment.stop();
    const [first] = this.#waiting;
    if (first !== undefined && this.#waiting.delete(first)) {
      if (first.input !== undefined) this.#options.onLog(definition.label, loadProblem(loaded));
      first.finish(loaded);
    }
    this.#dispatch();
  }

  #offer(environment: Environment): void {
    if (!environment.hasEnded) this.#idle.push(environment);
    this.#dispatch();
  }
}
