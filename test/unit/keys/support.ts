import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { type Run, type RunOptions, runInProcess } from '../../support/run-in-process.ts';

/** Runs the key tool in this process, as `npm run keys -- ...` would. */
export function keys(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return runInProcess(runKeys, args, options);
}
