/**
 * Calls functions and bare handlers alternately, batch by batch, so that other work of the machine affects both equally.
 * Forked with the folder of the bundles and the number of batches.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod/mini';
import { lambdaContext } from '../../test/support/lambda.ts';
import { events } from '../harness/fixtures.ts';
import { median, round } from '../harness/stats.ts';

export interface WarmResult {
  readonly operation: (typeof operations)[number][0];
  /** Median milliseconds of a request, and of one of a bare handler that sends the same calls. */
  readonly latency: number;
  readonly bareLatency: number;
  /**
   * Milliseconds of processor time that the bare handler does not need: the median of the differences between neighbouring
   * batches.
   */
  readonly cpuOutsideCalls: number;
  /** Processor time of a request, relative to the bare handler's. */
  readonly ratio: number;
}

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** Milliseconds of a request, and its processor time in each batch. */
interface Timing {
  readonly latencies: number[];
  readonly batches: number[];
}

const [directory = '', rounds = ''] = process.argv.slice(2);
const batchSize = 25;

/** Until V8 has compiled the hot code. */
const warmUpRounds = 40;

async function load(file: string, name = 'handler'): Promise<Handler> {
  const module: unknown = await import(pathToFileURL(join(directory, `${file}.mjs`)).href);
  return z.parse(z.record(z.string(), z.custom<Handler>()), module)[name]!;
}

const operations = [
  ['list', 'list-pets', () => events.list()],
  ['get', 'get-pet', () => events.get()],
  ['create', 'create-pet', events.create],
  ['authorize', 'authorizer', events.authorize],
] as const;

const context = lambdaContext(1e9);

async function runBatch(handler: Handler, event: () => unknown, timing: Timing): Promise<void> {
  // Parsed before: parsing the event is Lambda's work.
  const made = Array.from({ length: batchSize }, event);
  const before = process.cpuUsage();
  for (const each of made) {
    const start = performance.now();
    await handler(each, context);
    timing.latencies.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  timing.batches.push((user + system) / 1_000 / batchSize);
}

/** Checks for success: an error can be fast, too. */
const succeeded = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) }),
  z.object({ context: z.object({ keyId: z.string() }) }),
  z.object({ keyId: z.string() }),
]);

async function measure([operation, entry, event]: (typeof operations)[number]): Promise<WarmResult> {
  const handlers = [await load(entry), await load('bare', operation)] as const;
  for (const handler of handlers) z.parse(succeeded, await handler(event(), context));
  const [ours, bare] = handlers.map((): Timing => ({ latencies: [], batches: [] })) as [Timing, Timing];
  for (let done = 0; done < warmUpRounds + Number(rounds); done += 1) {
    if (done === warmUpRounds)
      for (const { latencies, batches } of [ours, bare]) latencies.length = batches.length = 0;
    await runBatch(handlers[0], event, ours);
    await runBatch(handlers[1], event, bare);
  }
  // In pairs: other work of the machine is the same for both of a round.
  const pairs = ours.batches.map((cpu, index) => [cpu, bare.batches[index]!] as const);
  return {
    operation,
    latency: round(median(ours.latencies), 2),
    bareLatency: round(median(bare.latencies), 2),
    cpuOutsideCalls: round(median(pairs.map(([cpu, bareCpu]) => cpu - bareCpu)), 3),
    ratio: round(median(pairs.map(([cpu, bareCpu]) => cpu / bareCpu)), 2),
  };
}

const results: WarmResult[] = [];
for (const operation of operations) results.push(await measure(operation));
process.send?.(results, () => process.exit());
