import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { LimitTable } from '../../../functions/access/limiter.ts';
import type { Decision } from '../../../functions/access/limiter-decisions.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { rounds } from '../../support/rounds.ts';
import { createTable } from '../../support/tables.ts';

// Simulated time lies ahead: DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
const { free } = fixedPlans;

const count = rounds({ full: 4, sample: 2 });
const requests = rounds({ full: 500, sample: 180 });

let table: LimitTable;
let processes: readonly ChildProcess[];

beforeAll(async () => {
  const script = new URL('../../support/limiter-process.ts', import.meta.url);
  processes = Array.from({ length: count }, () => fork(script, [inject('dynamodbEndpoint')]));
  await Promise.all(processes.map((each) => once(each, 'message')));
  table = await createTable('RateLimits');
});

afterAll(() => {
  for (const each of processes) each.kill();
});

/** The decisions on requests of a key, sent by all processes at once. */
async function admit(keyHash: string, now: number): Promise<Decision[]> {
  const { tableName } = table;
  const order = { tableName, keyHash, limits: free, now, requests: requests / count };
  const answers = processes.map(async (each) => {
    const answer = once(each, 'message');
    each.send(order);
    return ((await answer) as [Decision[]])[0];
  });
  return (await Promise.all(answers)).flat();
}

test.each(Array.from({ length: rounds({ full: 10, sample: 1 }) }, (_, round) => round + 1))(
  `of ${requests} requests with one Free key, spread over ${count} processes, exactly 60 are admitted (round %i)`,
  async () => {
    const keyHash = randomBytes(32).toString('hex');
    const decisions = await admit(keyHash, noon + 7);
    expect(decisions).toHaveLength(requests);
    const admitted = decisions.filter(({ kind }) => kind === 'admitted');
    const remaining = admitted.map(({ status }) => status.minute.remaining).toSorted((a, b) => b - a);
    // What the answers report adds up: each remaining number is reported once.
    expect(remaining).toEqual(Array.from({ length: 60 }, (_, index) => 59 - index));
    const day = admitted.map(({ status }) => status.day.remaining).toSorted((a, b) => b - a);
    expect(day).toEqual(Array.from({ length: 60 }, (_, index) => 999 - index));
    expect(decisions.filter(({ kind }) => kind === 'rejected')).toHaveLength(requests - 60);
    expect(new Set(decisions.map(({ status }) => status.minute.limit))).toEqual(new Set([60]));

    // Those that go on suspend the key.
    const later = Map.groupBy(await admit(keyHash, noon + 17), ({ kind }) => kind);
    expect(later.get('rejected')).toHaveLength(99);
    expect(later.get('suspended')).toHaveLength(requests - 99);
  },
);
