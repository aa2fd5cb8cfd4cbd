import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism, devNull } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Failure, FromRuntime, Invocation, Load } from './function-runtime.ts';
import { readableTrace, withoutControls } from './readable.ts';
import { region, type Stack } from './template.ts';

/** Lambda: the functions of the stack in threads, or under the inspector in one process. */

export type InvocationResult =
  { readonly ok: true; /** JSON. */ readonly payload: string } | ({ readonly ok: false } & Failure);

interface InvocationInput {
  /** JSON. */
  readonly event: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

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

/** The invocation exceeded a concurrency limit. */
export function isThrottled(result: InvocationResult): boolean {
  return !result.ok && result.errorType === 'TooManyRequestsException';
}

export function describeFailure(result: InvocationResult): string {
  return result.ok ? '' : `${result.errorType}: ${result.errorMessage}`;
}

/** The account's limit for invocations of all functions at the same time. A new account has ten, and asks for more. */
const concurrency = 100;

/** Events of invocations in progress, in UTF-16 units. Limits the memory for many large requests. */
const maxCharacters = 128 * 1024 * 1024;

/** Execution environments of one function. Two for each processor keep it busy while a database answers. */
const maxEnvironments = Math.min(8, 2 * availableParallelism());

/** https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const largestPayload = 6_291_556;

/** Limit for the code outside the handler. https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html */
const initTimeoutMs = 10_000;

/** A function of the template. */
export interface FunctionDefinition {
  /** Of its alias. */
  readonly arn: string;
  /** The name of its file, such as `get-pet`. */
  readonly label: string;
  readonly file: string;
  readonly handler: string;
  readonly timeoutMs: number;
  readonly memoryMb: number;
  readonly variables: Readonly<Record<string, string>>;
  /** Identifies the code: functions with the same one run the same code. */
  readonly codeId: string;
}

/** @param local the address of the API for its address on AWS */
export function functionsOf(stack: Stack, local: (text: string) => string): FunctionDefinition[] {
  const aliases = stack.resources('AWS::Lambda::Alias');
  return stack.resources('AWS::Lambda::Function').map(({ id: name, properties }) => {
    const { Code, Environment, Handler, LoggingConfig, MemorySize, Runtime, Timeout } = properties;
    const [label = '', handler = ''] = Handler.split('.');
    const folder = join(stack.folder, `asset.${Code.S3Key.replace(/\.zip$/, '')}`);
    const own = Object.entries(Environment.Variables).map(([key, value]) => [key, local(value)]);
    return {
      arn: aliases.find(({ properties: { FunctionName } }) => FunctionName === name)?.id ?? name,
      label,
      file: join(folder, `${label}.mjs`),
      handler,
      timeoutMs: Timeout * 1000,
      memoryMb: MemorySize,
      codeId: Code.S3Key,
      // https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-runtime
      variables: {
        LANG: 'en_US.UTF-8',
        TZ: ':UTC',
        PATH: '/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin',
        AWS_XRAY_CONTEXT_MISSING: 'LOG_ERROR',
        ...(Object.fromEntries(own) as Record<string, string>),
        _HANDLER: Handler,
        LAMBDA_TASK_ROOT: folder,
        AWS_REGION: region,
        AWS_DEFAULT_REGION: region,
        AWS_EXECUTION_ENV: `AWS_Lambda_${Runtime}`,
        // No settings or credentials of this machine.
        AWS_CONFIG_FILE: devNull,
        AWS_SHARED_CREDENTIALS_FILE: devNull,
        AWS_EC2_METADATA_DISABLED: 'true',
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
        AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(MemorySize),
        AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
        AWS_LAMBDA_LOG_FORMAT: LoggingConfig.LogFormat,
        AWS_LAMBDA_LOG_LEVEL: LoggingConfig.ApplicationLogLevel,
        AWS_LAMBDA_LOG_GROUP_NAME: LoggingConfig.LogGroup,
        AWS_LAMBDA_LOG_STREAM_NAME: `${new Date().toISOString().slice(0, 10).replaceAll('-', '/')}/[$LATEST]local`,
      },
    };
  });
}

export interface FunctionsOptions {
  /** Environment variables in addition to those of the template. */
  readonly variables: Readonly<Record<string, string>>;
  readonly inspected: InspectedProcess | undefined;
  /** Called with the function's label. */
  readonly onLog: (label: string, line: string) => void;
}

/** The code of a function cannot be loaded. The message has the error with file and line. */
class FunctionLoadError extends Error {
  override readonly name = 'FunctionLoadError';
}

export class Functions {
  readonly #options: FunctionsOptions;
  readonly #pools = new Map<string, Pool>();
  #underWay = 0;
  #charactersUnderWay = 0;

  constructor(options: FunctionsOptions) {
    this.#options = options;
  }

  get definitions(): FunctionDefinition[] {
    return [...this.#pools.values()].map(({ definition }) => definition);
  }

  /**
   * Adds functions, changes those that differ and removes the others.
   *
   * @throws FunctionLoadError naming all functions whose changed code cannot be loaded; then nothing is changed
   */
  async apply(definitions: readonly FunctionDefinition[]): Promise<void> {
    const changes = await Promise.allSettled(
      definitions.flatMap((definition) => {
        const pool = this.#pools.get(definition.arn);
        return pool === undefined || isSame(pool.definition, definition) ? [] : [pool.prepare(definition)];
      }),
    );
    const reasons = changes.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
    const prepared = changes.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    if (reasons.length > 0) {
      await Promise.all(prepared.map(({ discard }) => discard()));
      throw new FunctionLoadError(reasons.map(({ message }) => message).join('\n'));
    }
    for (const { commit } of prepared) commit();
    for (const definition of definitions) {
      if (this.#pools.has(definition.arn)) continue;
      const pool = new Pool(definition, this.#options);
      this.#pools.set(definition.arn, pool);
      // A debugger finds the code before the first request.
      if (this.#options.inspected !== undefined) pool.start();
    }
    const kept = new Set(definitions.map(({ arn }) => arn));
    for (const [arn, pool] of this.#pools) {
      if (kept.has(arn)) continue;
      this.#pools.delete(arn);
      await pool.stop();
    }
  }

  /**
   * Uses other code from the next invocation on. Invocations in progress finish on the old code.
   *
   * @param file is not loaded yet
   * @throws FunctionLoadError; the old code stays in use
   */
  async replaceCode(arn: string, file: string): Promise<void> {
    const pool = this.#pools.get(arn)!;
    (await pool.prepare({ ...pool.definition, file, codeId: file })).commit();
  }

  readonly invoke: Invoke = async (arn, input, signal) => {
    const size = input.event.length;
    const pool = this.#pools.get(arn);
    if (pool === undefined) return failed('ResourceNotFoundException', `Function not found: ${arn}`);
    if (this.#underWay >= concurrency || this.#charactersUnderWay + size > maxCharacters) return throttled;
    this.#underWay += 1;
    this.#charactersUnderWay += size;
    try {
      return await pool.invoke(input, signal);
    } finally {
      this.#underWay -= 1;
      this.#charactersUnderWay -= size;
    }
  };

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()));
  }
}

/** Apart from where the code is. */
function isSame(one: FunctionDefinition, other: FunctionDefinition): boolean {
  const comparable = (definition: FunctionDefinition) =>
    JSON.stringify({
      ...definition,
      file: '',
      variables: { ...definition.variables, LAMBDA_TASK_ROOT: '' },
    });
  return comparable(one) === comparable(other);
}

interface Waiting extends InvocationInput {
  readonly finish: (result: InvocationResult) => void;
}

/**
 * The execution environments of one function. Without an idle one an invocation waits for the first that becomes idle,
 * while another one starts.
 */
class Pool {
  #definition: FunctionDefinition;
  readonly #options: FunctionsOptions;
  readonly #all = new Set<Environment>();
  readonly #idle: Environment[] = [];
  readonly #waiting = new Set<Waiting>();
  #starting = 0;
  #stopped = false;

  constructor(definition: FunctionDefinition, options: FunctionsOptions) {
    this.#definition = definition;
    this.#options = options;
  }

  get definition(): FunctionDefinition {
    return this.#definition;
  }

  async invoke(input: InvocationInput, signal?: AbortSignal): Promise<InvocationResult> {
    if (this.#stopped) return stopped;
    const { promise, resolve } = Promise.withResolvers<InvocationResult>();
    const waiting: Waiting = { ...input, finish: resolve };
    this.#waiting.add(waiting);
    signal?.addEventListener('abort', () => {
      if (this.#waiting.delete(waiting)) resolve(failed('Service.Dropped', 'The caller stopped waiting'));
    });
    this.#dispatch();
    return promise;
  }

  /** Loads other code or settings without using them. @throws FunctionLoadError */
  async prepare(
    definition: FunctionDefinition,
  ): Promise<{ readonly commit: () => void; readonly discard: () => Promise<void> }> {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const first = this.#open(definition, resolve, (failure) => {
      const text = withoutControls(describeLoadFailure(failure));
      reject(new FunctionLoadError(`${definition.label} cannot be loaded: ${text}`));
    });
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

  /** Starts an environment for what waits. */
  start(): void {
    this.#starting += 1;
    const environment: Environment = this.#open(
      this.#definition,
      () => {
        this.#starting -= 1;
        this.#becomeIdle(environment);
      },
      (failure) => {
        this.#starting -= 1;
        this.#options.onLog(this.#definition.label, describeLoadFailure(failure));
        // Code that cannot be loaded fails one invocation for each attempt.
        const [first] = this.#waiting;
        if (first !== undefined && this.#waiting.delete(first)) first.finish({ ok: false, ...failure });
      },
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { finish } of this.#waiting) finish(stopped);
    this.#waiting.clear();
    await Promise.all([...this.#all].map((environment) => environment.stop()));
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
    const limit = this.#options.inspected === undefined ? maxEnvironments : 1;
    for (let more = limit - current; more > 0 && this.#starting < this.#waiting.size; more -= 1) this.start();
  }

  #open(
    definition: FunctionDefinition,
    onReady: () => void,
    onLoadError: (failure: Failure) => void,
  ): Environment {
    const environment = new Environment(definition, this.#options, {
      onReady,
      onIdle: () => this.#becomeIdle(environment),
      onEnd: (failure) => {
        this.#all.delete(environment);
        const index = this.#idle.indexOf(environment);
        if (index >= 0) this.#idle.splice(index, 1);
        if (failure !== undefined) onLoadError(failure);
        this.#dispatch();
      },
    });
    this.#all.add(environment);
    return environment;
  }

  #becomeIdle(environment: Environment): void {
    if (environment.definition === this.#definition) this.#idle.push(environment);
    else void environment.stop();
    this.#dispatch();
  }
}

/** The trace of a syntax error begins with the file and line. */
function describeLoadFailure({ errorType, errorMessage, trace = '' }: Failure): string {
  const head = `${errorType}: ${errorMessage}`;
  return readableTrace([head, ...trace.split('\n').filter((line) => line !== head)].join('\n'));
}

interface EnvironmentEvents {
  /** The code is loaded. */
  readonly onReady: () => void;
  /** An invocation is finished. */
  readonly onIdle: () => void;
  /** It ended. `failure` is the reason when the code was never loaded, which is not among the lines. */
  readonly onEnd: (failure: Failure | undefined) => void;
}

/** One execution environment: it serves one invocation at a time. A crash, an exit or a time-out ends it. */
class Environment {
  readonly definition: FunctionDefinition;
  readonly #events: EnvironmentEvents;
  readonly #onLine: (line: string) => void;
  readonly #runtime: Runtime;
  readonly #hasTimeouts: boolean;
  #finish: ((result: InvocationResult) => void) | undefined;
  #ready = false;
  #timer: NodeJS.Timeout | undefined;
  #endReason: Failure | undefined;

  constructor(
    definition: FunctionDefinition,
    { variables, inspected, onLog }: FunctionsOptions,
    events: EnvironmentEvents,
  ) {
    this.definition = definition;
    this.#events = events;
    this.#onLine = (line) => onLog(definition.label, line);
    this.#hasTimeouts = inspected === undefined;
    const open = inspected === undefined ? startThread : inspected.open.bind(inspected);
    const { file, handler } = definition;
    const load = {
      file: pathToFileURL(file).href,
      handler,
      variables: { ...definition.variables, ...variables },
    };
    this.#runtime = open(
      load,
      {
        onMessage: (message) => this.#receive(message),
        onError: ({ name, message, stack }) => {
          this.#endReason = { errorType: name, errorMessage: message, trace: stack ?? '' };
          if (this.#ready) this.#onLine(stack ?? message);
        },
        onExit: (code) => this.#end(code),
      },
      definition.memoryMb,
    );
    this.#endAfter(initTimeoutMs, 'The function did not load within 10 s');
  }

  invoke({ event, traceId }: InvocationInput, finish: (result: InvocationResult) => void): void {
    const { timeoutMs, arn: functionArn } = this.definition;
    const requestId = randomUUID();
    this.#finish = finish;
    const seconds = (timeoutMs / 1000).toFixed(2);
    this.#endAfter(timeoutMs, `RequestId: ${requestId} Error: Task timed out after ${seconds} seconds`);
    const deadline = this.#hasTimeouts ? Date.now() + timeoutMs : undefined;
    this.#runtime.invoke({ requestId, event, timeoutMs, deadline, functionArn, traceId });
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
        this.#ready = true;
        this.#events.onReady();
        return;
      case 'loadFailed':
        this.#endReason = message.failure;
        void this.#runtime.end();
        return;
      case 'succeeded':
        this.#end(0, checkedResult(message.payload));
        return;
      case 'failed':
        this.#end(0, { ok: false, ...message.failure });
    }
  }

  /** Of the invocation with a result, without one of the environment. */
  #end(exitCode: number, result?: InvocationResult): void {
    clearTimeout(this.#timer);
    const finish = this.#finish;
    this.#finish = undefined;
    if (result !== undefined) {
      finish?.(result);
      if (finish !== undefined) this.#events.onIdle();
      return;
    }
    const how = exitCode === 0 ? 'without providing a reason' : `with error: exit status ${exitCode}`;
    const failure = this.#endReason ?? {
      errorType: 'Runtime.ExitError',
      errorMessage: `Runtime exited ${how}`,
    };
    this.#events.onEnd(this.#ready ? undefined : failure);
    finish?.({ ok: false, ...failure });
  }

  #endAfter(milliseconds: number, errorMessage: string): void {
    if (!this.#hasTimeouts) return;
    this.#timer = setTimeout(() => {
      this.#endReason = { errorType: 'Sandbox.Timedout', errorMessage };
      if (this.#ready) this.#onLine(`${new Date().toISOString()} ${errorMessage}`);
      void this.#runtime.end();
    }, milliseconds);
  }
}

function checkedResult(payload: string): InvocationResult {
  const size = Buffer.byteLength(payload);
  if (size <= largestPayload) return { ok: true, payload };
  return failed(
    'Function.ResponseSizeTooLarge',
    `Response payload size (${size} bytes) exceeded maximum allowed payload size (${largestPayload} bytes).`,
  );
}

interface Runtime {
  readonly invoke: (invocation: Omit<Invocation, 'id'>) => void;
  /** Resolves when it has ended. */
  readonly end: () => Promise<unknown>;
}
interface RuntimeEvents {
  readonly onMessage: (message: FromRuntime) => void;
  readonly onError: (error: Error) => void;
  readonly onExit: (code: number) => void;
}

const runtimeModule = new URL('function-runtime.ts', import.meta.url);

/** Separate environment variables, modules and memory limit. */
function startThread(
  load: Omit<Load, 'id'>,
  { onMessage, onError, onExit }: RuntimeEvents,
  memoryMb: number,
): Runtime {
  const worker = new Worker(runtimeModule, {
    env: { ...load.variables },
    execArgv: [], // not those of this process
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  const onLine = (line: string): void => onMessage({ id: 0, type: 'line', line });
  eachLine(worker.stdout, onLine);
  eachLine(worker.stderr, onLine);
  worker.on('message', onMessage);
  worker.on('error', onError);
  worker.on('exit', onExit);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  const send = (message: Load | Invocation): void => worker.postMessage(message);
  send({ ...load, id: 0 });
  return {
    invoke: (invocation) => send({ ...invocation, id: 0 }),
    end: () => worker.terminate(),
  };
}

/** Calls back for each line of a stream, also for a last line without a line feed. */
function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
  });
}

const startTimeoutMs = 20_000;

/**
 * A process that runs all functions in its main thread, under the Node.js inspector, so that one debugger session covers all
 * code, also replaced code. When a function ends the process, the next invocation restarts it on the same port. While a
 * debugger holds it, the service itself goes on.
 *
 * https://nodejs.org/en/learn/getting-started/debugging
 */
export class InspectedProcess {
  readonly #port: number;
  readonly #onProgress: (message: string) => void;
  readonly #events = new Map<number, RuntimeEvents>();
  #child: ChildProcess | undefined;
  #lastId = 0;
  #url: string | undefined;
  readonly #started = Promise.withResolvers<string>();

  /** @param port of the inspector on 127.0.0.1; any free one when 0 */
  constructor(port: number, onProgress: (message: string) => void) {
    this.#port = port;
    this.#onProgress = onProgress;
  }

  /** `ws://127.0.0.1:PORT/ID`, for a debugger. @throws Error when the inspector does not start */
  async url(): Promise<string> {
    this.#process();
    const error = new Error(`The inspected process did not start within ${startTimeoutMs / 1000} s.`);
    const timer = setTimeout(() => this.#started.reject(error), startTimeoutMs);
    return this.#started.promise.finally(() => clearTimeout(timer));
  }

  /** Loads a function in the process, without a memory limit and without the time-outs that the template sets for calls. */
  open({ variables, ...load }: Omit<Load, 'id'>, events: RuntimeEvents): Runtime {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#events.set(id, events);
    const child = this.#process();
    const isTimeout = (name: string) => name.endsWith('_TIMEOUT_MS');
    const patient = Object.entries(variables).map(([name, value]) => [
      name,
      isTimeout(name) ? '86400000' : value,
    ]);
    child.send({ ...load, id, variables: Object.fromEntries(patient) as Record<string, string> });
    return {
      invoke: (invocation) => void child.send({ ...invocation, id }),
      end: async () => {
        if (this.#events.delete(id)) events.onExit(0);
      },
    };
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  #process(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    // A debugger reconnects to the same port after a restart.
    const port = this.#url === undefined ? this.#port : new URL(this.#url).port;
    const child = fork(runtimeModule, {
      execArgv: [`--inspect=127.0.0.1:${port}`],
      env: { TZ: ':UTC' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true, // outside the process group that gets Ctrl-C: it ends with the service
    });
    this.#child = child;
    let output = '';
    eachLine(child.stdout!, (line) => this.#onProgress(withoutControls(line)));
    eachLine(child.stderr!, (line) => {
      output += `${line}\n`;
      const url = /^Debugger listening on (\S+)$/.exec(line)?.[1];
      if (url !== undefined) {
        this.#url = url;
        this.#started.resolve(url);
      } else if (line.includes('address already in use')) {
        // Node.js goes on without an inspector.
        this.#started.reject(new Error(inspectorPortInUse(this.#port)));
      } else if (
        this.#url !== undefined &&
        !/^(?:Debugger |For help, see|Waiting for the debugger)/.test(line)
      ) {
        // Such as an uncaught error, which ends the process.
        this.#onProgress(withoutControls(line));
      }
    });
    child.on('message', (message: FromRuntime) => this.#events.get(message.id)?.onMessage(message));
    child.on('exit', (code) => {
      this.#child = undefined;
      this.#started.reject(new Error(`The inspected process ended: ${output.trim()}`));
      const ended = [...this.#events.values()];
      this.#events.clear();
      for (const { onExit } of ended) onExit(code ?? 1);
    });
    return child;
  }
}

export function inspectorPortInUse(port: number): string {
  return `Port ${port} for the debugger is in use. Stop the process that listens on it, or choose another one with --inspect=PORT.`;
}
