import { availableParallelism } from 'node:os';
import type { FunctionDefinition } from './function-definition.ts';
import {
  type EnvironmentOptions,
  ExecutionEnvironment,
  type InvocationInput,
  type InvocationResult,
} from './environment.ts';
import { describeLoadFailure, loadError, withSource } from './load-error.ts';
import { type Failure, failureOf } from './protocol.ts';

/** Execution environments of one function. Two for each processor keep it busy while a database answers. */
const maxEnvironments = Math.min(8, 2 * availableParallelism());

interface Waiting extends InvocationInput {
  readonly finish: (result: InvocationResult) => void;
}

/** Loaded code that is not used yet. */
export interface Replacement {
  readonly commit: () => void;
  readonly discard: () => Promise<void>;
}

/**
 * The execution environments of one function. Without an idle one an invocation waits for the first that becomes
 * idle, while another one starts. Beyond the reserved concurrency it is throttled, as on Lambda.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html
 */
export class FunctionPool {
  #definition: FunctionDefinition;
  readonly #options: EnvironmentOptions;
  readonly #onLog: (label: string, line: string) => void;
  readonly #all = new Set<ExecutionEnvironment>();
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;
  #starting = 0;
  #stopped = false;
  #replacing: Promise<void> = Promise.resolve();

  /** @param onLog called with the function's label and a line, with the paths of its source in place of those of the copy */
  constructor(
    definition: FunctionDefinition,
    options: EnvironmentOptions,
    onLog: (label: string, line: string) => void,
  ) {
    this.#definition = definition;
    this.#options = options;
    this.#onLog = onLog;
  }

  get definition(): FunctionDefinition {
    return this.#definition;
  }

  /**
   * @param signal drops an invocation that still waits; a running one continues
   */
  async invoke(input: InvocationInput, signal?: AbortSignal): Promise<InvocationResult> {
    if (this.#stopped) return stopped;
    if (this.#underWay >= (this.#definition.reservedConcurrency ?? Infinity)) return throttled;
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const waiting: Waiting = { ...input, finish: resolve };
    this.#waiting.add(waiting);
    const drop = (): void => {
      if (this.#waiting.delete(waiting)) resolve(failed('Service.Dropped', 'The caller stopped waiting'));
    };
    signal?.addEventListener('abort', drop);
    this.#underWay += 1;
    this.#dispatch();
    const result = await promise;
    this.#underWay -= 1;
    signal?.removeEventListener('abort', drop);
    return result;
  }

  /**
   * Uses other code or settings from the next invocation on. Invocations in progress finish on the old code.
   *
   * @throws FunctionLoadError when the code cannot be loaded; the old code stays in use
   */
  replace(definition: FunctionDefinition): Promise<void> {
    this.#replacing = this.#replacing
      .catch(() => {})
      .then(async () => (await this.prepare(definition)).commit());
    return this.#replacing;
  }

  /**
   * Loads other code or settings without using them.
   *
   * @throws FunctionLoadError
   */
  async prepare(definition: FunctionDefinition): Promise<Replacement> {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const first = this.#start(definition, resolve, (failure) => reject(loadError(definition, failure)));
    await ready;
    return {
      commit: () => {
        this.#definition = definition;
        for (const old of this.#idle.splice(0)) void old.stop();
        this.#idle.push(first);
        this.#dispatch();
      },
      discard: () => first.stop(),
    };
  }

  /** Starts an environment, so that the first invocation does not wait for it. */
  warm(): void {
    if (this.#all.size === 0) this.#startForWaiting();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { finish } of this.#waiting) finish(stopped);
    this.#waiting.clear();
    await Promise.all([...this.#all].map((environment) => environment.stop()));
  }

  get #limit(): number {
    return this.#options.inspected !== undefined
      ? 1
      : Math.min(maxEnvironments, this.#definition.reservedConcurrency ?? maxEnvironments);
  }

  #dispatch(): void {
    for (const waiting of this.#waiting) {
      // The most recently used one has the warmest caches.
      const environment = this.#idle.pop();
      if (environment === undefined) break;
      this.#waiting.delete(waiting);
      environment.invoke(waiting, waiting.finish);
    }
    const current = [...this.#all].filter(({ definition }) => definition === this.#definition).length;
    if (this.#stopped) return;
    for (let more = this.#limit - current; more > 0 && this.#starting < this.#waiting.size; more -= 1) {
      this.#startForWaiting();
    }
  }

  #startForWaiting(): void {
    this.#starting += 1;
    const environment: ExecutionEnvironment = this.#start(
      this.#definition,
      () => {
        this.#starting -= 1;
        this.#becomeIdle(environment);
      },
      (failure) => {
        this.#starting -= 1;
        this.#onLine(this.#definition, describeLoadFailure(failure));
        // Code that cannot be loaded fails one invocation for each attempt.
        const [first] = this.#waiting;
        if (first !== undefined && this.#waiting.delete(first)) first.finish({ ok: false, failure });
      },
    );
  }

  #start(
    definition: FunctionDefinition,
    onReady: () => void,
    onLoadError: (failure: Failure) => void,
  ): ExecutionEnvironment {
    const environment = new ExecutionEnvironment(definition, this.#options, {
      onReady,
      onIdle: () => this.#becomeIdle(environment),
      onEnd: (failure) => {
        this.#all.delete(environment);
        const index = this.#idle.indexOf(environment);
        if (index >= 0) this.#idle.splice(index, 1);
        if (failure !== undefined) onLoadError(failure);
        this.#dispatch();
      },
      onLine: (line) => this.#onLine(definition, line),
    });
    this.#all.add(environment);
    return environment;
  }

  #onLine(definition: FunctionDefinition, line: string): void {
    this.#onLog(definition.label, withSource(line, definition));
  }

  #becomeIdle(environment: ExecutionEnvironment): void {
    if (environment.definition === this.#definition) this.#idle.push(environment);
    else void environment.stop();
    this.#dispatch();
  }
}

function failed(errorType: string, errorMessage: string): InvocationResult {
  return { ok: false, failure: failureOf(errorType, errorMessage) };
}

export const stopped = failed('Service.Stopped', 'The function is stopped');

/** https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html */
export const throttled = failed('TooManyRequestsException', 'Rate Exceeded.');
