import { relative } from 'node:path';
import { TestRunner } from 'vitest';
import { isFullRun } from './rounds.ts';

/** The command that runs the current test alone. @param variables such as `SEED=7`, for what its repetitions draw */
export function howToRepeat(...variables: readonly string[]): string {
  const { fullTestName, file } = TestRunner.getCurrentTest()!;
  const { EARLIER: earlier } = process.env;
  const all = new Set([
    ...(isFullRun ? ['FULL=1'] : []),
    ...(earlier === undefined ? [] : [`EARLIER=${earlier}`]),
    ...variables,
  ]);
  const project = file.projectName ? ` --project ${file.projectName}` : '';
  const name = fullTestName.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`).replaceAll("'", '.');
  return `To repeat it: ${[...all].join(' ')} npx vitest run${project} ${relative('', file.filepath)} -t '^${name}$'`;
}
