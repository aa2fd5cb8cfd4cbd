import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { describeMachine, withPriority } from './harness/machine.ts';
import { measureCalls } from './measures/calls.ts';
import { type FirstResponses, measureFirstResponses } from './measures/first-response.ts';
import { measureWarm } from './measures/warm.ts';
import type { WarmResult } from './measures/warm-process.ts';
import { writeGenerated } from './report/generated.ts';
import { exceeded, tables } from './report/report.ts';

/** `npm run bench`: measures, prints the tables, and ends with 1 when a limit is exceeded. */

const parts = ['first', 'warm', 'calls'];
const usage = `npm run bench -- [options]
  --only PARTS   some of ${parts.join(', ')}, separated by commas
  --runs N       measures N times: shows the spread, and compares the medians with the limits (1)
  --coarse       few starts and wide limits: finds what takes half as long again, as CI does; no calls
  --publish      also writes the tables to bench/README.md`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: parts.join(',') },
    runs: { type: 'string', default: '1' },
    coarse: { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit();
}
const wanted = new Set(values.only.split(','));
const unknown = [...wanted.difference(new Set(parts))];
if (unknown.length > 0) fail(`--only must name parts of the benchmark (got "${unknown.join(',')}").`);
if (!/^[1-9]\d?$/.test(values.runs))
  fail(`--runs must be a whole number from 1 to 99 (got "${values.runs}").`);
if (values.publish && (values.coarse || wanted.size < parts.length))
  fail('--publish needs all parts in full: without --only and --coarse.');

const runs = Number(values.runs);
const { rounds, batches, tolerance } = values.coarse
  ? { rounds: 6, batches: 20, tolerance: 1.25 }
  : // This is a multiple of the number of subjects, so that each is measured at each position of a round.
    { rounds: 12, batches: 60, tolerance: 1 };

// The machine is described before the load of the measurement.
const machine = describeMachine();
const first: FirstResponses[] = [];
const warm: WarmResult[][] = [];
for (let run = 1; run <= runs; run += 1) {
  const say = (done: number, of: number) =>
    console.error(`… Run ${run} of ${runs}, first responses: round ${done + 1} of ${of}`);
  await withPriority(async () => {
    if (wanted.has('first')) first.push(await measureFirstResponses(rounds, say));
    if (wanted.has('warm')) warm.push(await measureWarm(batches));
  });
}

// They have no limit.
const calls = wanted.has('calls') && !values.coarse ? await measureCalls() : undefined;

const results = { machine, first, warm, calls };
for (const [name, content] of Object.entries(tables(results))) console.log(`\n${name}\n\n${content}`);
if (values.publish) await publish();
for (const sentence of exceeded(results, tolerance)) {
  console.error(`Over the limit: ${sentence}`);
  process.exitCode = 1;
}

async function publish(): Promise<void> {
  const cwd = dirname(import.meta.dirname);
  const document = 'bench/README.md';
  await writeGenerated(`${cwd}/${document}`, tables(results));
  const prettier = 'node_modules/prettier/bin/prettier.cjs';
  await promisify(execFile)(process.execPath, [prettier, '--write', document], { cwd });
}

function fail(message: string): never {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}
