import { availableParallelism } from 'node:os';
import type { FunctionDefinition } from './definition.ts';
import { ExecutionEnvironment, type InvocationResult } from './environment.ts';

/**
 * Execution environments of one function: Lambda would start a thousand. Here they share the processors, and each has
 * to warm up; two for each processor keep it busy while DynamoDB answers.
 */
const mostEnvironments = Math.min(8, 2 * availableParallelism());

interface Waiting {
  readonly event: string;
  readonly finish: (result: InvocationResult) => void;
}

/**
 * The execution environments of one function. An invocation goes to an idle one; when there is none it waits for the
 * first to become free, while another one is started, up to the function's reserved concurrency and a number that suits this machine.
 * (Lambda would turn invocations away beyond the reserved concurrency; here they wait as long as the caller does.)
 */
export class FunctionPool {
  readonly definition: FunctionDefinition;
  readonly #extraVariables: Readonly<Record<string, string>>;
  readonly #onLine: (line: string) => void;
  readonly #limit: number;
  readonly #all = new Set<ExecutionEnvironment>();
  readonly #idle: ExecutionEnvironment[] = [];
  readonly #waiting = new Set<Waiting>();
  #starting = 0;
  #stopped = false;

  constructor(
    definition: FunctionDefinition,
    extraVariables: Readonly<Record<string, string>>,
    onLine: (line: string) => void,
  ) {
    this.definition = definition;
    this.#extraVariables = extraVariables;
    this.#onLine = onLine;
    this.#limit = Math.min(mostEnvironments, definition.reservedConcurrency ?? mostEnvironments);
  }

  /**
   * @param event JSON
   * @param signal when it aborts, an invocation that still waits is given up; one that runs goes on
   */
  invoke(event: string, signal?: AbortSignal): Promise<InvocationResult> {
    if (this.#stopped) return Promise.resolve(refused('Service.Stopped', 'The function is stopped'));
    if (this.#limit === 0) return Promise.resolve(refused('TooManyRequestsException', 'Rate Exceeded.'));
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const waiting: Waiting = { event, finish: resolve };
    this.#waiting.add(waiting);
    signal?.addEventListener('abort', () => {
      if (this.#waiting.delete(waiting))
        resolve(refused('Service.GivenUp', 'The caller did not wait any longer'));
    });
    this.#dispatch();
    return promise;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { finish } of this.#waiting) finish(refused('Service.Stopped', 'The function is stopped'));
    this.#waiting.clear();
    await Promise.all([...this.#all].map((environment) => environment.stop()));
  }

  #dispatch(): void {
    for (const waiting of this.#waiting) {
      // The one used last is the warmest.
      const environment = this.#idle.pop();
      if (environment === undefined) break;
      this.#waiting.delete(waiting);
      environment.invoke(waiting.event, waiting.finish);
    }
    while (!this.#stopped && this.#starting < this.#waiting.size && this.#all.size < this.#limit)
      this.#start();
  }

  #start(): void {
    this.#starting += 1;
    let isStarting = true;
    const hasStarted = (): void => {
      if (isStarting) this.#starting -= 1;
      isStarting = false;
    };
    const environment = new ExecutionEnvironment(this.definition, this.#extraVariables, {
      onIdle: (idle) => {
        hasStarted();
        this.#idle.push(idle);
        this.#dispatch();
      },
      onEnd: (ended, failure) => {
        hasStarted();
        this.#all.delete(ended);
        const index = this.#idle.indexOf(ended);
        if (index >= 0) this.#idle.splice(index, 1);
        // Code that cannot load fails one invocation for each attempt.
        if (failure !== undefined) {
          const [first] = this.#waiting;
          if (first !== undefined && this.#waiting.delete(first)) first.finish({ ok: false, failure });
        }
        this.#dispatch();
      },
      onLine: this.#onLine,
    });
    this.#all.add(environment);
  }
}

function refused(errorType: string, errorMessage: string): InvocationResult {
  return { ok: false, failure: { errorType, errorMessage, trace: [] } };
}
