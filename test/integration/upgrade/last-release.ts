import { spawnSync } from 'node:child_process';

function git(folder: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

/** The tag of the last release before this commit, such as `v1.0.0`. A release is compared with the one before it. */
export function lastReleaseOf(folder: string): string | undefined {
  return git(folder, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^')?.trim();
}

export const lastRelease = lastReleaseOf('.');
if (lastRelease === undefined)
  console.warn(
    'The comparison with the last release is skipped: this clone has no tag v* before this commit.',
  );

/** A file of the last release. @throws Error if it had none */
export function fileOfLastRelease(path: string): string {
  const text = git('.', 'show', `${lastRelease}:${path}`);
  if (text === undefined) throw new Error(`${lastRelease} has no ${path}`);
  return text;
}
