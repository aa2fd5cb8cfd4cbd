/**
 * Calls functions and their peers alternately, batch by batch, so that other work of the machine affects both equally.
 * Forked with the folder of the bundles and the number of batches.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod/mini';
import { lambdaContext } from '../../test/support/lambda.ts';
import { events } from '../harness/fixtures.ts';
import { median, round } from '../harness/stats.ts';
import type { Ratio } from './ratio.ts';

export interface WarmResult {
  readonly ratio: Ratio;
  /** Milliseconds of processor time of a request, as the median over the batches. */
  readonly cpu: number;
  readonly peerCpu: number;
}

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

const [directory = '', rounds = ''] = process.argv.slice(2);
const batchSize = 25;

/** Rounds until V8 has compiled the hot code. */
const warmUpRounds = 40;

async function load(file: string, name = 'handler'): Promise<Handler> {
  const module: unknown = await import(pathToFileURL(join(directory, file)).href);
  return z.parse(z.record(z.string(), z.custom<Handler>()), module)[name]!;
}

const pairs = [
  ['list', 'list-pets.mjs', 'parts', 'list.cjs', 'handler', events.list],
  ['create with Idempotency-Key', 'create-pet.mjs', 'parts', 'create.cjs', 'handler', events.createOnce],
  ['get', 'get-pet.mjs', 'bare handler', 'bare.mjs', 'get', events.get],
  ['authorize', 'authorizer.mjs', 'bare handler', 'bare.mjs', 'authorize', events.authorize],
] as const;

const context = lambdaContext(1e9);

/** Milliseconds of processor time of a request. */
async function runBatch(handler: Handler, event: () => unknown): Promise<number> {
  // They are parsed before, because parsing the event is Lambda's work.
  const made = Array.from({ length: batchSize }, event);
  const before = process.cpuUsage();
  for (const each of made) await handler(each, context);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / batchSize;
}

/** Checks for success: an error can be fast, too. */
const succeeded = z.union([
  z.object({ statusCode: z.union([z.literal(200), z.literal(201)]) }),
  z.object({ context: z.object({ keyId: z.string() }) }),
  z.object({ keyId: z.string() }),
]);

async function measure([
  operation,
  ofOurs,
  peer,
  ofPeer,
  name,
  event,
]: (typeof pairs)[number]): Promise<WarmResult> {
  const [own, theirs] = [await load(ofOurs), await load(ofPeer, name)];
  for (const handler of [own, theirs]) {
    const answer = await handler(event(), context);
    if (!z.safeParse(succeeded, answer).success) throw new Error(`${operation}: ${JSON.stringify(answer)}`);
  }
  const batches: [cpu: number, peerCpu: number][] = [];
  for (let done = 0; done < warmUpRounds + Number(rounds); done += 1) {
    const batch: [number, number] = [await runBatch(own, event), await runBatch(theirs, event)];
    if (done >= warmUpRounds) batches.push(batch);
  }
  return {
    ratio: {
      operation,
      peer,
      measure: 'warm',
      value: round(median(batches.map(([cpu, peerCpu]) => cpu / peerCpu)), 2),
    },
    cpu: round(median(batches.map(([cpu]) => cpu)), 3),
    peerCpu: round(median(batches.map(([, peerCpu]) => peerCpu)), 3),
  };
}

const results: WarmResult[] = [];
for (const pair of pairs) results.push(await measure(pair));
process.send?.(results, () => process.exit());
