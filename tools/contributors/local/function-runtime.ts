import { setSourceMapsSupport } from 'node:module';
import { format } from 'node:util';
import { parentPort } from 'node:worker_threads';

/**
 * Runs functions as Lambda's Node.js runtime does, one invocation at a time: in the thread of one execution environment, or in the
 * process under the inspector, which has all functions. https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 */

export interface Failure {
  readonly errorType: string;
  readonly errorMessage: string;
  /** Of code that cannot be loaded. */
  readonly trace?: string;
}

export interface Load {
  /** Of the environment. */
  readonly id: number;
  /** URL of the module. */
  readonly file: string;
  readonly handler: string;
  /** Environment variables. */
  readonly variables: Readonly<Record<string, string>>;
}

export interface Invocation {
  readonly id: number;
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

export type FromRuntime = { readonly id: number } & (
  | { readonly type: 'ready' }
  | { readonly type: 'loadFailed' | 'failed'; readonly failure: Failure }
  /** JSON. */
  | { readonly type: 'succeeded'; readonly payload: string }
  | { readonly type: 'line'; readonly line: string }
);

type Handler = (event: unknown, context: unknown) => unknown;
const loaded = new Map<number, { readonly handler: Handler; readonly variables: Load['variables'] }>();
/** What runs now. */
let current: { readonly id: number; readonly requestId?: string | undefined } = { id: 0 };

const send = (message: FromRuntime): void => {
  if (parentPort === null) process.send?.(message);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  else parentPort.postMessage(message);
};

setSourceMapsSupport(true);
patchConsole();
let last = Promise.resolve();
(parentPort ?? process).on('message', (message: Load | Invocation) => {
  last = last.then(async () => {
    current = message;
    send(await ('event' in message ? run(message) : load(message)));
  });
});
if (parentPort === null) {
  process.on('disconnect', () => process.exit());
  for (const stream of [process.stdout, process.stderr])
    stream.write = (chunk: string | Uint8Array): boolean => {
      const lines = Buffer.from(chunk).toString().split('\n');
      for (const line of lines) if (line !== '') send({ id: current.id, type: 'line', line });
      return true;
    };
}

async function load({ id, file, handler: name, variables }: Load): Promise<FromRuntime> {
  Object.assign(process.env, variables);
  try {
    const module = (await import(file)) as Record<string, Handler>;
    const handler = module[name];
    if (typeof handler !== 'function') {
      const errorMessage = `${name} is undefined or not exported`;
      return { id, type: 'loadFailed', failure: { errorType: 'Runtime.HandlerNotFound', errorMessage } };
    }
    loaded.set(id, { handler, variables });
    return { id, type: 'ready' };
  } catch (error) {
    return { id, type: 'loadFailed', failure: failureOf(error) };
  }
}

async function run({ id, ...invocation }: Invocation): Promise<FromRuntime> {
  const { handler, variables } = loaded.get(id)!;
  if (loaded.size > 1) Object.assign(process.env, variables);
  process.env['_X_AMZN_TRACE_ID'] = invocation.traceId;
  try {
    const result: unknown = await handler(JSON.parse(invocation.event), contextOf(invocation));
    return { id, type: 'succeeded', payload: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    console.error('Invoke Error', JSON.stringify(loggedFailure(error)));
    return { id, type: 'failed', failure: failureOf(error) };
  }
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
function contextOf({
  requestId: awsRequestId,
  functionArn: invokedFunctionArn,
  timeoutMs,
  deadline,
}: Omit<Invocation, 'id'>): object {
  const { env } = process;
  return {
    awsRequestId,
    invokedFunctionArn,
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
    const print = (message?: unknown, ...parameters: unknown[]): void => {
      const lowest = process.env['AWS_LAMBDA_LOG_LEVEL'] ?? 'TRACE';
      if (order.indexOf(level) < order.indexOf(lowest)) return;
      const head = { timestamp: new Date().toISOString(), level, requestId: current.requestId };
      process.stdout.write(`${jsonLine(head, message, parameters).replaceAll('\n', '\r')}\n`);
    };
    Object.assign(console, { [method]: print });
  }
}

function jsonLine(head: object, message: unknown, parameters: readonly unknown[]): string {
  if (parameters.length === 0) {
    try {
      return JSON.stringify({ ...head, message }, (_, value: unknown) =>
        value instanceof Error
          ? { ...errorFields(value), ...Object.fromEntries(Object.entries(value)) }
          : value,
      );
    } catch {
      return JSON.stringify({ ...head, message: format(message) });
    }
  }
  const error = parameters.find((parameter) => parameter instanceof Error);
  const text = format(message, ...parameters);
  return JSON.stringify({ ...head, message: text, ...(error && errorFields(error)) });
}

function errorFields({ constructor, message: errorMessage, stack = '' }: Error): object {
  return { errorType: constructor.name, errorMessage, stackTrace: stack.split('\n') };
}
