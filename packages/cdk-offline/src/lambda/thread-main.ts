import { setSourceMapsSupport } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { keepFromAws } from './aws-guard.ts';
import { patchConsole } from './console.ts';
import { loadHandler, runInvocation, toFailure } from './handler.ts';
import type { FromRuntime, Invocation, RuntimeSettings } from './protocol.ts';
import { offerSdk } from './sdk.ts';

/** The thread of one execution environment. */

const settings: RuntimeSettings = workerData;
if (parentPort === null) throw new Error('This module must run in a worker thread');
const port = parentPort;
const send = (message: FromRuntime): void => port.postMessage(message);

setSourceMapsSupport(true);
keepFromAws();
offerSdk(settings.sdkFolders, (path) => send({ type: 'sdkUsed', path }));
let requestId: string | undefined;
patchConsole(
  () => settings.logFormat,
  () => settings.logLevel,
  () => requestId,
  (line) => process.stdout.write(line),
);

try {
  const handler = await loadHandler(settings);
  port.on('message', (invocation: Invocation) => {
    ({ requestId } = invocation);
    void runInvocation(handler, invocation).then(send);
  });
  send({ type: 'ready' });
} catch (error) {
  send({ type: 'initFailed', failure: toFailure(error) });
}
