import { Readable, Writable } from 'node:stream';
import type { Io } from '../../tools/operator/output.ts';
import type { Seams } from '../../tools/operator/program.ts';

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions extends Seams {
  /** What is typed or piped in. */
  readonly input?: string;
  /** Whether a person sits there. */
  readonly interactive?: boolean;
}

type Tool = (args: readonly string[], io: Io, seams: Seams) => Promise<number>;

/** Runs a tool of the operator in this process, as `npm run` would. */
export async function runInProcess(
  tool: Tool,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  const { stdout, stderr, ended } = startInProcess(tool, args, options);
  const exitCode = await ended;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

/** Starts a run of a tool. Its output can be looked at before it ends. */
export function startInProcess(tool: Tool, args: readonly string[], options: RunOptions = {}) {
  const { input = '', interactive = false, ...given } = options;
  // Nothing waits in tests.
  const seams = { sleep: async () => {}, ...given };
  const out = collector();
  const err = collector();
  const io = { stdin: Readable.from([input]), stdout: out.stream, stderr: err.stream, interactive };
  return { stdout: out.text, stderr: err.text, ended: tool(args, io, seams) };
}

/** Starts a run that stops for good after so many steps, as if its process was killed, and waits until it does. */
export async function crashInProcess(
  tool: Tool,
  args: readonly string[],
  steps: number,
  options: RunOptions = {},
): Promise<ReturnType<typeof startInProcess>> {
  const reached = Promise.withResolvers<void>();
  let done = 0;
  const afterStep = () => {
    done += 1;
    if (done < steps) return undefined;
    reached.resolve();
    return new Promise<void>(() => {});
  };
  const run = startInProcess(tool, args, { ...options, afterStep });
  await Promise.race([
    reached.promise,
    run.ended.then(() => Promise.reject(new Error('It ended by itself'))),
  ]);
  return run;
}

function collector(): { readonly stream: Writable; readonly text: () => string } {
  let text = '';
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      done();
    },
  });
  return { stream, text: () => text };
}
