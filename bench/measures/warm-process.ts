/**
 * Calls functions and their references alternately, batch by batch, so that other work of the machine affects both
 * equally. Forked with the folder of the bundles, the size of the job, the ID of a pet and the operations.
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
  /** For parallel calls: the operation's call without the limit's. */
  readonly singleCall: Timing | undefined;
  /** The limit's call alone: the lower bound for a response with rate-limit headers. */
  readonly limitAlone: Timing | undefined;
}

const [directory = '', rounds = '', petId = '', ...wanted] = process.argv.slice(2);
const batchSize = 25;

/** Until V8 has compiled the hot code. */
const warmUpRounds = 40;

async function load(file: string, name = 'handler'): Promise<Handler> {
  const module: unknown = await import(pathToFileURL(join(directory, `${file}.mjs`)).href);
  return z.parse(z.record(z.string(), z.custom<Handler>()), module)[name]!;
}

interface Operation {
  readonly operation: string;
  readonly event: () => unknown;
  readonly handlers: Readonly<Record<'ours' | 'sameCalls', Handler>> &
    Readonly<Partial<Record<'singleCall' | 'limitAlone', Handler>>>;
}

const operations: readonly Operation[] = [
  {
    operation: 'list',
    event: events.list,
    handlers: {
      ours: await load('list-pets'),
      sameCalls: await load('bare', 'list'),
      singleCall: await load('bare', 'listUncounted'),
      limitAlone: await load('bare', 'countAlone'),
    },
  },
  {
    operation: 'get',
    event: () => events.get(petId),
    handlers: { ours: await load('get-pet'), sameCalls: await load('bare', 'get') },
  },
  {
    operation: 'create',
    event: events.create,
    handlers: { ours: await load('create-pet'), sameCalls: await load('bare', 'create') },
  },
  {
    operation: 'authorize',
    event: events.authorize,
    handlers: { ours: await load('authorizer'), sameCalls: await load('bare', 'authorize') },
  },
];

const context = lambdaContext(1e9);

async function runBatch(handler: Handler, event: () => unknown, timing: Timing): Promise<void> {
  // Parsed before: parsing the event is Lambda's work.
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

/** Checks for success: an error can be fast, too. */
const succeeded = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) }),
  z.object({ context: z.object({ keyId: z.string() }) }),
  z.object({ keyId: z.string() }),
]);

const newTiming = (): Timing => ({ latencies: [], batches: [] });

async function measure({ operation, event, handlers }: Operation, count: number): Promise<Comparison> {
  const { ours, sameCalls, singleCall, limitAlone } = handlers;
  const comparison = {
    operation,
    ours: newTiming(),
    sameCalls: newTiming(),
    singleCall: singleCall && newTiming(),
    limitAlone: limitAlone && newTiming(),
  };
  for (let round = 0; round < count; round += 1) {
    await runBatch(ours, event, comparison.ours);
    await runBatch(sameCalls, event, comparison.sameCalls);
    if (singleCall && comparison.singleCall) await runBatch(singleCall, event, comparison.singleCall);
    if (limitAlone && comparison.limitAlone) await runBatch(limitAlone, event, comparison.limitAlone);
  }
  return comparison;
}

const comparisons: Comparison[] = [];
for (const each of operations) {
  if (!wanted.includes(each.operation)) continue;
  for (const handler of Object.values(each.handlers))
    z.parse(succeeded, await handler(each.event(), context));
  await measure(each, warmUpRounds);
  comparisons.push(await measure(each, Number(rounds)));
}
process.send?.(comparisons, () => process.exit());
