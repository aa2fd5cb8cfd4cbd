import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { describeMachine } from './harness/machine.ts';
import { measureFirstResponses } from './measures/first-response.ts';
import { measureLevers } from './measures/levers.ts';
import { measureWarm } from './measures/warm.ts';
import { writeGenerated } from './report/generated.ts';
import { exceeded, type Results, tables } from './report/report.ts';

/** `npm run bench`: measures, prints the tables, and ends with 1 when a budget is exceeded. */

const parts = ['first', 'levers', 'warm'];
const usage = `npm run bench -- [options]
  --only PARTS   some of ${parts.join(', ')}, separated by commas
  --quick        fewer rounds, to check that it runs; the figures are not reliable
  --publish      also writes the tables to docs/performance.md and bench/README.md`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: parts.join(',') },
    quick: { type: 'boolean', default: false },
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
if (values.publish && (values.quick || wanted.size < parts.length))
  fail('--publish needs all parts in full: without --only and --quick.');

const size = values.quick
  ? { rounds: 3, leverRounds: 3, batches: 8 }
  : // Multiples of the number of subjects, so that each is measured at each position of a round.
    { rounds: 39, leverRounds: 18, batches: 120 };
const sayRound = (part: string) => (done: number, of: number) =>
  console.error(`… ${part}: round ${done + 1} of ${of}`);

const results: Results = {
  ...(wanted.has('first') && {
    // Described before the load of the measurement.
    machine: describeMachine(),
    first: await measureFirstResponses(size.rounds, sayRound('First responses')),
  }),
  ...(wanted.has('levers') && { levers: await measureLevers(size.leverRounds, sayRound('Levers')) }),
  ...(wanted.has('warm') && { warm: await measureWarm(size.batches) }),
};
for (const [name, content] of Object.entries(tables(results))) console.log(`\n${name}\n\n${content}`);
if (values.publish) await publish();
for (const sentence of exceeded(results)) {
  console.error(`Over budget: ${sentence}`);
  if (!values.quick) process.exitCode = 1;
}

async function publish(): Promise<void> {
  const cwd = dirname(import.meta.dirname);
  const documents = ['docs/performance.md', 'bench/README.md'];
  for (const document of documents) await writeGenerated(`${cwd}/${document}`, tables(results));
  const prettier = 'node_modules/prettier/bin/prettier.cjs';
  await promisify(execFile)(process.execPath, [prettier, '--write', ...documents], { cwd });
}

function fail(message: string): never {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}
