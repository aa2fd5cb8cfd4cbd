import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { table, writeGenerated } from '../report/generated.ts';
import { type LimiterResult, measureLimiters } from './schedule.ts';

/** `npm run bench:limiters`: writes the tables of docs/limits.md. Ends with 1 if the service's limiter is not exact. */

const results = await measureLimiters(1);
const labels = ({ scenario, limiter, requests, admitted }: LimiterResult) => [
  scenario,
  limiter,
  requests,
  admitted,
];
const labelled = (first: string, ...others: string[]) => [
  first,
  'limiter',
  'requests',
  'admitted',
  ...others,
];
const parts = {
  limiters: table(
    labelled('table answers', 'over the limit', 'most in 60 s', 'rejected below it', 'calls', 'WCU', 'RCU'),
    results
      .filter(({ isFailing }) => !isFailing)
      .map((each) => [
        ...labels(each),
        each.over,
        each.most,
        each.rejectedBelow,
        each.calls,
        each.writeUnits,
        each.readUnits,
      ]),
  ),
  'limiters-failing': table(
    labelled(
      'table fails',
      'over the limit',
      'rejected below it',
      'no decision',
      'longest wait, ms',
      'calls',
    ),
    results
      .filter(({ isFailing }) => isFailing)
      .map((each) => [
        ...labels(each),
        each.over,
        each.rejectedBelow,
        each.undecided,
        each.longest,
        each.calls,
      ]),
  ),
};
for (const part of Object.values(parts)) console.log(`${part}\n`);

const cwd = join(import.meta.dirname, '..', '..');
await writeGenerated(join(cwd, 'docs', 'limits.md'), parts);
const prettier = 'node_modules/prettier/bin/prettier.cjs';
await promisify(execFile)(process.execPath, [prettier, '--write', 'docs/limits.md'], { cwd });

for (const { scenario, limiter, isFailing, over, rejectedBelow, undecided } of results) {
  if (limiter !== 'this service' || isFailing || over + rejectedBelow + undecided === 0) continue;
  console.error(`The limiter does not count exactly: ${scenario}.`);
  process.exitCode = 1;
}
