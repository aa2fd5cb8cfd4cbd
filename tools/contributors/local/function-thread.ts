import type { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { FromRuntime, Invocation, Load } from './function-runtime.ts';

/** What runs function-runtime.ts: a thread, or the inspected process. */
export interface Runtime {
  readonly invoke: (invocation: Omit<Invocation, 'id'>) => void;
  /** Resolves when it has ended. */
  readonly end: () => Promise<unknown>;
}
export interface RuntimeEvents {
  readonly onMessage: (message: FromRuntime) => void;
  readonly onError: (error: Error) => void;
  readonly onExit: (code: number) => void;
}

export const runtimeModule = new URL('function-runtime.ts', import.meta.url);

/** Separate environment variables, modules and memory limit. */
export function startThread(
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
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
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
