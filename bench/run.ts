import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startDynamoDb } from 'cdk-offline/dynamodb';
import { writeGenerated } from '../tools/generated.ts';
import { describeMachine } from './harness/machine.ts';
import { measureColdStarts } from './measures/cold-start.ts';
import { measureEconomy } from './measures/economy.ts';
import { measureGrowth } from './measures/growth.ts';
import { measureLoad } from './measures/load.ts';
import { measureMemory } from './measures/memory.ts';
import { measureProfile } from './measures/profile.ts';
import { measureWarm } from './measures/warm.ts';
import { type Measured, plots, type Results, tables } from './report/report.ts';

/** `npm run bench`: measures, prints the tables and writes them as JSON and plots. */

const usage = `npm run bench -- [options]
  --only PARTS   some of profile, cold, memory, warm, economy, growth, load, separated by commas; none to draw anew
  --quick        a tenth of the work, to see that it runs; the figures mean little
  --publish      writes to docs/performance/ and into docs/performance.md, not to bench/results/`;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
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
const parts = ['profile', 'cold', 'memory', 'warm', 'economy', 'growth', 'load'];
const wanted = new Set(values.only?.split(',').filter((part) => part !== '') ?? parts);
const unknown = [...wanted.difference(new Set(parts))];
if (unknown.length > 0) {
  console.error(`--only ${unknown.join(',')}: there is no such part.\n\n${usage}`);
  process.exit(2);
}
if (values.quick && values.publish) {
  console.error(
    `--quick and --publish: the figures of a tenth of the work are not fit to print.\n\n${usage}`,
  );
  process.exit(2);
}
const size = values.quick
  ? {
      rounds: 3,
      memoryRounds: 3,
      warm: 20,
      batches: 8,
      animals: [1_000, 3_000],
      concurrencies: [1, 8],
      stepMs: 2_000,
    }
  : {
      rounds: 25,
      memoryRounds: 15,
      warm: 100,
      batches: 120,
      animals: [1_000, 30_000, 300_000],
      concurrencies: [1, 2, 4, 8, 16, 32, 64],
      stepMs: 10_000,
    };
const say = (message: string): void => console.error(`… ${message}`);

const measuredNow: Results = {
  ...(wanted.has('profile') && {
    profile: await measured(() =>
      measureProfile(size.rounds, (done, of) => say(`Profiles: round ${done + 1} of ${of}`)),
    ),
  }),
  ...(wanted.has('cold') && {
    coldStart: await measured(() =>
      measureColdStarts(size.rounds, (done, of) => say(`Cold starts: round ${done + 1} of ${of}`)),
    ),
  }),
  ...(wanted.has('memory') && (await memory())),
  ...(await withDynamoDb()),
  ...(wanted.has('load') && {
    load: await measured(() => measureLoad(size.concurrencies, size.stepMs, say)),
  }),
};
// What is not measured now stays as it was.
const results: Results = { ...(await previous()), ...measuredNow };

await mkdir(outputDirectory, { recursive: true });
await writeFile(join(outputDirectory, 'results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
for (const [name, plot] of Object.entries(plots(results))) await writeFile(join(outputDirectory, name), plot);
for (const [name, content] of Object.entries(tables(measuredNow))) console.log(`\n${name}\n\n${content}`);
if (values.publish) await publish();
if (values.quick)
  console.log('\nA tenth of the work was done: whether a budget is met, these figures cannot tell.');
console.log(`\nWritten to ${outputDirectory}`);

/** Each part has a machine of its own: it may have been measured on another day. */
async function measured<T>(measure: () => Promise<T>): Promise<Measured<T>> {
  const machine = describeMachine();
  return { machine, results: await measure() };
}

async function memory(): Promise<Results> {
  const part = await measured(() =>
    measureMemory(size.memoryRounds, size.warm, (done, of) =>
      say(`Memory sizes: round ${done + 1} of ${of}`),
    ),
  );
  if (part.results === undefined) {
    say('Memory sizes: left out, since this process may not make control groups');
    return {};
  }
  return { memory: { ...part, results: part.results } };
}

/** Parts that need nothing but a database of their own. */
async function withDynamoDb(): Promise<Results> {
  if (!['warm', 'economy', 'growth'].some((part) => wanted.has(part))) return {};
  const dynamoDb = await startDynamoDb();
  try {
    say('Economy and warm path');
    return {
      ...(wanted.has('economy') && { economy: await measured(() => measureEconomy(dynamoDb.endpoint)) }),
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
  const page = join(projectDirectory, 'docs', 'performance.md');
  await writeGenerated(page, tables(results));
  const prettier = join(projectDirectory, 'node_modules', 'prettier', 'bin', 'prettier.cjs');
  await promisify(execFile)(process.execPath, [prettier, '--write', page, outputDirectory]);
}
