import { Readable, Writable } from 'node:stream';
import { runKeys } from '../../../tools/keys/cli.ts';
import type { Seams } from '../../../tools/operator/program.ts';

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

/** Runs the key tool in this process, as `npm run keys -- ...` would. */
export async function keys(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  const { stdout, stderr, ended } = startKeys(args, options);
  const exitCode = await ended;
  return { exitCode, stdout: stdout(), stderr: stderr() };
}

/** Starts a run of the key tool. Its output can be looked at before it ends. */
export function startKeys(args: readonly string[], options: RunOptions = {}) {
  const { input = '', interactive = false, ...given } = options;
  // Nothing waits in tests.
  const seams = { sleep: async () => {}, ...given };
  const out = collector();
  const err = collector();
  const io = { stdin: Readable.from([input]), stdout: out.stream, stderr: err.stream, interactive };
  return { stdout: out.text, stderr: err.text, ended: runKeys(args, io, seams) };
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
