/**
 * A process of its own that calls functions and what they are measured by in turn, batch by batch, so that whatever else
 * the machine does befalls both alike. It is forked with the folder of the bundles, the size of the
 * job, the id of an animal and the operations.
 */
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import * as z from 'zod/mini';
import { events } from '../harness/fixtures.ts';
import { lambdaContext } from '../../test/support/lambda.ts';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** Of one handler. Times in milliseconds. */
export interface Timing {
  readonly latencies: number[];
  /** Processor time of each batch. */
  readonly batches: number[];
}

export interface Comparison {
  readonly operation: string;
  readonly ours: Timing;
  readonly sameCalls: Timing;
  /** Where the operation's calls go out side by side: the one that would be left without the limit. */
  readonly singleCall: Timing | undefined;
}

const [directory = '', rounds = '', petId = '', ...wanted] = process.argv.slice(2);
const batchSize = 25;

async function load(file: string, name = 'handler'): Promise<Handler> {
  const module: unknown = await import(pathToFileURL(join(directory, `${file}.mjs`)).href);
  return z.parse(z.record(z.string(), z.custom<Handler>()), module)[name]!;
}

const operations: readonly (readonly [string, Handler, Handler, Handler | undefined, () => unknown])[] = [
  [
    'list',
    await load('list-pets'),
    await load('bare', 'list'),
    await load('bare', 'listUncounted'),
    events.list,
  ],
  ['get', await load('get-pet'), await load('bare', 'get'), undefined, () => events.get(petId)],
  ['create', await load('create-pet'), await load('bare', 'create'), undefined, events.create],
  ['authorize', await load('authorizer'), await load('bare', 'authorize'), undefined, events.authorize],
];

const context = lambdaContext(1e9);

async function runBatch(handler: Handler, event: () => unknown, timing: Timing): Promise<void> {
  // Made beforehand: parsing the event is Lambda's work.
  const made = Array.from({ length: batchSize }, event);
  const cpu = process.cpuUsage();
  for (const each of made) {
    const start = performance.now();
    await handler(each, context);
    timing.latencies.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(cpu);
  timing.batches.push((user + system) / 1_000 / batchSize);
}

/** Whether the function did what it should: an error is answered fast, too. */
const succeeded = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) }),
  z.object({ context: z.object({ keyId: z.string() }) }),
  z.object({ keyId: z.string() }),
]);

const newTiming = (): Timing => ({ latencies: [], batches: [] });
const comparisons: Comparison[] = [];
for (const [operation, ours, sameCalls, singleCall, event] of operations) {
  if (!wanted.includes(operation)) continue;
  const measure = async (count: number): Promise<Comparison> => {
    const comparison = {
      operation,
      ours: newTiming(),
      sameCalls: newTiming(),
      singleCall: singleCall && newTiming(),
    };
    for (let round = 0; round < count; round += 1) {
      await runBatch(ours, event, comparison.ours);
      await runBatch(sameCalls, event, comparison.sameCalls);
      if (singleCall && comparison.singleCall) await runBatch(singleCall, event, comparison.singleCall);
    }
    return comparison;
  };
  for (const each of [ours, sameCalls, singleCall])
    z.parse(succeeded, await (each ?? ours)(event(), context));
  await measure(Math.ceil(Number(rounds) / 4));
  comparisons.push(await measure(Number(rounds)));
}
process.send?.(comparisons, () => process.exit());
