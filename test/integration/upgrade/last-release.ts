import { spawnSync } from 'node:child_process';

const git = (...args: string[]) => {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
};

/** The tag of the last release before this commit, such as `v1.0.0`. */
export const lastRelease = git('describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*')?.trim();
if (lastRelease === undefined)
  console.warn(
    'The comparison with the last release is skipped: this clone has no tag v* before this commit.',
  );

/** A file of the last release. @throws Error if it had none */
export function fileOfLastRelease(path: string): string {
  const text = git('show', `${lastRelease}:${path}`);
  if (text === undefined) throw new Error(`${lastRelease} has no ${path}`);
  return text;
}
