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

interface Waiting {
  definition: FunctionDefinition;
  /** When absent the function is only loaded. */
  readonly input: InvocationInput | undefined;
  readonly finish: (result: InvocationResult) => void;
}

/**
 * The functions with their execution environments. Without an idle one, an invocation waits for the first that becomes idle,
 * while another one starts. Under the inspector, all functions share one environment.
 */
export class Functions {
  readonly #options: EnvironmentOptions;
  #inspectorPort: number | undefined;
  #inspectorUrl: string | undefined;
  /** By ARN. */
  #current: ReadonlyMap<string, FunctionDefinition> = new Map();
  /** The most recently used last: it has the warmest caches. */
  readonly #environments = new Set<Environment>();
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;
  #isStopped = false;

  /** @param inspectorPort on 127.0.0.1, any free one when 0 */
  constructor(options: EnvironmentOptions, inspectorPort?: number) {
    this.#options = options;
    this.#inspectorPort = inspectorPort;
  }

  get definitions(): FunctionDefinition[] {
    return [...this.#current.values()];
  }

  /** `ws://127.0.0.1:PORT/ID` for a debugger, when functions were applied. */
  get inspectorUrl(): string | undefined {
    return this.#inspectorUrl;
  }

  /**
   * Runs these functions in place of those before. Invocations in progress finish on the old code. The first functions are
   * loaded by their first invocations, or at once for a debugger.
   *
   * @throws Error naming all functions whose code cannot be loaded; then nothing is changed
   */
  async apply(definitions: readonly FunctionDefinition[]): Promise<void> {
    const isFirst = this.#current.size === 0;
    const next = new Map(definitions.map((definition) => [definition.arn, definition]));
    if (!isFirst) await this.#load(definitions);
    else if (this.#inspectorPort !== undefined)
      await this.#load(definitions).catch((error: unknown) =>
        this.#options.onLog('functions', (error as Error).message),
      );
    this.#use(next);
  }

  /**
   * Uses other code from the next invocation on. Invocations in progress finish on the old code.
   *
   * @param file is not loaded yet
   * @throws Error when it cannot be loaded; the old code stays in use
   */
  async replaceCode(arn: string, file: string): Promise<void> {
    const next = { ...this.#current.get(arn)!, file };
    await this.#load([next]);
    this.#use(new Map([...this.#current, [arn, next]]));
  }

  readonly invoke: Invoke = async (arn, input, signal) => {
    const definition = this.#current.get(arn);
    if (definition === undefined) return failed('ResourceNotFoundException', `Function not found: ${arn}`);
    if (this.#underWay >= concurrency) return throttled;
    this.#underWay += 1;
    try {
      return await this.#run(definition, input, signal);
    } finally {
      this.#underWay -= 1;
    }
  };

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { finish } of this.#waiting) finish(stopped);
    this.#waiting.clear();
    await Promise.all([...this.#environments].map((environment) => environment.stop()));
  }

  /** @throws Error naming all functions whose code cannot be loaded */
  async #load(definitions: readonly FunctionDefinition[]): Promise<void> {
    const results = await Promise.all(definitions.map((definition) => this.#run(definition)));
    const problems = results.flatMap((result, index) =>
      result.ok ? [] : [`${definitions[index]!.label} ${loadProblem(result)}`],
    );
    if (problems.length === 0) return;
    this.#use(this.#current);
    throw new Error(problems.join('\n'));
  }

  /** Environments with other code end after their invocations. */
  #use(next: ReadonlyMap<string, FunctionDefinition>): void {
    this.#current = next;
    for (const environment of this.#environments) {
      const { definition } = environment;
      if (definition !== undefined && next.get(definition.arn) !== definition) environment.retire();
    }
    for (const waiting of this.#waiting)
      waiting.definition = next.get(waiting.definition.arn) ?? waiting.definition;
    this.#dispatch();
  }

  async #run(
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

  #dispatch(): void {
    if (this.#isStopped) return;
    for (const waiting of this.#waiting) {
      const { definition, input, finish } = waiting;
      const environment = this.#environmentsOf(definition).findLast(({ isIdle }) => isIdle);
      if (environment === undefined) continue;
      this.#waiting.delete(waiting);
      this.#environments.delete(environment);
      this.#environments.add(environment);
      void environment.run(definition, input).then((result) => {
        finish(result);
        this.#dispatch();
      });
    }
    const limit = this.#inspectorPort === undefined ? maxEnvironments : 1;
    for (const { definition } of this.#waiting) {
      const environments = this.#environmentsOf(definition);
      const starting = environments.filter(({ isLoading }) => isLoading).length;
      const waiting = [...this.#waiting].filter((each) => each.definition === definition).length;
      if (environments.length < limit && starting < waiting) void this.#start(definition);
    }
  }

  #environmentsOf(definition: FunctionDefinition): Environment[] {
    return [...this.#environments].filter((each) => [undefined, definition].includes(each.definition));
  }

  /** Code that cannot be loaded fails one invocation for each attempt. */
  async #start(definition: FunctionDefinition): Promise<void> {
    const port = this.#inspectorPort;
    const environment = new Environment(port ?? definition, this.#options, () =>
      this.#environments.delete(environment),
    );
    this.#environments.add(environment);
    const loading = environment.run(definition);
    if (port !== undefined) {
      this.#inspectorUrl = await environment.inspectorUrl;
      // A debugger reconnects to the same port after a restart.
      if (this.#inspectorUrl !== undefined) this.#inspectorPort = Number(new URL(this.#inspectorUrl).port);
    }
    const loaded = await loading;
    const first = [...this.#waiting].find((each) => each.definition === definition);
    // Under the inspector, the environment can run other functions.
    if (!loaded.ok && port === undefined) {
      environment.retire();
      if (first !== undefined) {
        this.#waiting.delete(first);
        if (first.input !== undefined) this.#options.onLog(definition.label, loadProblem(loaded));
        first.finish(loaded);
      }
    }
    this.#dispatch();
  }
}
