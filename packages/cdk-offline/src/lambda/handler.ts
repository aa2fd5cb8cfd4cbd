import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Failure, FromRuntime, Invocation, RuntimeSettings } from './protocol.ts';

/**
 * Loads and calls a handler as Lambda's Node.js runtime does.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 */

export type Handler = (event: unknown, context: unknown) => unknown;
type CallbackHandler = (event: unknown, context: unknown, callback: Callback) => unknown;
type Callback = (error?: unknown, result?: unknown) => void;

/** Runs one invocation. */
export async function runInvocation(handler: Handler, invocation: Invocation): Promise<FromRuntime> {
  const { requestId, traceId } = invocation;
  process.env['_X_AMZN_TRACE_ID'] = traceId;
  try {
    const result: unknown = await handler(JSON.parse(invocation.event), contextOf(invocation));
    return { type: 'succeeded', requestId, payload: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    const failure = toFailure(error);
    console.error('Invoke Error', JSON.stringify(loggedFailure(error)));
    return { type: 'failed', requestId, failure };
  }
}

/** The major version of Node.js of a runtime such as `nodejs24.x`. */
function nodeMajor(runtime: string): number {
  return Number(/^nodejs(\d+)/.exec(runtime)?.[1] ?? 0);
}

/** The handler's name is `PATH.EXPORT`, the path without an extension. */
export async function loadHandler({
  taskRoot,
  handler: name,
  runtime,
}: Pick<RuntimeSettings, 'taskRoot' | 'handler' | 'runtime'>): Promise<Handler> {
  const [, file, path] = /^((?:.*\/)?[^./]*)\.(.+)$/.exec(name) ?? [];
  if (file === undefined || path === undefined) throw runtimeError('MalformedHandlerName', 'Bad handler');
  let found: unknown = await importModule(join(taskRoot, file), name);
  for (const part of path.split('.')) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined;
  }
  if (typeof found !== 'function') {
    throw runtimeError('HandlerNotFound', `${name} is undefined or not exported`);
  }
  if (nodeMajor(runtime) < 24) return withCallback(found as CallbackHandler);
  if (found.length >= 3) {
    const message =
      'AWS Lambda has removed support for callback-based function handlers starting with Node.js 24';
    throw runtimeError('CallbackHandlerDeprecated', message);
  }
  return found as Handler;
}

/**
 * The callback, the functions of the context and the result of the handler, of which the first counts. A result that is
 * no thenable does not count.
 *
 * https://github.com/aws/aws-lambda-nodejs-runtime-interface-client/blob/v3.3.0/src/CallbackContext.js
 */
function withCallback(handler: CallbackHandler): Handler {
  return (event, context) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const done: Callback = (error, answer) => {
      if (error === undefined || error === null) resolve(answer);
      else reject(error);
    };
    const succeed = (answer?: unknown): void => resolve(answer);
    const fail = (error?: unknown): void => reject(error ?? 'handled');
    const result = handler(event, Object.assign(Object(context), { done, succeed, fail }), done);
    if (isThenable(result)) resolve(result);
    return promise;
  };
}

function isThenable(value: unknown): boolean {
  return typeof Reflect.get(Object(value ?? {}), 'then') === 'function';
}

async function importModule(path: string, name: string): Promise<unknown> {
  for (const extension of ['', '.js', '.mjs', '.cjs']) {
    if (!existsSync(path + extension)) continue;
    const module = await importFile(path + extension);
    // Node.js does not detect every named export of a CommonJS module.
    const { default: fallback } = module;
    return typeof fallback === 'object' && fallback !== null ? { ...fallback, ...module } : module;
  }
  throw runtimeError('ImportModuleError', `Cannot find module '${name}'${uncompiled(path)}`);
}

/** The end of the message for a module that cannot be found: whether its TypeScript is there. */
function uncompiled(path: string): string {
  const source = ['.ts', '.mts', '.cts']
    .map((extension) => path.replace(/\.[cm]?js$/, '') + extension)
    .find((each) => existsSync(each));
  if (source === undefined) return '';
  return `. The asset has ${basename(source)}, which is not compiled: compile it before the synthesis, or use NodejsFunction of the CDK`;
}

async function importFile(path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    const missing = error instanceof Error ? missingFile(error) : undefined;
    if (error instanceof Error && missing !== undefined) error.message += uncompiled(missing);
    throw error;
  }
}

/** The file of a relative import that does not exist. */
function missingFile(error: Error): string | undefined {
  if ('url' in error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') {
    return URL.canParse(String(error.url)) ? fileURLToPath(String(error.url)) : undefined;
  }
  const [, specifier] = /^Cannot find module '(\.[^']*)'/.exec(error.message) ?? [];
  const [importer] = 'requireStack' in error && Array.isArray(error.requireStack) ? error.requireStack : [];
  return specifier === undefined || typeof importer !== 'string'
    ? undefined
    : join(dirname(importer), specifier);
}

function runtimeError(name: string, message: string): Error {
  return Object.assign(new Error(message), { name: `Runtime.${name}` });
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
function contextOf(invocation: Invocation): Record<string, unknown> {
  const { requestId: awsRequestId, functionArn, timeoutMs, deadline } = invocation;
  const { env } = process;
  return {
    awsRequestId,
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

/** As the runtime logs it, with the causes. */
function loggedFailure(error: unknown): object {
  const { trace, ...failure } = toFailure(error);
  const cause = error instanceof Error && error.cause !== undefined && loggedFailure(error.cause);
  return { ...failure, stack: trace, ...(cause !== false && { cause }) };
}

export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}
