import { randomBytes } from 'node:crypto';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from 'vitest';
import {
  indefinitely,
  readUsage,
  readUsages,
  setSuspension,
} from '../../../tools/operators/keys/key-usage.ts';
import { admit, type LimitTable } from '../../../functions/access/limiter.ts';
import { suspensionGrace, suspensionThreshold } from '../../../functions/access/limiter-decisions.ts';
import { windowStart } from '../../../functions/access/plans.ts';
import { createTable } from '../../support/create-tables.ts';
import { now } from './support.ts';
import { at } from '../../support/times.ts';

let table: LimitTable;
beforeAll(async () => {
  table = await createTable('rateLimits');
});

const limits = { perMinute: 1, perDay: 1_000 };
const newHash = () => randomBytes(32).toString('hex');
const ask = (keyHash: string, moment: number) => admit(table, { keyHash, limits, now: at(moment) });

/** When time to live deletes the item, in Unix seconds. */
async function deletedAt(keyHash: string): Promise<number> {
  const { Item: item } = await table.client.send(
    new GetCommand({ TableName: table.tableName, Key: { keyHash } }),
  );
  return Number(item?.['expiresAt']);
}

test.each([
  ['an hour', now + 3_600],
  ['a year', now + 366 * 86_400],
  ['good', indefinitely],
])(
  'a suspension for %s holds until its last second, and its item is kept for longer',
  async (_time, until) => {
    const keyHash = newHash();
    await setSuspension(table, keyHash, until, now);
    expect(await ask(keyHash, now)).toMatchObject({ kind: 'suspended' });
    expect(await ask(keyHash, until - 1)).toMatchObject({ kind: 'suspended', retryAfter: 1 });
    expect(await deletedAt(keyHash)).toBeGreaterThan(until);
    expect(await ask(keyHash, until)).toMatchObject({ kind: 'admitted' });
  },
);

test('a suspension outlasts the use that was counted before it', async () => {
  const keyHash = newHash();
  await ask(keyHash, now);
  await setSuspension(table, keyHash, indefinitely, now);
  expect(await deletedAt(keyHash)).toBeGreaterThan(indefinitely);
});

test('a key resumed in the minute in which its rejections suspended it is not suspended by the next one', async () => {
  const keyHash = newHash();
  const start = windowStart(now, 60);
  const later = start + suspensionGrace;
  for (const moment of [start, start]) await ask(keyHash, moment);
  const threshold = suspensionThreshold(start, limits);
  await Promise.all(Array.from({ length: threshold }, () => ask(keyHash, later)));
  expect(await ask(keyHash, later)).toMatchObject({ kind: 'suspended' });
  await setSuspension(table, keyHash, 0, now);
  expect(await ask(keyHash, later)).toMatchObject({ kind: 'rejected' });
  expect(await readUsage(table, keyHash)).toMatchObject({ rejections: 1, suspendedUntil: 0 });
});

test('resuming keeps the use of the windows, and the item expires again', async () => {
  const keyHash = newHash();
  await ask(keyHash, now);
  await setSuspension(table, keyHash, indefinitely, now);
  await setSuspension(table, keyHash, 0, now);
  expect(await ask(keyHash, now)).toMatchObject({ kind: 'rejected' });
  expect(await deletedAt(keyHash)).toBeLessThan(now + 366 * 86_400);
});

test('the use of many keys is read in their order, and is zero for a key that was never used', async () => {
  const hashes = Array.from({ length: 101 }, newHash);
  await ask(hashes[0]!, now);
  await admit(table, { keyHash: hashes[100]!, limits, now: at(now), deprecated: true });
  const uses = await readUsages(table, hashes);
  expect(uses).toHaveLength(101);
  expect(uses[0]).toMatchObject({ minuteCount: 1, dayCount: 1, deprecatedCalls: 0 });
  expect(uses[50]).toMatchObject({ minute: 0, minuteCount: 0, dayCount: 0, suspendedUntil: 0 });
  expect(uses[100]).toMatchObject({ deprecatedCalls: 1 });
});
