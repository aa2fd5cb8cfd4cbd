import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../lib/bundler/bundle.ts';
import { buildPeer } from '../harness/build.ts';
import { startDynamoDb } from '../harness/dynamodb.ts';
import { lambdaVariables } from '../harness/lambda.ts';
import { variables } from '../harness/variables.ts';
import type { WarmResult } from './warm-process.ts';

/** @param rounds batches of 25 requests of each handler */
export async function measureWarm(rounds: number): Promise<WarmResult[]> {
  const dynamoDb = await startDynamoDb(0);
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  try {
    for (const entry of ['list-pets', 'get-pet', 'create-pet', 'authorizer'])
      await bundle(`functions/${entry}.ts`, directory);
    await bundle('bench/variants/bare.ts', directory);
    for (const file of ['list', 'create']) await buildPeer(`parts/${file}.mjs`, directory);
    const script = new URL('warm-process.ts', import.meta.url);
    const child = fork(script, [directory, String(rounds)], {
      env: { ...lambdaVariables, ...variables(), ...dynamoDb.environment },
      // Log lines are written, as on Lambda.
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`The functions ended with exit code ${code}`);
    });
    const [results] = (await Promise.race([once(child, 'message'), ended])) as [WarmResult[]];
    ended.catch(() => {});
    return results;
  } finally {
    await dynamoDb.stop();
    await rm(directory, { recursive: true });
  }
}
