import { spawnSync } from 'node:child_process';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/*
 * The commit whose functions run beside those of the work tree, as while a deployment shifts traffic: the value of the variable
 * EARLIER, else the newest release, else the commit from which the branch left main.
 */

/** A commit, as a person names it: `v1.0.0`. Or why no other version runs. */
type Earlier = { readonly commit: string } | { readonly reason: string };

function git(folder: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

/** The tag of the newest release before this commit, such as `v1.0.0`. A release is compared with the one before it. */
export function lastReleaseOf(folder: string): string | undefined {
  return git(folder, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD^');
}

/** Where the branch left main: on main itself, the newest commit. */
function startOfBranch(folder: string): string | undefined {
  const start = git(folder, 'merge-base', 'HEAD', 'origin/main') ?? git(folder, 'merge-base', 'HEAD', 'main');
  return start?.slice(0, 12);
}

/** What a change is compared with: the newest release, else the commit from which the branch left main. */
function baseOf(folder: string): string | undefined {
  return lastReleaseOf(folder) ?? startOfBranch(folder);
}

/**
 * @param given the value of EARLIER
 * @throws Error if it is no commit
 */
export function findEarlier(folder: string, given = ''): Earlier {
  if (given !== '' && git(folder, 'rev-parse', '--verify', '--quiet', `${given}^{commit}`) === undefined)
    throw new Error(
      `EARLIER must be a commit or tag of this clone (got "${given}"). ` +
        'A shallow clone lacks most commits: run "git fetch --unshallow --tags".',
    );
  const commit = given || baseOf(folder);
  if (commit === undefined)
    return {
      reason: 'this clone has neither a release tag nor the branch main. Name a commit: EARLIER=COMMIT',
    };
  const isSame =
    git(folder, 'diff', '--quiet', commit, '--', 'functions') !== undefined &&
    git(folder, 'ls-files', '--others', '--exclude-standard', 'functions') === '';
  return isSame ? { reason: `functions/ is the same in ${commit}` } : { commit };
}

/** Whether a commit has other packages. Its functions run with those of the work tree. */
export function hasOtherPackages(folder: string, commit: string): boolean {
  return git(folder, 'diff', '--quiet', commit, '--', 'package-lock.json') === undefined;
}

/** A new folder with the functions of a commit, what they answer, and the packages of the work tree. */
export function checkOut(folder: string, commit: string): string {
  const target = mkdtempSync(join(tmpdir(), 'earlier-'));
  const archive = join(target, 'functions.tar');
  const isExtracted =
    git(folder, 'archive', '--output', archive, commit, 'functions', 'tsconfig.json', 'docs/openapi.yaml') !==
      undefined && spawnSync('tar', ['-xf', 'functions.tar'], { cwd: target }).status === 0;
  if (!isExtracted) throw new Error(`"git archive" and "tar" could not extract the functions of ${commit}.`);
  symlinkSync(join(folder, 'node_modules'), join(target, 'node_modules'), 'junction');
  return target;
}
