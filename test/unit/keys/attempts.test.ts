import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { attemptLease, beginAttempt, isAbandoned, thisRunner } from '../../../tools/keys/attempts.ts';

const now = 1_793_800_230;

test('a key that this process is making is left alone, and abandoned as soon as it has stopped', () => {
  const attempt = beginAttempt(thisRunner);
  expect(isAbandoned(attempt.name, now, now)).toBe(false);
  attempt.end();
  expect(isAbandoned(attempt.name, now, now)).toBe(true);
});

test('a key that a process which has ended was making is abandoned at once', () => {
  const pid = Number(execFileSync(process.execPath, ['-p', 'process.pid']).toString());
  expect(isAbandoned(beginAttempt({ ...thisRunner, pid }).name, now, now)).toBe(true);
});

test('a key that another living process is making is left alone', () => {
  expect(isAbandoned(beginAttempt({ ...thisRunner, pid: process.ppid }).name, now, now)).toBe(false);
});

test('a key that another thread of this process is making is left alone', () => {
  expect(isAbandoned(beginAttempt({ ...thisRunner, thread: thisRunner.thread + 1 }).name, now, now)).toBe(
    false,
  );
});

test.each([
  ['another machine is', beginAttempt({ ...thisRunner, host: 'elsewhere' }).name],
  ['nobody can tell who is', 'damaged'],
  ['nobody says to be', undefined],
])('a key that %s making is left alone for a quarter of an hour', (_who, name) => {
  expect(isAbandoned(name, now, now + attemptLease)).toBe(false);
  expect(isAbandoned(name, now, now + attemptLease + 1)).toBe(true);
});
