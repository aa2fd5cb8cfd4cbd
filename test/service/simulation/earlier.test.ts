import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { findEarlier, lastReleaseOf } from './earlier.ts';

/** A repository with a function. */
function newRepository() {
  const folder = mkdtempSync(join(tmpdir(), 'repository-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgSign=false'];
  const git = (...args: string[]) =>
    execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim();
  const commit = (text: string) => {
    writeFileSync(join(folder, 'functions', 'pet.ts'), text);
    git('add', '.');
    git('commit', '--quiet', '--allow-empty', '--message', text);
    return git('rev-parse', 'HEAD').slice(0, 12);
  };
  git('init', '--quiet', '--initial-branch', 'main');
  mkdirSync(join(folder, 'functions'));
  return { folder, git, commit };
}

// Compared with itself, every release would pass.
it('a release is compared with the one before it', () => {
  const { folder, git, commit } = newRepository();
  commit('first');
  git('tag', 'v1.0.0');
  expect(lastReleaseOf(folder)).toBeUndefined();
  commit('second');
  expect(lastReleaseOf(folder)).toBe('v1.0.0');
  git('tag', 'client-v1.2.0');
  git('tag', '-a', 'v1.1.0', '-m', 'v1.1.0');
  expect(lastReleaseOf(folder)).toBe('v1.0.0');
  commit('third');
  expect(lastReleaseOf(folder)).toBe('v1.1.0');
  expect(findEarlier(folder)).toEqual({ commit: 'v1.1.0' });
});

it('without a release, a branch is compared with the commit from which it left main', () => {
  const { folder, git, commit } = newRepository();
  const first = commit('first');
  expect(findEarlier(folder)).toEqual({ reason: `functions/ is the same in ${first}` });
  git('switch', '--quiet', '--create', 'branch');
  commit('second');
  commit('third');
  expect(findEarlier(folder)).toEqual({ commit: first });
  git('switch', '--quiet', 'main');
  const fourth = commit('fourth');
  expect(findEarlier(folder)).toEqual({ reason: `functions/ is the same in ${fourth}` });
  writeFileSync(join(folder, 'functions', 'new.ts'), 'not in Git');
  expect(findEarlier(folder)).toEqual({ commit: fourth });
});

it('EARLIER names another commit, and a clone that lacks it says how to get it', () => {
  const { folder, git, commit } = newRepository();
  const first = commit('first');
  commit('second');
  expect(findEarlier(folder, first)).toEqual({ commit: first });
  expect(findEarlier(folder, 'HEAD')).toEqual({ reason: 'functions/ is the same in HEAD' });
  expect(() => findEarlier(folder, 'v9')).toThrow('(got "v9"). A shallow clone lacks most commits');
  git('branch', '--move', 'trunk');
  expect(findEarlier(folder)).toEqual({ reason: expect.stringContaining('EARLIER=COMMIT') });
});
