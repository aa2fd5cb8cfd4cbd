import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { putPets } from '../../tools/bulk.ts';
import { bundle } from '../../lib/bundler/bundle.ts';
import { sampleAnimals } from '../../tools/seed.ts';
import { stackVariables } from '../harness/fixtures.ts';
import { lambdaVariables } from '../harness/lambda.ts';
import { median, quantile, round } from '../harness/stats.ts';
import { clientOf, createTables } from '../harness/tables.ts';
import type { Comparison, Timing } from './warm-process.ts';

export interface WarmResult {
  readonly operation: string;
  /** Latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Of a bare handler that sends the same calls. */
  readonly bareP50: number;
  readonly bareP99: number;
  /** Of a bare handler that sends the call without the limit's. */
  readonly singleP50: number | undefined;
  /** Of a bare handler that sends the limit's call alone: the lower bound for a response with rate-limit headers. */
  readonly limitP50: number | undefined;
  /** p50 divided by the p50 of that call, or of the same calls when they are sequential. */
  readonly ratio: number;
  /** Processor time of a request in milliseconds: the median over batches. */
  readonly cpu: number;
  /** Of it, the part outside the calls to DynamoDB. */
  readonly cpuOutsideCalls: number;
}

const entries = ['list-pets', 'get-pet', 'create-pet', 'authorizer'];

/** Network delay of a call in milliseconds, about as between a function and DynamoDB. */
const distance = 5;

/** @param rounds batches of 25 requests of each handler */
export async function measureWarm(endpoint: string, rounds: number): Promise<WarmResult[]> {
  const client = clientOf(endpoint);
  const tables = await createTables(client);
  const animals = sampleAnimals(1_000, Date.now());
  await putPets({ client, tableName: tables.pets }, animals);
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const far = fork(new URL('../harness/distance-process.ts', import.meta.url), [endpoint, String(distance)]);
  try {
    for (const entry of entries) await bundle(`functions/${entry}.ts`, directory);
    await bundle('bench/variants/bare.ts', directory);
    const job = { directory, petId: String(animals[0]!.id), environment: stackVariables(tables) };
    const near = await compare({
      ...job,
      endpoint,
      rounds,
      operations: ['list', 'get', 'create', 'authorize'],
    });
    const [port] = (await once(far, 'message')) as [number];
    const farEndpoint = `http://127.0.0.1:${port}`;
    // A batch takes longer and has less noise.
    const fewer = Math.ceil(rounds / 4);
    const behindNetwork = await compare({
      ...job,
      endpoint: farEndpoint,
      rounds: fewer,
      operations: ['list'],
    });
    return [
      ...near.map((comparison) => summarise(comparison)),
      ...behindNetwork.map((comparison) => summarise(comparison, `list, DynamoDB ${distance} ms away`)),
    ];
  } finally {
    far.disconnect();
    await rm(directory, { recursive: true });
  }
}

interface Job {
  readonly directory: string;
  readonly petId: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly endpoint: string;
  readonly rounds: number;
  readonly operations: readonly string[];
}

async function compare({
  directory,
  petId,
  environment,
  endpoint,
  rounds,
  operations,
}: Job): Promise<Comparison[]> {
  const script = new URL('warm-process.ts', import.meta.url);
  const child = fork(script, [directory, String(rounds), petId, ...operations], {
    env: { ...lambdaVariables, ...environment, AWS_ENDPOINT_URL_DYNAMODB: endpoint },
    // Log lines are written, as on Lambda.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = Promise.withResolvers<never>();
  child.once('exit', (code) => ended.reject(new Error(`The functions ended with exit code ${code}`)));
  const [comparisons] = (await Promise.race([once(child, 'message'), ended.promise])) as [Comparison[]];
  ended.promise.catch(() => {});
  return comparisons;
}

function summarise(
  { operation, ours, sameCalls, singleCall, limitAlone }: Comparison,
  name = operation,
): WarmResult {
  const p50 = ({ latencies }: Timing): number => median(latencies);
  const p99 = ({ latencies }: Timing): number => quantile(latencies, 0.99);
  // In pairs: other work of the machine is the same for both of a round.
  const difference = median(ours.batches.map((cpu, index) => cpu - sameCalls.batches[index]!));
  return {
    operation: name,
    p50: round(p50(ours), 2),
    p99: round(p99(ours), 2),
    bareP50: round(p50(sameCalls), 2),
    bareP99: round(p99(sameCalls), 2),
    singleP50: singleCall && round(p50(singleCall), 2),
    limitP50: limitAlone && round(p50(limitAlone), 2),
    ratio: round(p50(ours) / p50(singleCall ?? sameCalls), 2),
    cpu: round(median(ours.batches), 3),
    cpuOutsideCalls: round(difference, 3),
  };
}
