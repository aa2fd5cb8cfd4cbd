import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { customPlanCeiling } from '../../functions/access/plans.ts';
import { createKey } from '../../tools/keys/commands/create.ts';
import { openKeyService } from '../../tools/keys/service.ts';
import { localStage, startLocalStack } from '../../tools/local-stack.ts';
import { localDynamoDb, seedAnimals } from '../../tools/seed.ts';
import { quantile, round } from '../harness/stats.ts';
import type { Shot } from './load-process.ts';

export interface LoadStep {
  /** Requests under way at any time. */
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Share of answers other than 200. */
  readonly errors: number;
  /** Share of the machine's processors that each part took; Linux only. */
  readonly processors: {
    readonly gatewayAndFunctions: number;
    readonly dynamoDb: number | undefined;
    readonly client: number;
  };
}

export interface LoadResult {
  readonly steps: readonly LoadStep[];
  /** The most requests a second with no more errors than the budget allows. */
  readonly sustained: number;
  readonly errorBudget: number;
}

const errorBudget = 0.001;
const warmUpMs = 5_000;

/** Listings of 20 animals with a filter through the whole service as `npm start` runs it, one concurrency after the other. */
export async function measureLoad(
  concurrencies: readonly number[],
  stepMs: number,
  onProgress: (message: string) => void,
): Promise<LoadResult> {
  const service = await startLocalStack({ onProgress });
  try {
    const table = {
      client: localDynamoDb(service.dynamodbEndpoint),
      tableName: service.outputs['PetsTableName']!,
    };
    await seedAnimals(table, 1_000, Date.now());
    const keys = await openKeyService({ stage: localStage, endpoint: service.endpoint });
    const limits = { perMinute: customPlanCeiling.perMinute, perDay: 10_000_000 };
    const { key } = await createKey(keys, { owner: 'bench', plan: 'enterprise', limits });
    const url = `${service.url}/pets?status=available`;
    onProgress('Load: warming up');
    await shoot(url, key, 8, warmUpMs);
    const steps: LoadStep[] = [];
    for (const concurrency of concurrencies) {
      onProgress(`Load: ${concurrency} at once`);
      steps.push(await measureStep(url, key, concurrency, stepMs));
    }
    const within = steps.filter(({ errors }) => errors <= errorBudget);
    const sustained = Math.max(0, ...within.map(({ requestsPerSecond }) => requestsPerSecond));
    return { steps, sustained, errorBudget };
  } finally {
    await service.stop();
  }
}

async function measureStep(url: string, key: string, concurrency: number, stepMs: number): Promise<LoadStep> {
  const java = await javaProcess();
  const [ownBefore, javaBefore, start] = [process.cpuUsage(), await cpuOf(java), performance.now()];
  const { latencies, statuses, cpu } = await shoot(url, key, concurrency, stepMs);
  const elapsed = performance.now() - start;
  const own = process.cpuUsage(ownBefore);
  const javaAfter = await cpuOf(java);
  const share = (milliseconds: number): number => round(milliseconds / elapsed / availableParallelism(), 2);
  return {
    concurrency,
    requestsPerSecond: round(latencies.length / (stepMs / 1_000), 0),
    p50: round(quantile(latencies, 0.5)),
    p99: round(quantile(latencies, 0.99)),
    errors: round(1 - (statuses[200] ?? 0) / latencies.length, 4),
    processors: {
      gatewayAndFunctions: share((own.user + own.system) / 1_000),
      dynamoDb:
        javaBefore === undefined || javaAfter === undefined ? undefined : share(javaAfter - javaBefore),
      client: share(cpu),
    },
  };
}

async function shoot(url: string, key: string, concurrency: number, duration: number): Promise<Shot> {
  const script = new URL('load-process.ts', import.meta.url);
  const child = fork(script, [url, key, String(concurrency), String(duration)]);
  const [shot] = (await once(child, 'message')) as [Shot];
  return shot;
}

/** DynamoDB Local, which this process has started. */
async function javaProcess(): Promise<number | undefined> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    const stat = /^\d+$/.test(pid) ? await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '') : '';
    const [, command, parent] = /^\d+ \((.+)\) \S (\d+)/.exec(stat) ?? [];
    if (command === 'java' && Number(parent) === process.pid) return Number(pid);
  }
  return undefined;
}

/** Milliseconds; a tick is a hundredth of a second. */
async function cpuOf(pid: number | undefined): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
