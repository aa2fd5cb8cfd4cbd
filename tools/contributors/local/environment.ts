import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { FunctionDefinition } from './function-definitions.ts';
import type { Failure, FromRuntime } from './function-runtime.ts';
import { type Runtime, type RuntimeEvents, startThread } from './function-thread.ts';
import type { InspectedProcess } from './inspected-process.ts';
import { readableTrace, withoutControls } from './readable.ts';

export type InvocationResult =
  { readonly ok: true; /** JSON. */ readonly payload: string } | ({ readonly ok: false } & Failure);

export interface InvocationInput {
  /** JSON. */
  readonly event: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

export interface EnvironmentOptions {
  /** Environment variables in addition to those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  readonly inspected: InspectedProcess | undefined;
  /** Called with the function's label. */
  readonly onLog: (label: string, line: string) => void;
}

/** The code of a function cannot be loaded. The message has the error with file and line. */
export class LoadError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    const { errorType, errorMessage, trace = '' } = failure;
    const head = `${errorType}: ${errorMessage}`;
    // The trace of a syntax error begins with the file and line.
    const lines = [head, ...trace.split('\n').filter((line) => line !== head)];
    super(`cannot be loaded: ${withoutControls(readableTrace(lines.join('\n')))}`);
    this.failure = failure;
  }
}

/** Limit for the code outside the handler. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html */
const initTimeoutMs = 10_000;

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestPayload = 6_291_556;

/** One execution environment: it serves one invocation at a time. A crash, an exit or a time-out ends it. */
export class Environment {
  readonly #definition: FunctionDefinition;
  readonly #onLine: (line: string) => void;
  readonly #onEnd: () => void;
  readonly #runtime: Runtime;
  readonly #hasTimeouts: boolean;
  readonly #loaded = Promise.withResolvers<void>();
  #isLoaded = false;
  #hasEnded = false;
  #finish: ((result: InvocationResult) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endReason: Failure | undefined;

  /** @param onEnd called before the result of the invocation that it ends with */
  constructor(
    definition: FunctionDefinition,
    { variables, inspected, onLog }: EnvironmentOptions,
    onEnd: () => void,
  ) {
    this.#definition = definition;
    this.#onLine = (line) => onLog(definition.label, line);
    this.#onEnd = onEnd;
    this.#hasTimeouts = inspected === undefined;
    const { file, handler } = definition;
    const load = {
      file: pathToFileURL(file).href,
      handler,
      variables: { ...definition.variables, ...variables },
    };
    const events: RuntimeEvents = {
      onMessage: (message) => this.#receive(message),
      onError: ({ name, message, stack }) => {
        this.#endReason = { errorType: name, errorMessage: message, trace: stack ?? '' };
        if (this.#isLoaded) this.#onLine(stack ?? message);
      },
      onExit: (code) => this.#exited(code),
    };
    this.#runtime = inspected?.open(load, events) ?? startThread(load, events, definition.memoryMb);
    this.#endAfter(initTimeoutMs, 'The function did not load within 10 s');
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Resolves when the code is loaded. @throws LoadError */
  loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  invoke({ event, traceId }: InvocationInput): Promise<InvocationResult> {
    const { timeoutMs, arn: functionArn } = this.#definition;
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    this.#finish = resolve;
    const requestId = randomUUID();
    const seconds = (timeoutMs / 1000).toFixed(2);
    this.#endAfter(timeoutMs, `RequestId: ${requestId} Error: Task timed out after ${seconds} seconds`);
    const deadline = this.#hasTimeouts ? Date.now() + timeoutMs : undefined;
    this.#runtime.invoke({ requestId, event, timeoutMs, deadline, functionArn, traceId });
    return promise;
  }

  async stop(): Promise<void> {
    await this.#runtime.end();
  }

  #receive(message: FromRuntime): void {
    switch (message.type) {
      case 'line':
        this.#onLine(message.line);
        return;
      case 'ready':
        clearTimeout(this.#timer);
        this.#isLoaded = true;
        this.#loaded.resolve();
        return;
      case 'loadFailed':
        this.#endReason = message.failure;
        void this.stop();
        return;
      case 'succeeded':
        this.#finished(checkedResult(message.payload));
        return;
      case 'failed':
        this.#finished({ ok: false, ...message.failure });
    }
  }

  #finished(result: InvocationResult): void {
    clearTimeout(this.#timer);
    this.#finish?.(result);
    this.#finish = undefined;
  }

  #exited(code: number): void {
    const how = code === 0 ? 'without providing a reason' : `with error: exit status ${code}`;
    const exit = { errorType: 'Runtime.ExitError', errorMessage: `Runtime exited ${how}` };
    const failure = this.#endReason ?? exit;
    this.#hasEnded = true;
    this.#onEnd();
    this.#loaded.reject(new LoadError(failure));
    this.#finished({ ok: false, ...failure });
  }

  #endAfter(milliseconds: number, errorMessage: string): void {
    if (!this.#hasTimeouts) return;
    this.#timer = setTimeout(() => {
      this.#endReason = { errorType: 'Sandbox.Timedout', errorMessage };
      if (this.#isLoaded) this.#onLine(`${new Date().toISOString()} ${errorMessage}`);
      void this.stop();
    }, milliseconds);
  }
}

function checkedResult(payload: string): InvocationResult {
  const size = Buffer.byteLength(payload);
  if (size <= largestPayload) return { ok: true, payload };
  const errorMessage = `Response payload size (${size} bytes) exceeded maximum allowed payload size (${largestPayload} bytes).`;
  return { ok: false, errorType: 'Function.ResponseSizeTooLarge', errorMessage };
}
