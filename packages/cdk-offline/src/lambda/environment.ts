import { randomUUID } from 'node:crypto';
import { localCredentials, region } from '../aws.ts';
import type { FunctionDefinition } from './definition.ts';
import type { InspectedProcess } from './inspected-process.ts';
import { type Failure, fromRuntime, type Runtime } from './protocol.ts';
import { startThread } from './thread.ts';

export type InvocationResult =
  | { readonly ok: true; /** JSON. */ readonly payload: string }
  | { readonly ok: false; readonly failure: Failure };

/** Lambda had no capacity left for the invocation. */
export function isThrottled(result: InvocationResult): boolean {
  return !result.ok && result.failure.errorType === 'TooManyRequestsException';
}

export function describeFailure(result: InvocationResult): string {
  return result.ok ? '' : `${result.failure.errorType}: ${result.failure.errorMessage}`;
}

export interface EnvironmentOptions {
  /** Environment variables beside those of the definition. */
  readonly variables: () => Readonly<Record<string, string>>;
  /** Runs functions in a process of their own, under the Node.js inspector: without time-outs, one at a time. */
  readonly inspected?: InspectedProcess | undefined;
}

export interface EnvironmentEvents {
  /** The code has been loaded. */
  readonly onReady: () => void;
  /** It has served an invocation and waits for the next. */
  readonly onIdle: () => void;
  /** It is gone. `failure` is the reason when it never became ready. */
  readonly onEnd: (failure: Failure | undefined) => void;
  readonly onLine: (line: string) => void;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestPayload = 6_291_556;

/** How long the code outside of the handler may take. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html */
const initTimeoutMs = 10_000;

/**
 * One execution environment: serves one invocation at a time. A crash, an exit and a time-out end it. The time zone
 * and the working folder are those of this machine.
 */
export class ExecutionEnvironment {
  readonly definition: FunctionDefinition;
  readonly #events: EnvironmentEvents;
  readonly #runtime: Runtime;
  readonly #hasTimeouts: boolean;
  #running: { readonly id: string; readonly finish: (result: InvocationResult) => void } | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #whyItEnded: Failure | undefined;

  constructor(
    definition: FunctionDefinition,
    { variables, inspected }: EnvironmentOptions,
    events: EnvironmentEvents,
  ) {
    this.definition = definition;
    this.#events = events;
    this.#hasTimeouts = inspected === undefined;
    const open = inspected === undefined ? startThread : inspected.open.bind(inspected);
    const { taskRoot, handler, logFormat, logLevel } = definition;
    const settings = { taskRoot, handler, logFormat, logLevel };
    this.#runtime = open(
      settings,
      { ...variablesOf(definition), ...variables() },
      {
        onMessage: (message) => this.#receive(message),
        onLine: events.onLine,
        onError: (error) => {
          this.#whyItEnded = {
            errorType: error instanceof Error ? error.name : 'Runtime.Unknown',
            errorMessage: error instanceof Error ? error.message : String(error),
            trace: [],
          };
          events.onLine(error instanceof Error ? (error.stack ?? error.message) : String(error));
        },
        onExit: (code) => this.#end(code),
      },
      definition.memoryMb,
    );
    this.#endAfter(initTimeoutMs, 'Sandbox.Timedout', 'The function did not load within 10 s');
  }

  invoke(event: string, finish: (result: InvocationResult) => void): void {
    const { timeoutSeconds, arn: functionArn } = this.definition;
    const requestId = randomUUID();
    this.#running = { id: requestId, finish };
    const timeoutMs = timeoutSeconds * 1000;
    this.#endAfter(
      timeoutMs,
      'Sandbox.Timedout',
      `RequestId: ${requestId} Error: Task timed out after ${timeoutSeconds.toFixed(2)} seconds`,
    );
    const deadline = this.#hasTimeouts ? Date.now() + timeoutMs : undefined;
    this.#runtime.send({ requestId, event, timeoutMs, deadline, functionArn });
  }

  async stop(): Promise<void> {
    await this.#runtime.end();
  }

  #receive(data: unknown): void {
    const message = fromRuntime.parse(data);
    switch (message.type) {
      case 'ready':
        clearTimeout(this.#timer);
        this.#ready = true;
        this.#events.onReady();
        return;
      case 'initFailed':
        this.#whyItEnded = message.failure;
        this.#events.onLine(
          `${message.failure.errorType}: ${[message.failure.errorMessage, ...message.failure.trace.slice(1)].join('\n')}`,
        );
        void this.#runtime.end();
        return;
      case 'succeeded': {
        const size = Buffer.byteLength(message.payload);
        if (size > largestPayload) {
          this.#finish(message.requestId, {
            ok: false,
            failure: {
              errorType: 'Function.ResponseSizeTooLarge',
              errorMessage: `Response payload size (${size} bytes) exceeded maximum allowed payload size (${largestPayload} bytes).`,
              trace: [],
            },
          });
        } else {
          this.#finish(message.requestId, { ok: true, payload: message.payload });
        }
        return;
      }
      case 'failed':
        this.#finish(message.requestId, { ok: false, failure: message.failure });
    }
  }

  #finish(requestId: string, result: InvocationResult): void {
    if (this.#running?.id !== requestId) return;
    const { finish } = this.#running;
    clearTimeout(this.#timer);
    this.#running = undefined;
    finish(result);
    this.#events.onIdle();
  }

  #end(exitCode: number): void {
    clearTimeout(this.#timer);
    const failure = this.#whyItEnded ?? {
      errorType: 'Runtime.ExitError',
      errorMessage: `Runtime exited ${exitCode === 0 ? 'without providing a reason' : `with error: exit status ${exitCode}`}`,
      trace: [],
    };
    const running = this.#running;
    this.#running = undefined;
    this.#events.onEnd(this.#ready ? undefined : failure);
    running?.finish({ ok: false, failure });
  }

  #endAfter(milliseconds: number, errorType: string, errorMessage: string): void {
    if (!this.#hasTimeouts) return;
    this.#timer = setTimeout(() => {
      this.#whyItEnded = { errorType, errorMessage, trace: [] };
      this.#events.onLine(`${new Date().toISOString()} ${errorMessage}`);
      void this.#runtime.end();
    }, milliseconds);
  }
}

/** https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime */
function variablesOf(definition: FunctionDefinition): Record<string, string> {
  const { name, memoryMb, runtime, handler, taskRoot, logGroupName, logFormat, logLevel } = definition;
  return {
    LANG: 'en_US.UTF-8',
    TZ: ':UTC',
    PATH: '/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin',
    AWS_XRAY_CONTEXT_MISSING: 'LOG_ERROR',
    ...definition.environment,
    _HANDLER: handler,
    LAMBDA_TASK_ROOT: taskRoot,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_EXECUTION_ENV: `AWS_Lambda_${runtime}`,
    AWS_ACCESS_KEY_ID: localCredentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: localCredentials.secretAccessKey,
    AWS_SESSION_TOKEN: localCredentials.sessionToken,
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(memoryMb),
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_FORMAT: logFormat,
    ...(logLevel !== undefined && { AWS_LAMBDA_LOG_LEVEL: logLevel }),
    AWS_LAMBDA_LOG_GROUP_NAME: logGroupName,
    AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]${randomUUID().replaceAll('-', '')}`,
  };
}
