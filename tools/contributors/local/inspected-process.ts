import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { FromRuntime, Load } from './function-runtime.ts';
import { eachLine, type Runtime, type RuntimeEvents, runtimeModule } from './function-thread.ts';
import { withoutControls } from './readable.ts';

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
