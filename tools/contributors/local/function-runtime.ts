import { url as inspectorUrl } from 'node:inspector';
import { setSourceMapsSupport } from 'node:module';
import { format } from 'node:util';
import { parentPort } from 'node:worker_threads';

/**
 * Runs functions as Lambda's Node.js runtime does, one invocation at a time: one function in the thread of an execution
 * environment, or all of them in the process under the inspector. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 */

export interface Failure {
  readonly errorType: string;
  readonly errorMessage: string;
  /** Of code that cannot be loaded. */
  readonly trace?: string;
}

export type InvocationResult =
  { readonly ok: true; /** JSON. */ readonly payload: string } | ({ readonly ok: false } & Failure);

/** What to do next. */
export interface Task {
  /** URL of the module. */
  readonly file: string;
  readonly handler: string;
  /** Environment variables. */
  readonly variables: Readonly<Record<string, string>>;
  /** When absent the code is only loaded. */
  readonly invocation: Invocation | undefined;
}

interface Invocation {
  readonly requestId: string;
  /** JSON. */
  readonly event: string;
  readonly timeoutMs: number;
  /** Milliseconds since the Unix epoch; `undefined` without a time-out. */
  readonly deadline: number | undefined;
  readonly functionArn: string;
  /** The value of `_X_AMZN_TRACE_ID`. */
  readonly traceId: string;
}

export type FromRuntime =
  | { readonly type: 'started'; readonly inspectorUrl: string | undefined }
  | { readonly type: 'done'; readonly result: InvocationResult }
  | { readonly type: 'crashed'; readonly failure: Failure }
  | { readonly type: 'line'; readonly line: string };

type Handler = (event: unknown, context: unknown) => unknown;
/** What runs now, or ran last. */
let current: Task | undefined;

const send = (message: FromRuntime): void => {
  if (parentPort === null) process.send?.(message);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  else parentPort.postMessage(message);
};

setSourceMapsSupport(true);
patchConsole();
for (const stream of [process.stdout, process.stderr])
  stream.write = (chunk: string | Uint8Array): boolean => {
    const lines = Buffer.from(chunk).toString().split('\n');
    for (const line of lines) if (line !== '') send({ type: 'line', line });
    return true;
  };
// It ends what it runs in.
process.on('uncaughtException', (error) => send({ type: 'crashed', failure: failureOf(error) }));
if (parentPort === null) process.on('disconnect', () => process.exit());
(parentPort ?? process).on('message', (task: Task) => {
  void perform(task).then((result) => send({ type: 'done', result }));
});
send({ type: 'started', inspectorUrl: inspectorUrl() });

async function perform(task: Task): Promise<InvocationResult> {
  Object.assign(process.env, task.variables);
  current = task;
  let handler: Handler | undefined;
  try {
    handler = ((await import(task.file)) as Record<string, Handler>)[task.handler];
  } catch (error) {
    return { ok: false, ...failureOf(error) };
  }
  if (typeof handler !== 'function') {
    const errorMessage = `${task.handler} is undefined or not exported`;
    return { ok: false, errorType: 'Runtime.HandlerNotFound', errorMessage };
  }
  const { invocation } = task;
  if (invocation === undefined) return { ok: true, payload: '' };
  process.env['_X_AMZN_TRACE_ID'] = invocation.traceId;
  try {
    const result: unknown = await handler(JSON.parse(invocation.event), contextOf(invocation));
    return { ok: true, payload: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    console.error('Invoke Error', JSON.stringify(loggedFailure(error)));
    return { ok: false, ...failureOf(error) };
  }
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
function contextOf({ requestId, functionArn, timeoutMs, deadline }: Invocation): object {
  const { env } = process;
  return {
    awsRequestId: requestId,
    invokedFunctionArn: functionArn,
    functionName: env['AWS_LAMBDA_FUNCTION_NAME'],
    functionVersion: env['AWS_LAMBDA_FUNCTION_VERSION'],
    memoryLimitInMB: env['AWS_LAMBDA_FUNCTION_MEMORY_SIZE'],
    logGroupName: env['AWS_LAMBDA_LOG_GROUP_NAME'],
    logStreamName: env['AWS_LAMBDA_LOG_STREAM_NAME'],
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => (deadline === undefined ? timeoutMs : deadline - Date.now()),
  };
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error) };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack ?? '' };
}

/** As the runtime logs it, with the causes. */
function loggedFailure(error: unknown): object {
  const { trace = '', ...failure } = failureOf(error);
  const cause = error instanceof Error && error.cause !== undefined && loggedFailure(error.cause);
  return { ...failure, stack: trace.split('\n'), ...(cause !== false && { cause }) };
}

/** Makes each call write one line of JSON. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html */
function patchConsole(): void {
  const levels = { trace: 'TRACE', debug: 'DEBUG', info: 'INFO', log: 'INFO', warn: 'WARN', error: 'ERROR' };
  const order = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'];
  for (const [method, level] of Object.entries(levels)) {
    const print = (...parameters: unknown[]): void => {
      const lowest = process.env['AWS_LAMBDA_LOG_LEVEL'] ?? 'TRACE';
      if (order.indexOf(level) < order.indexOf(lowest)) return;
      const requestId = current?.invocation?.requestId;
      const head = { timestamp: new Date().toISOString(), level, requestId };
      process.stdout.write(`${jsonLine(head, parameters)}\n`);
    };
    Object.assign(console, { [method]: print });
  }
}

function jsonLine(head: object, parameters: readonly unknown[]): string {
  const [message, ...others] = parameters;
  const error = others.find((parameter) => parameter instanceof Error);
  const text = format(...parameters);
  try {
    return JSON.stringify(
      { ...head, message: others.length === 0 ? message : text, ...(error && errorFields(error)) },
      (_, value: unknown) => (value instanceof Error ? { ...errorFields(value), ...value } : value),
    );
  } catch {
    return JSON.stringify({ ...head, message: text });
  }
}

function errorFields({ constructor, message: errorMessage, stack = '' }: Error): object {
  return { errorType: constructor.name, errorMessage, stackTrace: stack.split('\n') };
}
