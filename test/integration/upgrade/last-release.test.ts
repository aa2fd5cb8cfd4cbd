import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lastReleaseOf } from './last-release.ts';

// Compared with itself, every release would pass.
it('A tagged commit is compared with the release before it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgSign=false'];
  const git = (...args: string[]) => execFileSync('git', [...author, ...args], { cwd: folder });
  const commit = (subject: string) => git('commit', '--quiet', '--allow-empty', '--message', subject);
  git('init', '--quiet');
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
});
