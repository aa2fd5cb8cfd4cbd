import { execFileSync } from 'node:child_process';
import { printable } from '../command-line/output.ts';

/** The output of git. Empty if it fails. */
export function git(...args: readonly string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}

/** A commit or tag as a full hash. Empty if this clone does not have it. */
export function hashOf(revision: string): string {
  return git('rev-parse', '--verify', `${revision}^{commit}`);
}

const changed = '-changed';

/** The version of the work tree, as the stack's output `Commit` has it. Empty outside of git. */
export function versionOfWorkTree(): string {
  const head = hashOf('HEAD');
  return head === '' || git('status', '--porcelain') === '' ? head : `${head}${changed}`;
}

/** The commit of a version. */
function commitOf(version: string): string {
  return version.replace(changed, '');
}

/** A version for operators: its short hash, date and subject. */
export function describeVersion(version: string): string {
  const text = printable(git('log', '-1', '--format=%h of %cs, %s', commitOf(version), '--') || version);
  return version.endsWith(changed) ? `${text}, with changes that are in no commit` : text;
}

/** What a version is to the live one. `unknown`: this clone does not have one of them. */
export type Age = 'same' | 'newer' | 'older' | 'apart' | 'unknown';

export function ageOf(version: string, live: string): Age {
  const [next, before] = [version, live].map((each) => hashOf(commitOf(each))) as [string, string];
  if (next === '' || before === '') return 'unknown';
  if (next === before) return 'same';
  const base = git('merge-base', next, before);
  if (base === before) return 'newer';
  return base === next ? 'older' : 'apart';
}

/** The logical IDs in lines `Confirm-loss: ID` of the commits that come with a version. */
export function lossesConfirmedBy(version: string, live: string | undefined): string[] {
  const next = hashOf(commitOf(version));
  const before = live === undefined ? '' : hashOf(commitOf(live));
  if (next === '') return [];
  const messages = git(
    'log',
    '--format=%B',
    ...(before === '' ? ['-1', next] : [`${before}..${next}`]),
    '--',
  );
  return [...messages.matchAll(/^[\s*-]*Confirm-loss:\s*(\w+)\s*$/gim)].map(([, id]) => id!);
}
