import { Worker } from 'node:worker_threads';
import { eachLine } from '../system/lines.ts';
import { moduleBeside } from '../system/own-module.ts';
import type { Runtime, RuntimeEvents, RuntimeSettings } from './protocol.ts';

/** Runs a function in a thread with separate environment variables, modules and memory limit. */
export function startThread(
  settings: RuntimeSettings,
  variables: Readonly<Record<string, string>>,
  { onMessage, onLine, onError, onExit }: RuntimeEvents,
  memoryMb: number,
): Runtime {
  const worker = new Worker(moduleBeside(import.meta.url, 'thread-main'), {
    workerData: settings,
    env: { ...variables },
    execArgv: [], // not those of this process
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  eachLine(worker.stdout, onLine);
  eachLine(worker.stderr, onLine);
  worker.on('message', onMessage);
  worker.on('error', onError);
  worker.on('exit', onExit);
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    send: (invocation) => worker.postMessage(invocation),
    end: () => worker.terminate(),
  };
}
