import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FunctionDefinition } from './function-definitions.ts';
import type { Failure, FromRuntime, InvocationResult, Task } from './function-runtime.ts';

export interface InvocationInput {
  /** JSON. */
  readonly event: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

export interface EnvironmentOptions {
  /** Environment variables in addition to those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  /** Called with the function's label. */
  readonly onLog: (label: string, line: string) => void;
}

/** Limit for the code outside the handler. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html */
const initTimeoutMs = 10_000;

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestPayload = 6_291_556;

const runtimeModule = new URL('function-runtime.ts', import.meta.url);

interface Runtime {
  readonly send: (task: Task) => void;
  readonly end: () => void;
}

/** What the environment does now, or did last. */
interface Current {
  readonly definition: FunctionDefinition;
  readonly isInvocation: boolean;
  readonly finish: (result: InvocationResult) => void;
}

/**
 * One execution environment: it serves one invocation at a time. A crash, an exit or a time-out ends it.
 *
 * It is a thread with one function, or a process with all of them under the Node.js inspector, without limits of time and memory:
 * one session of a debugger covers all code, also replaced code, and the service itself goes on while the debugger holds it.
 * https://nodejs.org/en/learn/getting-started/debugging
 */
export class Environment {
  readonly #options: EnvironmentOptions;
  readonly #isInspected: boolean;
  readonly #onEnd: () => void;
  readonly #runtime: Runtime;
  readonly #started = Promise.withResolvers<string | undefined>();
  readonly #ended = Promise.withResolvers<void>();
  #hasEnded = false;
  #current: Current | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endReason: Failure | undefined;

  /**
   * @param place memory in MB of a thread, or the port of the inspector on 127.0.0.1, any free one when 0
   * @param onEnd called before the result of the invocation that it ends with
   */
  constructor(
    place: { readonly memoryMb: number } | { readonly inspectorPort: number },
    options: EnvironmentOptions,
    onEnd: () => void,
  ) {
    this.#options = options;
    this.#onEnd = onEnd;
    this.#isInspected = 'inspectorPort' in place;
    this.#runtime =
      'inspectorPort' in place ? this.#startProcess(place.inspectorPort) : this.#startThread(place.memoryMb);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** `ws://127.0.0.1:PORT/ID` for a debugger. Undefined without an inspector, also because its port is in use. */
  get inspectorUrl(): Promise<string | undefined> {
    return this.#started.promise;
  }

  /** Invokes a function, or only loads it when there is no input. */
  run(definition: FunctionDefinition, input?: InvocationInput): Promise<InvocationResult> {
    const { promise, resolve: finish } = Promise.withResolvers<InvocationResult>();
    const isInvocation = input !== undefined;
    this.#current = { definition, isInvocation, finish };
    const { arn: functionArn, file, handler } = definition;
    const requestId = randomUUID();
    const timeoutMs = isInvocation ? definition.timeoutMs : initTimeoutMs;
    const seconds = (timeoutMs / 1000).toFixed(2);
    const problem = isInvocation
      ? `RequestId: ${requestId} Error: Task timed out after ${seconds} seconds`
      : 'The function did not load within 10 s';
    if (!this.#isInspected)
      this.#timer = setTimeout(() => {
        if (isInvocation) this.#log(`${new Date().toISOString()} ${problem}`);
        this.#endFor({ errorType: 'Sandbox.Timedout', errorMessage: problem });
      }, timeoutMs);
    const deadline = this.#isInspected ? undefined : Date.now() + timeoutMs;
    const invocation = input && { ...input, requestId, timeoutMs, deadline, functionArn };
    const variables = { ...definition.variables, ...this.#options.variables };
    this.#runtime.send({
      file: pathToFileURL(file).href,
      handler,
      variables: this.#isInspected ? withoutTimeouts(variables) : variables,
      invocation,
    });
    return promise;
  }

  /** Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#runtime.end();
    await this.#ended.promise;
  }

  #startThread(memoryMb: number): Runtime {
    const worker = new Worker(runtimeModule, {
      env: {},
      execArgv: [], // not those of this process
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    worker.on('message', (message: FromRuntime) => this.#receive(message));
    // Such as too little memory.
    worker.on('error', ({ name, message, stack = '' }) =>
      this.#crashed({ errorType: name, errorMessage: message, trace: stack }),
    );
    worker.on('exit', (code) => this.#exited(code));
    return {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      send: (task) => worker.postMessage(task),
      end: () => void worker.terminate(),
    };
  }

  #startProcess(port: number): Runtime {
    const child = fork(runtimeModule, {
      execArgv: [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http'],
      env: { TZ: ':UTC' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      detached: true, // outside the process group that gets Ctrl-C: it ends with the service
    });
    child.on('message', (message: FromRuntime) => this.#receive(message));
    child.on('exit', (code) => this.#exited(code ?? 1));
    return {
      send: (task) => void child.send(task),
      end: () => void child.kill('SIGKILL'),
    };
  }

  #receive(message: FromRuntime): void {
    switch (message.type) {
      case 'started':
        this.#started.resolve(message.inspectorUrl);
        return;
      case 'line':
        this.#log(message.line);
        return;
      case 'crashed':
        this.#crashed(message.failure);
        return;
      case 'done':
        this.#finish(checkedResult(message.result));
    }
  }

  #crashed(failure: Failure): void {
    if (this.#current?.isInvocation === true) this.#log(failure.trace ?? failure.errorMessage);
    this.#endFor(failure);
  }

  #endFor(reason: Failure): void {
    this.#endReason ??= reason;
    void this.stop();
  }

  #exited(code: number): void {
    const how = code === 0 ? 'without providing a reason' : `with error: exit status ${code}`;
    const exit = { errorType: 'Runtime.ExitError', errorMessage: `Runtime exited ${how}` };
    this.#hasEnded = true;
    this.#started.resolve(undefined);
    this.#onEnd();
    this.#finish({ ok: false, ...(this.#endReason ?? exit) });
    this.#ended.resolve();
  }

  #finish(result: InvocationResult): void {
    clearTimeout(this.#timer);
    this.#current?.finish(result);
  }

  #log(line: string): void {
    if (this.#current !== undefined) this.#options.onLog(this.#current.definition.label, line);
  }
}

/** The time-outs that the template sets for calls would pass while a debugger holds the function. */
function withoutTimeouts(variables: Readonly<Record<string, string>>): Record<string, string> {
  const patient = Object.entries(variables).map(([name, value]) => [
    name,
    name.endsWith('_TIMEOUT_MS') ? '86400000' : value,
  ]);
  return Object.fromEntries(patient) as Record<string, string>;
}

function checkedResult(result: InvocationResult): InvocationResult {
  const size = result.ok ? Buffer.byteLength(result.payload) : 0;
  if (size <= largestPayload) return result;
  const errorMessage = `Response payload size (${size} bytes) exceeded maximum allowed payload size (${largestPayload} bytes).`;
  return { ok: false, errorType: 'Function.ResponseSizeTooLarge', errorMessage };
}
