import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { describeMachine } from './harness/machine.ts';
import { measureFirstResponses } from './measures/first-response.ts';
import { measureLevers } from './measures/levers.ts';
import { measureWarm } from './measures/warm.ts';
import { writeGenerated } from './report/generated.ts';
import { exceeded, type Measured, type Results, tables } from './report/report.ts';

/** `npm run bench`: measures, prints the tables and writes them, and ends with 1 when a budget is exceeded. */

const parts = ['first', 'levers', 'warm'];
const usage = `npm run bench -- [options]
  --only PARTS   some of ${parts.join(', ')}, separated by commas
  --quick        fewer rounds, to check that it runs; the figures are not reliable
  --publish      writes to docs/performance/, docs/performance.md and bench/README.md, not to bench/results/`;

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
if (values.quick && values.publish) fail('--publish cannot be used with --quick.');

const projectDirectory = dirname(import.meta.dirname);
const outputDirectory = values.publish
  ? join(projectDirectory, 'docs', 'performance')
  : join(import.meta.dirname, 'results');
const size = values.quick
  ? { rounds: 3, leverRounds: 3, batches: 8 }
  : // Multiples of the number of subjects, so that each is measured at each position of a round.
    { rounds: 39, leverRounds: 18, batches: 120 };
const say = (message: string): void => console.error(`… ${message}`);
const sayRound = (part: string) => (done: number, of: number) => say(`${part}: round ${done + 1} of ${of}`);

const measuredNow: Results = {
  ...(wanted.has('first') && {
    first: await measured(() => measureFirstResponses(size.rounds, sayRound('First responses'))),
  }),
  ...(wanted.has('levers') && {
    levers: await measured(() => measureLevers(size.leverRounds, sayRound('Levers'))),
  }),
  ...(wanted.has('warm') && { warm: await measured(() => measureWarm(size.batches)) }),
};
// Parts that are not measured now keep their previous results.
const results: Results = { ...(await previous()), ...measuredNow };

await mkdir(outputDirectory, { recursive: true });
await writeFile(join(outputDirectory, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
for (const [name, content] of Object.entries(tables(measuredNow))) console.log(`\n${name}\n\n${content}`);
if (values.publish) await publish();
console.log(`\nWritten to ${outputDirectory}`);
for (const sentence of exceeded(measuredNow)) {
  console.error(`Over budget: ${sentence}`);
  if (!values.quick) process.exitCode = 1;
}

/** Each part records its machine, because parts can be measured on different days. */
async function measured<T>(measure: () => Promise<T>): Promise<Measured<T>> {
  const machine = describeMachine();
  return { machine, results: await measure() };
}

async function previous(): Promise<Results> {
  const text = await readFile(join(outputDirectory, 'results.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Results;
}

async function publish(): Promise<void> {
  const documents = ['docs/performance.md', 'bench/README.md'].map((path) => join(projectDirectory, path));
  for (const document of documents) await writeGenerated(document, tables(results));
  const prettier = join(projectDirectory, 'node_modules', 'prettier', 'bin', 'prettier.cjs');
  await promisify(execFile)(process.execPath, [
    prettier,
    '--write',
    ...documents,
    join(outputDirectory, 'results.json'),
  ]);
}

function fail(message: string): never {
  console.error(`${message}\n\n${usage}`);
  process.exit(2);
}
