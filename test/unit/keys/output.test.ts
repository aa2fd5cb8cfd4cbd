import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { unused } from '../../../functions/access/limiter-decisions.ts';
import type { AdministeredKey } from '../../../tools/operators/keys/records.ts';
import { detailsText, viewOf } from '../../../tools/operators/keys/views.ts';
import { isoTime, Output, redact, table } from '../../../tools/operators/command-line/output.ts';

test('no key and no hash gets through, whatever stands around it', () => {
  const surroundings = fc.string({ unit: fc.constantFrom(...' \n"\'/=:;,.()[]{}<>|') });
  fc.assert(
    fc.property(
      surroundings,
      surroundings,
      fc.constantFrom('local', 'staging', 'prod'),
      (before, after, stage) => {
        const key = newKey(stage);
        const hash = hashOfKey(key);
        for (const secret of [key, hash, hash.toUpperCase(), `Bearer ${key}`, encodeURIComponent(key)]) {
          const printed = redact(`${before}${secret}${after}`);
          expect(printed).toContain('[redacted]');
          expect(printed).not.toContain(key);
          expect(printed.toLowerCase()).not.toContain(hash);
        }
      },
    ),
  );
});

test('results and notes are redacted, and one line alone can show a key', async () => {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const output = new Output({ stdin: new PassThrough(), stdout, stderr, interactive: false }, false);
  const key = newKey('local');
  output.result({}, `result ${key}`);
  output.note(`note ${hashOfKey(key)}`);
  await output.reveal({}, `revealed ${key}`);
  expect(stdout.read()?.toString()).toBe(`result [redacted]\nrevealed ${key}\n`);
  expect(stderr.read()?.toString()).toBe('note [redacted]\n');
});

test('a table keeps its columns in line, coloured cells included', () => {
  const rows = [
    ['A', 'LONG HEAD'],
    ['wide cell', 'x'],
    ['\u001b[31mred\u001b[39m', 'y'],
  ];
  expect(table(rows)).toBe('A          LONG HEAD\nwide cell  x\n\u001b[31mred\u001b[39m        y');
});

const minute = Date.UTC(2026, 6, 1, 12, 0) / 1000;
const key: AdministeredKey = {
  keyHash: '0a'.repeat(32),
  keyId: 'key_06fz1m4tqabcdefg',
  owner: 'Ada',
  plan: 'free',
  status: 'active',
  createdAt: minute + 12,
  gatewayKeyId: 'g',
  audit: [],
};
const usage = { ...unused, minute, minuteCount: 1, deprecatedCalls: 1 };

test('every value of a key is a line with its label', () => {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const output = new Output({ ...streams, interactive: false }, false);
  const text = detailsText(output, viewOf(key, usage, minute + 30));
  expect(text).toMatch(/^key id +key_06fz1m4tqabcdefg$/m);
  expect(text).toMatch(/^used this minute +1$/m);
  const perDay = fixedPlans.free.perDay.toLocaleString('en-US');
  expect(text).toMatch(new RegExp(`^per day +${perDay}$`, 'm'));
  expect(text).toMatch(/^note +-$/m);
});

test('a key used in the minute in which it was created was not used before', () => {
  const { createdAt, lastUsedAt } = viewOf(key, usage, minute + 30);
  expect(lastUsedAt).toBe(createdAt);
  expect(viewOf(key, { ...usage, minute: minute + 60 }, minute + 90).lastUsedAt).toBe(isoTime(minute + 60));
  expect(viewOf(key, { ...usage, minute: 0 }, minute + 30).lastUsedAt).toBeNull();
});
