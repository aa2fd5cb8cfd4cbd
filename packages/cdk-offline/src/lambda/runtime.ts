import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { patchConsole } from './console.ts';
import type { Failure, FromRuntime, Invocation } from './protocol.ts';

/**
 * The thread of one execution environment: loads the handler once, then serves one invocation after the other, as
 * Lambda's Node.js runtime does.
 *
 * https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html
 */

type Handler = (event: unknown, context: unknown) => unknown;

const settings = z
  .object({
    taskRoot: z.string(),
    handler: z.string(),
    logFormat: z.enum(['JSON', 'Text']),
    logLevel: z.string().optional(),
  })
  .parse(workerData);
if (parentPort === null) throw new Error('This module runs in a thread of its own');
const port = parentPort;
const send = (message: FromRuntime): void => port.postMessage(message);

let requestId: string | undefined;
patchConsole(
  settings.logFormat,
  settings.logLevel,
  () => requestId,
  (line) => process.stdout.write(line),
);

try {
  const handler = await loadHandler(settings.taskRoot, settings.handler);
  port.on('message', (invocation: Invocation) => void serve(handler, invocation));
  send({ type: 'ready' });
} catch (error) {
  send({ type: 'initFailed', failure: toFailure(error) });
}

async function serve(handler: Handler, invocation: Invocation): Promise<void> {
  requestId = invocation.requestId;
  try {
    const result: unknown = await handler(JSON.parse(invocation.event), contextOf(invocation));
    // A handler that returns nothing answers with null.
    send({ type: 'succeeded', requestId, payload: JSON.stringify(result) ?? 'null' });
  } catch (error) {
    const failure = toFailure(error);
    console.error('Invoke Error', JSON.stringify({ ...failure, trace: undefined, stack: failure.trace }));
    send({ type: 'failed', requestId, failure });
  }
}

/** @param name `FILE.EXPORT`, the file without its extension, perhaps in a folder */
async function loadHandler(taskRoot: string, name: string): Promise<Handler> {
  const [, file, path] = /^((?:.*\/)?[^./]*)\.(.+)$/.exec(name) ?? [];
  if (file === undefined || path === undefined) {
    throw Object.assign(new Error('Bad handler'), { name: 'Runtime.MalformedHandlerName' });
  }
  let found: unknown = await importModule(join(taskRoot, file), name);
  for (const part of path.split('.')) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined;
  }
  if (typeof found !== 'function') {
    throw Object.assign(new Error(`${name} is undefined or not exported`), {
      name: 'Runtime.HandlerNotFound',
    });
  }
  if (found.length >= 3) {
    const message =
      'AWS Lambda has removed support for callback-based function handlers starting with Node.js 24';
    throw Object.assign(new Error(message), { name: 'Runtime.CallbackHandlerDeprecated' });
  }
  return found as Handler;
}

async function importModule(path: string, name: string): Promise<unknown> {
  for (const extension of ['', '.js', '.mjs', '.cjs']) {
    const exists = await access(path + extension).then(
      () => true,
      () => false,
    );
    if (!exists) continue;
    const module: Record<string, unknown> = await import(pathToFileURL(path + extension).href);
    // The exports of a CommonJS module are not always known by name.
    const { default: fallback } = module;
    return typeof fallback === 'object' && fallback !== null ? { ...fallback, ...module } : module;
  }
  throw Object.assign(new Error(`Cannot find module '${name}'`), { name: 'Runtime.ImportModuleError' });
}

/** https://docs.aws.amazon.com/lambda/latest/dg/nodejs-context.html */
function contextOf({ requestId: awsRequestId, functionArn, deadline }: Invocation): Record<string, unknown> {
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
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

function toFailure(error: unknown): Failure {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: (error.stack ?? '').split('\n') };
}
