import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Failure, FromRuntime, Invocation } from './protocol.ts';

/**
 * Loads and calls a handler as Lambda's Node.js runtime does.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 */

export type Handler = (event: unknown, context: unknown) => unknown;

/** Runs one invocation. */
export async function runInvocation(handler: Handler, invocation: Invocation): Promise<FromRuntime> {
  const { requestId } = invocation;
  try {
    const result: unknown = await handler(JSON.parse(invocation.event), contextOf(invocation));
    return { type: 'succeeded', requestId, payload: JSON.stringify(result) ?? 'null' };
  } catch (error) {
    const failure = toFailure(error);
    console.error('Invoke Error', JSON.stringify({ ...failure, trace: undefined, stack: failure.trace }));
    return { type: 'failed', requestId, failure };
  }
}

/** @param name `PATH.EXPORT`, the path without an extension */
export async function loadHandler(taskRoot: string, name: string): Promise<Handler> {
  const [, file, path] = /^((?:.*\/)?[^./]*)\.(.+)$/.exec(name) ?? [];
  if (file === undefined || path === undefined) throw runtimeError('MalformedHandlerName', 'Bad handler');
  let found: unknown = await importModule(join(taskRoot, file), name);
  for (const part of path.split('.')) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined;
  }
  if (typeof found !== 'function') {
    throw runtimeError('HandlerNotFound', `${name} is undefined or not exported`);
  }
  if (found.length >= 3) {
    const message =
      'AWS Lambda has removed support for callback-based function handlers starting with Node.js 24';
    throw runtimeError('CallbackHandlerDeprecated', message);
  }
  return found as Handler;
}

async function importModule(path: string, name: string): Promise<unknown> {
  for (const extension of ['', '.js', '.mjs', '.cjs']) {
    if (!existsSync(path + extension)) continue;
    const module: Record<string, unknown> = await import(pathToFileURL(path + extension).href);
    // Node.js does not detect every named export of a CommonJS module.
    const { default: fallback } = module;
    return typeof fallback === 'object' && fallback !== null ? { ...fallback, ...module } : module;
  }
  throw runtimeError('ImportModuleError', `Cannot find module '${name}'`);
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

export function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}
