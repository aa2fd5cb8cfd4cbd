import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { table, writeGenerated } from '../report/generated.ts';
import { type LimiterResult, measureLimiters } from './schedule.ts';

/** `npm run bench:limiters`: writes the table of docs/limits.md. Ends with 1 if the service's limiter is not exact. */

type Measure = Exclude<keyof LimiterResult, 'scenario' | 'isFailing' | 'limiter'>;

const headings: Readonly<Record<Measure, string>> = {
  over: 'over the limit',
  rejectedBelow: 'rejected below it',
  most: 'most in 60 s',
  undecided: 'no decision',
  longest: 'longest wait, ms',
  calls: 'calls',
};

/** Where the limiters differ. `parallel clients` has what the others are compared with. */
const shown: Readonly<Record<string, readonly Measure[]>> = {
  'parallel clients': ['over', 'rejectedBelow', 'calls'],
  'edge of a minute': ['most'],
  waves: ['calls'],
  'throttled table': ['over', 'undecided', 'longest'],
  'no answers in minute 2': ['over', 'undecided', 'longest'],
};

const results = await measureLimiters(1);
const limiters = [...new Set(results.map(({ limiter }) => limiter))];
const rows = [...Map.groupBy(results, ({ scenario }) => scenario)].flatMap(([scenario, ofLimiters]) =>
  shown[scenario]!.map((measure) => [
    scenario,
    headings[measure],
    ...ofLimiters.map((each) => each[measure]),
  ]),
);
const limits = table(['schedule', 'requests', ...limiters], rows);
console.log(`${limits}\n`);

const cwd = join(import.meta.dirname, '..', '..');
await writeGenerated(join(cwd, 'docs', 'limits.md'), { limiters: limits });
const prettier = 'node_modules/prettier/bin/prettier.cjs';
await promisify(execFile)(process.execPath, [prettier, '--write', 'docs/limits.md'], { cwd });

for (const { scenario, limiter, isFailing, over, rejectedBelow, undecided } of results) {
  if (limiter !== 'this service' || isFailing || over + rejectedBelow + undecided === 0) continue;
  console.error(`The limiter does not count exactly: ${scenario}.`);
  process.exitCode = 1;
}
