import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuQuota } from '../harness/cpu-quota.ts';
import { dynamoDbAnswers, startDynamoDbStub } from '../harness/dynamodb-stub.ts';
import { events, stackVariables } from '../harness/fixtures.ts';
import { type ColdStart, Lambda } from '../harness/lambda.ts';
import { median, quantile, round } from '../harness/stats.ts';
import { buildOtherWay, deployed } from '../harness/variants.ts';

export interface MemoryResult {
  /** MB, as Lambda counts them. */
  readonly memory: number;
  /** Process start to the first answer, in milliseconds. */
  readonly firstAnswer: number;
  /** Event to answer, once the function has answered before, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** GB-seconds that Lambda would bill for a million warm requests: each is rounded up to a millisecond. */
  readonly gbSecondsPerMillion: number;
}

const sizes = [128, 256, 512, 1_024, 1_769];

/** What DynamoDB takes for one call, in milliseconds: about as long as from a function. */
const waitMs = 5;

/**
 * The listing with as much of a processor as it has at each memory size, every size once a round.
 *
 * @param warm requests after the first, each of which counts
 * @returns undefined where processes cannot be given a part of a processor
 */
export async function measureMemory(
  rounds: number,
  warm: number,
  onProgress: (done: number, of: number) => void,
): Promise<MemoryResult[] | undefined> {
  const root = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  const stub = await startDynamoDbStub(dynamoDbAnswers(), waitMs);
  const lambda = await Lambda.start();
  const quotas = new Map<number, CpuQuota>();
  try {
    for (const memory of sizes) {
      const quota = await CpuQuota.ofMemory(memory);
      if (quota === undefined) return undefined;
      quotas.set(memory, quota);
    }
    const { directory } = await buildOtherWay('list-pets', root, deployed);
    const target = {
      name: 'list-pets',
      directory,
      handler: 'list-pets.handler',
      environment: { ...stackVariables(), ...stub.environment },
      event: events.list(),
      accepts: (answer: unknown) => JSON.stringify(answer).includes('"statusCode":200'),
    };
    const starts = new Map<number, ColdStart[]>(sizes.map((memory) => [memory, []]));
    for (let done = 0; done < rounds; done += 1) {
      onProgress(done, rounds);
      for (const [memory, all] of starts) {
        all.push(await lambda.coldStart(target, { warm, quota: quotas.get(memory)! }));
      }
    }
    return sizes.map((memory) => summarise(memory, starts.get(memory)!));
  } finally {
    await lambda.stop();
    await stub.stop();
    for (const quota of quotas.values()) await quota.remove();
    await rm(root, { recursive: true });
  }
}

function summarise(memory: number, starts: readonly ColdStart[]): MemoryResult {
  const warm = starts.flatMap((start) => start.warm);
  const billed = warm.reduce((sum, duration) => sum + Math.ceil(duration), 0) / warm.length;
  return {
    memory,
    firstAnswer: round(median(starts.map(({ answer }) => answer)), 0),
    p50: round(median(warm)),
    p99: round(quantile(warm, 0.99)),
    gbSecondsPerMillion: round((billed / 1_000) * (memory / 1_024) * 1_000_000, 0),
  };
}
