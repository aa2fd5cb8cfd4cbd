import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { Output, printable, redact, tableLines } from '../../../tools/operators/command-line/output.ts';

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

test('what could change a terminal is escaped, and every script is not', () => {
  for (const text of ['Zoë', '東京', 'می\u200cخواهم', '👩\u200d👧', '❤\ufe0f'])
    expect(printable(text)).toBe(text);
  expect(printable('a\u001b[2J\u009b2J\u202e\u2028\n')).toBe(
    String.raw`a\u001b[2J\u009b2J\u202e\u2028\u000a`,
  );
});

test('a table keeps its columns in line, with coloured cells and escaped ones, and nobody else can colour', () => {
  vi.stubEnv('FORCE_COLOR', '1');
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = new Output({ stdin: new PassThrough(), stdout, stderr, interactive: false }, false);
  const rows = [
    ['A', 'LONG HEAD'],
    ['wide cell', 'x'],
    [output.paint('red', 'red'), 'y'],
    ['\u001b[31m', 'z'],
  ];
  output.result({}, tableLines(rows));
  vi.unstubAllEnvs();
  expect(stdout.read()?.toString().split('\n')).toEqual([
    'A           LONG HEAD',
    'wide cell   x',
    '\u001b[31mred\u001b[39m         y',
    String.raw`\u001b[31m  z`,
    '',
  ]);
});
