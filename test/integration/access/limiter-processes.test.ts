import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LimitTable } from '../../../functions/access/limiter.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { Processes } from '../../support/processes.ts';
import { rounds } from '../../support/rounds.ts';
import { createTable } from '../../support/tables.ts';

// Simulated time lies ahead: DynamoDB Local deletes what has expired by its own clock.
const noon = Date.parse('2036-07-01T12:00:00Z') / 1000;
const { free } = fixedPlans;

const count = rounds({ full: 4, sample: 2 });
const requests = rounds({ full: 500, sample: 180 });

let table: LimitTable;
let processes: Processes;

beforeAll(async () => {
  [table, processes] = await Promise.all([createTable('RateLimits'), Processes.start(count)]);
});

afterAll(() => {
  processes.stop();
});

test.each(Array.from({ length: rounds({ full: 10, sample: 1 }) }, (_, round) => round + 1))(
  `of ${requests} requests with one Free key, spread over ${count} processes, exactly 60 are admitted (round %i)`,
  async () => {
    const decisions = await processes.admit({
      tableName: table.tableName,
      keyHash: randomBytes(32).toString('hex'),
      limits: free,
      clocks: Array.from({ length: requests }, () => noon + 7),
    });
    expect(decisions).toHaveLength(requests);
    const admitted = decisions.filter(({ kind }) => kind === 'admitted');
    const remaining = admitted.map(({ status }) => status.minute.remaining).toSorted((a, b) => b - a);
    // What the answers report adds up: each remaining number is reported once.
    expect(remaining).toEqual(Array.from({ length: 60 }, (_, index) => 59 - index));
    const day = admitted.map(({ status }) => status.day.remaining).toSorted((a, b) => b - a);
    expect(day).toEqual(Array.from({ length: 60 }, (_, index) => 999 - index));
    const others = Map.groupBy(decisions, ({ kind }) => kind);
    expect(others.get('rejected')).toHaveLength(99);
    expect(others.get('suspended')).toHaveLength(requests - 60 - 99);
    expect(new Set(decisions.map(({ status }) => status.minute.limit))).toEqual(new Set([60]));
  },
);
