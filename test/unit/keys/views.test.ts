import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { Output } from '../../../tools/keys/output.ts';
import type { AdministeredKey } from '../../../tools/keys/records.ts';
import { detailsText, viewOf } from '../../../tools/keys/views.ts';

const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
const output = new Output({ ...streams, interactive: false }, false);
const minute = Date.UTC(2026, 6, 1, 12, 0) / 1000;
const key: AdministeredKey = {
  keyHash: '0a'.repeat(32),
  keyId: 'key_06fz1m4tqabcdefg',
  owner: 'Ada',
  plan: 'free',
  status: 'active',
  createdAt: minute + 12,
  audit: [],
};
const use = {
  minute,
  minuteCount: 1,
  rejections: 0,
  day: 0,
  dayCount: 0,
  suspendedUntil: 0,
  deprecatedCalls: 1,
};

test('every value of a key is a line with its label', () => {
  const text = detailsText(output, viewOf(key, use, minute + 30));
  expect(text).toMatch(/^key id +key_06fz1m4tqabcdefg$/m);
  expect(text).toMatch(/^used this minute +1$/m);
  expect(text).toMatch(/^per day +1,000$/m);
  expect(text).toMatch(/^note +-$/m);
});
