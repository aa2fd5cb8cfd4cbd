import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startDynamoDb } from 'cdk-offline/dynamodb';
import { describeMachine } from './harness/machine.ts';
import { measureFirstResponses, measureLevers, measureMemory } from './measures/first-response.ts';
import { measureGrowth } from './measures/growth.ts';
import { measureWarm } from './measures/warm.ts';
import { writeGenerated } from './report/generated.ts';
import { type Measured, type Results, tables } from './report/report.ts';

/** `npm run bench`: measures, prints the tables and writes them as JSON and plots. */

const parts = ['first', 'memory', 'levers', 'warm', 'growth'];
const usage = `npm run bench -- [options]
  --only PARTS        some of ${parts.join(', ')}, separated by commas; empty to draw the plots again
  --baseline REV@MB   also measures the first responses of another commit at this memory, such as 2972cdb@1024
  --quick             fewer rounds, to check that it runs; the figures are not reliable
  --publish           writes to docs/performance/, docs/performance.md and bench/README.md, not to bench/results/`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    baseline: { type: 'string' },
    quick: { type: 'boolean', default: false },
    publish: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit();
}

const projectDirectory = dirname(import.meta.dirname);
const outputDirectory = values.publish
  ? join(projectDirectory, 'docs', 'performance')
  : join(import.meta.dirname, 'results');
const wanted = new Set(values.only?.split(',').filter((part) => part !== '') ?? parts);
const unknown = [...wanted.difference(new Set(parts))];
if (unknown.length > 0) {
  console.error(`--only must name parts of the benchmark (got "${unknown.join(',')}").\n\n${usage}`);
  process.exit(2);
}
const baseline = /^(\w+)@(\d+)$/.exec(values.baseline ?? '');
if (values.baseline !== undefined && baseline === null) {
  console.error(`--baseline must be a commit and a memory size (got "${values.baseline}").\n\n${usage}`);
  process.exit(2);
}
if (values.quick && values.publish) {
  console.error(`--publish cannot be used with --quick.\n\n${usage}`);
  process.exit(2);
}
const size = values.quick
  ? {
      rounds: 3,
      memoryRounds: 2,
      leverRounds: 3,
      warm: 20,
      batches: 8,
      animals: [1_000, 3_000],
    }
  : {
      // Multiples of the number of subjects, so that each is measured at each position of a round.
      rounds: 39,
      memoryRounds: 12,
      leverRounds: 21,
      warm: 50,
      batches: 120,
      animals: [1_000, 30_000, 300_000],
    };
const say = (message: string): void => console.error(`… ${message}`);
const sayRound = (part: string) => (done: number, of: number) => say(`${part}: round ${done + 1} of ${of}`);

const measuredNow: Results = {
  ...(wanted.has('first') && {
    first: await measured(() =>
      measureFirstResponses(
        size.rounds,
        sayRound('First responses'),
        baseline === null ? undefined : { commit: baseline[1]!, memory: Number(baseline[2]) },
      ),
    ),
  }),
  ...(wanted.has('memory') && {
    memory: await measured(() => measureMemory(size.memoryRounds, size.warm, sayRound('Memory'))),
  }),
  ...(wanted.has('levers') && {
    levers: await measured(() => measureLevers(size.leverRounds, sayRound('Levers'))),
  }),
  ...(await withDynamoDb()),
};
// Parts that are not measured now keep their previous results.
const results: Results = { ...(await previous()), ...measuredNow };

await mkdir(outputDirectory, { recursive: true });
await writeFile(join(outputDirectory, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
const run = promisify(execFile);
// In a separate process, because the plotting library is installed only in this folder.
await run(process.execPath, [join(import.meta.dirname, 'report', 'plots.mjs'), outputDirectory]);
for (const [name, content] of Object.entries(tables(measuredNow))) console.log(`\n${name}\n\n${content}`);
if (values.publish) await publish();
console.log(`\nWritten to ${outputDirectory}`);

/** Each part records its machine, because parts can be measured on different days. */
async function measured<T>(measure: () => Promise<T>): Promise<Measured<T>> {
  const machine = describeMachine();
  return { machine, results: await measure() };
}

/** The parts that need only a database. */
async function withDynamoDb(): Promise<Results> {
  if (!['warm', 'growth'].some((part) => wanted.has(part))) return {};
  const dynamoDb = await startDynamoDb();
  try {
    say('Warm path');
    return {
      ...(wanted.has('warm') && { warm: await measured(() => measureWarm(dynamoDb.endpoint, size.batches)) }),
      ...(wanted.has('growth') && {
        growth: await measured(() => measureGrowth(dynamoDb.endpoint, size.animals, say)),
      }),
    };
  } finally {
    await dynamoDb.stop();
  }
}

async function previous(): Promise<Results> {
  const text = await readFile(join(outputDirectory, 'results.json'), 'utf8').catch(() => '{}');
  return JSON.parse(text) as Results;
}

async function publish(): Promise<void> {
  const documents = ['docs/performance.md', 'bench/README.md'].map((path) => join(projectDirectory, path));
  for (const document of documents) await writeGenerated(document, tables(results));
  const prettier = join(projectDirectory, 'node_modules', 'prettier', 'bin', 'prettier.cjs');
  await run(process.execPath, [prettier, '--write', ...documents, outputDirectory]);
}
