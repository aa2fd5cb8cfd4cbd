import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { eachLine, withoutControls } from '../system/lines.ts';
import { moduleBeside } from '../system/own-module.ts';
import type { FromRuntime, Runtime, RuntimeEvents, RuntimeSettings } from './protocol.ts';

/** A message or a line of one of the functions in the process. */
interface FromProcess {
  readonly id: number;
  readonly line?: string;
  readonly message?: FromRuntime;
}

const startTimeoutMs = 20_000;

/**
 * A process that runs all functions in its main thread, under the Node.js inspector, so that one debugger session
 * covers all code, also replaced code. When a function ends the process, the next invocation restarts it on the same
 * inspector port.
 *
 * https://nodejs.org/en/learn/getting-started/debugging
 */
export class InspectedProcess {
  readonly #port: number;
  readonly #onProgress: (message: string) => void;
  readonly #functions = new Map<number, RuntimeEvents>();
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
    const timer = setTimeout(
      () => this.#started.reject(new Error('The inspected process did not start within 20 s.')),
      startTimeoutMs,
    );
    try {
      return await this.#started.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Loads a function in the process, without a memory limit. */
  open(
    settings: RuntimeSettings,
    variables: Readonly<Record<string, string>>,
    events: RuntimeEvents,
  ): Runtime {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#functions.set(id, events);
    const child = this.#process();
    child.send({ id, settings, variables });
    return {
      send: (invocation) => void child.send({ id, invocation }),
      end: async () => {
        if (this.#functions.delete(id)) events.onExit(0);
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
    const child = fork(moduleBeside(import.meta.url, 'inspected-main'), {
      execArgv: [`--inspect=127.0.0.1:${port}`],
      env: {},
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true, // outside the process group that gets Ctrl-C: it ends with the service
    });
    this.#child = child;
    let output = '';
    const onLine = (line: string): void => {
      output += `${line}\n`;
      // Node.js goes on without an inspector.
      if (/^Starting inspector on .* failed: address already in use/.test(line)) {
        this.#started.reject(new Error(inspectorPortInUse(this.#port)));
      }
      const url = /^Debugger listening on (\S+)$/.exec(line)?.[1];
      if (url === undefined) {
        // Such as an uncaught error, which ends the process.
        const isOfInspector = /^(?:Debugger |For help, see|Waiting for the debugger)/.test(line);
        if (this.#url !== undefined && !isOfInspector) this.#onProgress(withoutControls(line));
        return;
      }
      this.#url = url;
      this.#started.resolve(url);
    };
    if (child.stdout !== null) eachLine(child.stdout, (line) => this.#onProgress(withoutControls(line)));
    if (child.stderr !== null) eachLine(child.stderr, onLine);
    child.on('message', ({ id, line, message }: FromProcess) => {
      const events = this.#functions.get(id);
      if (line !== undefined) events?.onLine(line);
      if (message !== undefined) events?.onMessage(message);
    });
    child.on('exit', (code) => {
      this.#child = undefined;
      this.#started.reject(new Error(`The inspected process ended: ${output.trim()}`));
      const ended = [...this.#functions.values()];
      this.#functions.clear();
      for (const { onExit } of ended) onExit(code ?? 1);
    });
    return child;
  }
}

export function inspectorPortInUse(port: number): string {
  return `Port ${port} for the debugger is in use. Stop the process that listens on it, or choose another one with --inspect=PORT.`;
}
