import { AsyncLocalStorage } from 'node:async_hooks';
import { setSourceMapsSupport } from 'node:module';
import { keepFromAws } from './aws-guard.ts';
import { patchConsole } from './console.ts';
import { type Handler, loadHandler, runInvocation, toFailure } from './handler.ts';
import { suspendTimersWhileHeld } from './held-timers.ts';
import type { FromRuntime, Invocation, RuntimeSettings } from './protocol.ts';
import { offerSdk } from './sdk.ts';

/**
 * The process under the inspector: runs all functions in one thread. The asynchronous context gives each function its
 * environment variables and identifies its log lines.
 */

interface Load {
  readonly id: number;
  readonly settings: RuntimeSettings;
  readonly variables: Record<string, string>;
}

interface Invoke {
  readonly id: number;
  readonly invocation: Invocation;
}

interface FunctionContext {
  readonly id: number;
  readonly variables: Record<string, string>;
  readonly settings: RuntimeSettings;
  requestId: string | undefined;
}

const contexts = new AsyncLocalStorage<FunctionContext>();
let isSdkOffered = false;
const handlers = new Map<number, { readonly context: FunctionContext; readonly handler: Handler }>();
const send = (id: number, message: FromRuntime): void => void process.send?.({ id, message });

setSourceMapsSupport(true);
keepFromAws();
suspendTimersWhileHeld();
const own = process.env;
const current = (): Record<string, string | undefined> => contexts.getStore()?.variables ?? own;
process.env = new Proxy(own, {
  get: (_, name: string) => current()[name],
  set: (_, name: string, value) => Reflect.set(current(), name, String(value)),
  has: (_, name) => Reflect.has(current(), name),
  deleteProperty: (_, name) => Reflect.deleteProperty(current(), name),
  ownKeys: () => Reflect.ownKeys(current()),
  getOwnPropertyDescriptor: (_, name: string) =>
    Reflect.has(current(), name)
      ? { value: current()[name], writable: true, enumerable: true, configurable: true }
      : undefined,
});

const writeLines = (text: string): void => {
  const id = contexts.getStore()?.id ?? 0;
  for (const line of text.split('\n')) if (line !== '') process.send?.({ id, line });
};
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    if (contexts.getStore() === undefined) return Reflect.apply(write, stream, [chunk, ...rest]) as boolean;
    writeLines(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return true;
  };
}
patchConsole(
  () => contexts.getStore()?.settings.logFormat ?? 'Text',
  () => contexts.getStore()?.settings.logLevel,
  () => contexts.getStore()?.requestId,
  writeLines,
);

process.on('message', (message: Load | Invoke) => {
  if ('invocation' in message) void run(message);
  else void start(message);
});
process.on('disconnect', () => process.exit());

async function start({ id, settings, variables }: Load): Promise<void> {
  const context: FunctionContext = { id, settings, variables, requestId: undefined };
  offerSdkOnce(settings);
  try {
    const handler = await contexts.run(context, () => loadHandler(settings));
    handlers.set(id, { context, handler });
    send(id, { type: 'ready' });
  } catch (error) {
    send(id, { type: 'initFailed', failure: toFailure(error) });
  }
}

/** Every function gets the same folders. */
function offerSdkOnce({ sdkFolders }: RuntimeSettings): void {
  if (isSdkOffered) return;
  isSdkOffered = true;
  offerSdk(sdkFolders, (path) => send(contexts.getStore()?.id ?? 0, { type: 'sdkUsed', path }));
}

async function run({ id, invocation }: Invoke): Promise<void> {
  const found = handlers.get(id);
  if (found === undefined) return;
  const { context, handler } = found;
  context.requestId = invocation.requestId;
  send(id, await contexts.run(context, () => runInvocation(handler, invocation)));
}
