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
  readonly end: () => unknown;
}

/**
 * One execution environment: it serves one invocation at a time. A crash, an exit or a time-out ends it.
 *
 * It is a thread with one function, or a process for all of them under the Node.js inspector, without limits of time and memory:
 * one session of a debugger covers all code, also replaced code, and the service itself goes on while the debugger holds it.
 * https://nodejs.org/en/learn/getting-started/debugging
 */
export class Environment {
  /** Undefined under the inspector. */
  readonly definition: FunctionDefinition | undefined;
  readonly #options: EnvironmentOptions;
  readonly #onEnd: () => void;
  readonly #runtime: Runtime;
  readonly #started = Promise.withResolvers<string | undefined>();
  readonly #ended = Promise.withResolvers<void>();
  /** Of the function that runs, or ran last. */
  #label = '';
  #task: Task | undefined;
  #finish: (result: InvocationResult) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #isRetired = false;
  #endReason: Failure | undefined;

  /**
   * @param place the function of a thread, or the port of the inspector on 127.0.0.1, any free one when 0
   * @param onEnd called before the result of the invocation that it ends with
   */
  constructor(place: FunctionDefinition | number, options: EnvironmentOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
    if (typeof place === 'number') {
      this.#runtime = this.#startProcess(place);
    } else {
      this.definition = place;
      this.#runtime = this.#startThread(place.memoryMb);
    }
  }

  get isIdle(): boolean {
    return this.#task === undefined && !this.#isRetired;
  }

  get isLoading(): boolean {
    return this.#task !== undefined && this.#task.invocation === undefined;
  }

  /** `ws://127.0.0.1:PORT/ID` for a debugger. Undefined without an inspector, also because its port is in use. */
  get inspectorUrl(): Promise<string | undefined> {
    return this.#started.promise;
  }

  /** Invokes a function, or only loads it when there is no input. The environment must be idle. */
  run(definition: FunctionDefinition, input?: InvocationInput): Promise<InvocationResult> {
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const { arn: functionArn, file, handler, label } = definition;
    const isTimed = this.definition !== undefined;
    const timeoutMs = input === undefined ? initTimeoutMs : definition.timeoutMs;
    const deadline = isTimed ? Date.now() + timeoutMs : undefined;
    const invocation = input && { ...input, requestId: randomUUID(), timeoutMs, deadline, functionArn };
    const variables = { ...definition.variables, ...this.#options.variables };
    this.#label = label;
    this.#finish = resolve;
    this.#task = {
      file: pathToFileURL(file).href,
      handler,
      variables: isTimed ? variables : withoutTimeouts(variables),
      invocation,
    };
    if (isTimed) this.#timer = setTimeout(() => this.#timedOut(timeoutMs), timeoutMs);
    this.#runtime.send(this.#task);
    return promise;
  }

  /** Ends after its invocation. */
  retire(): void {
    const wasIdle = this.isIdle;
    this.#isRetired = true;
    if (wasIdle) this.#runtime.end();
  }

  /** Resolves when it has ended. */
  async stop(): Promise<void> {
    this.#isRetired = true;
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
      end: () => worker.terminate(),
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
    return { send: (task) => child.send(task), end: () => child.kill('SIGKILL') };
  }

  #receive(message: FromRuntime): void {
    switch (message.type) {
      case 'started':
        this.#started.resolve(message.inspectorUrl);
        return;
      case 'line':
        this.#options.onLog(this.#label, message.line);
        return;
      case 'crashed':
        this.#crashed(message.failure);
        return;
      case 'done':
        this.#done(checkedResult(message.result));
    }
  }

  #timedOut(timeoutMs: number): void {
    const { invocation } = this.#task!;
    const seconds = (timeoutMs / 1000).toFixed(2);
    const errorMessage =
      invocation === undefined
        ? 'The function did not load within 10 s'
        : `RequestId: ${invocation.requestId} Error: Task timed out after ${seconds} seconds`;
    this.#endFor(
      { errorType: 'Sandbox.Timedout', errorMessage },
      `${new Date().toISOString()} ${errorMessage}`,
    );
  }

  #crashed(failure: Failure): void {
    this.#endFor(failure, failure.trace ?? failure.errorMessage);
  }

  #endFor(reason: Failure, line: string): void {
    // Why code cannot be loaded is told to who loads it.
    if (!this.isLoading) this.#options.onLog(this.#label, line);
    this.#endReason ??= reason;
    this.#isRetired = true;
    this.#runtime.end();
  }

  #done(result: InvocationResult): void {
    clearTimeout(this.#timer);
    this.#task = undefined;
    if (this.#isRetired) this.#runtime.end();
    this.#finish(result);
  }

  #exited(code: number): void {
    const how = code === 0 ? 'without providing a reason' : `with error: exit status ${code}`;
    const exit = { errorType: 'Runtime.ExitError', errorMessage: `Runtime exited ${how}` };
    this.#isRetired = true;
    this.#started.resolve(undefined);
    this.#ended.resolve();
    this.#onEnd();
    this.#done({ ok: false, ...(this.#endReason ?? exit) });
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
