import { PassThrough, Readable, Writable } from 'node:stream';
import type { RunTool, ToolHooks } from '../../tools/operators/command-line/program.ts';

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions extends ToolHooks {
  /** What is piped in, or typed: an answer to each question. */
  readonly input?: string | readonly string[];
  /** Whether a person sits there. */
  readonly interactive?: boolean;
}

/** Runs a tool of the operator in this process, as `npm run` would. */
export async function runInProcess(
  run: RunTool,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Run> {
  const { input = '', interactive = false, ...given } = options;
  // Nothing waits in tests.
  const hooks = { sleep: async () => {}, ...given };
  const answers = typeof input === 'string' ? [] : [...input];
  const stdin = typeof input === 'string' ? Readable.from([input]) : new PassThrough();
  const out = collector();
  const err = collector((text) => text.endsWith('[y/N] ') && stdin.push(answers.shift()));
  const io = { stdin, stdout: out.stream, stderr: err.stream, interactive };
  const exitCode = await run(args, io, hooks);
  return { exitCode, stdout: out.text(), stderr: err.text() };
}

function collector(onText: (text: string) => unknown = () => {}) {
  let text = '';
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk);
      done();
      onText(String(chunk));
    },
  });
  return { stream, text: () => text };
}
