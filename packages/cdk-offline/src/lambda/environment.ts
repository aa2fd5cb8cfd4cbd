import { randomUUID } from 'node:crypto';
import { devNull } from 'node:os';
import { localCredentials, region } from '../template/aws.ts';
import type { FunctionDefinition } from './function-definition.ts';
import type { InspectedProcess } from './inspected-process.ts';
import { type Failure, failureOf, type FromRuntime, type Runtime } from './protocol.ts';
import { startThread } from './thread.ts';

export type InvocationResult =
  | { readonly ok: true; /** JSON. */ readonly payload: string }
  | { readonly ok: false; readonly failure: Failure };

export interface InvocationInput {
  /** JSON. */
  readonly event: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

/** The invocation exceeded a concurrency limit. */
export function isThrottled(result: InvocationResult): boolean {
  return !result.ok && result.failure.errorType === 'TooManyRequestsException';
}

export function describeFailure(result: InvocationResult): string {
  return result.ok ? '' : `${result.failure.errorType}: ${result.failure.errorMessage}`;
}

export interface EnvironmentOptions {
  /** Environment variables in addition to the definition's. */
  readonly variables: () => Readonly<Record<string, string>>;
  /** Where the AWS SDK is looked for, before cdk-offline's dependencies. */
  readonly sdkFolders: readonly string[];
  /** Called with the path of each module of the AWS SDK that a function's code does not bring. */
  readonly onSdkUse: (path: string) => void;
  /** Runs functions under the Node.js inspector, without time-outs. */
  readonly inspected?: InspectedProcess | undefined;
}

export interface EnvironmentEvents {
  /** The code is loaded. */
  readonly onReady: () => void;
  /** An invocation is finished. */
  readonly onIdle: () => void;
  /** It ended. `failure` is the reason when the code was never loaded, which is not among the lines. */
  readonly onEnd: (failure: Failure | undefined) => void;
  readonly onLine: (line: string) => void;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestPayload = 6_291_556;

/** Limit for the code outside the handler. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html */
const initTimeoutMs = 10_000;

/**
 * One execution environment: serves one invocation at a time. A crash, an exit or a time-out ends it. Time zone and
 * working directory are those of this machine.
 */
export class ExecutionEnvironment {
  readonly definition: FunctionDefinition;
  readonly #events: EnvironmentEvents;
  readonly #runtime: Runtime;
  readonly #hasTimeouts: boolean;
  #running: { readonly id: string; readonly finish: (result: InvocationResult) => void } | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #endReason: Failure | undefined;

  constructor(
    definition: FunctionDefinition,
    { variables, inspected, sdkFolders, onSdkUse }: EnvironmentOptions,
    events: EnvironmentEvents,
  ) {
    this.definition = definition;
    this.#events = events;
    this.#hasTimeouts = inspected === undefined;
    const open = inspected === undefined ? startThread : inspected.open.bind(inspected);
    const { taskRoot, handler, runtime, logFormat, logLevel } = definition;
    const settings = { taskRoot, handler, runtime, sdkFolders, logFormat, logLevel };
    this.#runtime = open(
      settings,
      { ...variablesOf(definition), ...variables() },
      {
        onMessage: (message) => this.#receive(message, onSdkUse),
        onLine: events.onLine,
        onError: (error) => {
          const known =
            error instanceof Error ? error : Object.assign(new Error(String(error)), unknownError);
          const trace = known.stack?.split('\n') ?? [];
          this.#endReason = { ...failureOf(known.name, known.message), trace };
          if (this.#ready) events.onLine(known.stack ?? known.message);
        },
        onExit: (code) => this.#end(code),
      },
      definition.memoryMb,
    );
    this.#endAfter(initTimeoutMs, 'The function did not load within 10 s');
  }

  invoke({ event, traceId }: InvocationInput, finish: (result: InvocationResult) => void): void {
    const { timeoutSeconds, arn: functionArn } = this.definition;
    const requestId = randomUUID();
    this.#running = { id: requestId, finish };
    const timeoutMs = timeoutSeconds * 1000;
    const seconds = timeoutSeconds.toFixed(2);
    this.#endAfter(timeoutMs, `RequestId: ${requestId} Error: Task timed out after ${seconds} seconds`);
    const deadline = this.#hasTimeouts ? Date.now() + timeoutMs : undefined;
    this.#runtime.send({ requestId, event, timeoutMs, deadline, functionArn, traceId });
  }

  async stop(): Promise<void> {
    await this.#runtime.end();
  }

  #receive(message: FromRuntime, onSdkUse: (path: string) => void): void {
    switch (message.type) {
      case 'sdkUsed':
        onSdkUse(message.path);
        return;
      case 'ready':
        clearTimeout(this.#timer);
        this.#ready = true;
        this.#events.onReady();
        return;
      case 'initFailed':
        this.#endReason = message.failure;
        void this.#runtime.end();
        return;
      case 'succeeded':
        this.#finish(message.requestId, checkedResult(message.payload));
        return;
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
    const how = exitCode === 0 ? 'without providing a reason' : `with error: exit status ${exitCode}`;
    const failure = this.#endReason ?? failureOf('Runtime.ExitError', `Runtime exited ${how}`);
    const running = this.#running;
    this.#running = undefined;
    this.#events.onEnd(this.#ready ? undefined : failure);
    running?.finish({ ok: false, failure });
  }

  #endAfter(milliseconds: number, errorMessage: string): void {
    if (!this.#hasTimeouts) return;
    this.#timer = setTimeout(() => {
      this.#endReason = failureOf('Sandbox.Timedout', errorMessage);
      if (this.#ready) this.#events.onLine(`${new Date().toISOString()} ${errorMessage}`);
      void this.#runtime.end();
    }, milliseconds);
  }
}

const unknownError = { name: 'Runtime.Unknown', stack: undefined };

function checkedResult(payload: string): InvocationResult {
  const size = Buffer.byteLength(payload);
  if (size <= largestPayload) return { ok: true, payload };
  const message = `Response payload size (${size} bytes) exceeded maximum allowed payload size (${largestPayload} bytes).`;
  return { ok: false, failure: failureOf('Function.ResponseSizeTooLarge', message) };
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
    // No settings or credentials of this machine.
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
    AWS_EC2_METADATA_DISABLED: 'true',
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
