import { PassThrough, Readable } from 'node:stream';
import { runKeys, type Seams } from '../../../tools/keys/cli.ts';

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
  const { input = '', interactive = false, ...seams } = options;
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const exitCode = await runKeys(args, { stdin: Readable.from([input]), stdout, stderr, interactive }, seams);
  return { exitCode, stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
}
