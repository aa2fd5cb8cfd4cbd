import type { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from 'vitest';
import { findKey } from '../../../functions/access/key-records.ts';
import { admit } from '../../../functions/access/limiter.ts';
import { usageInMemory } from '../../support/usage-in-memory.ts';
import { at } from '../../support/times.ts';

const noon = Date.parse('2026-04-01T12:00:00Z') / 1000;
const day = noon - 43_200;
const keyHash = 'a'.repeat(64);
const limits = { perMinute: 10, perDay: 1_000 };

function tableWith(item: Readonly<Record<string, number>>) {
  const { client, tables, put } = usageInMemory();
  put({ keyHash, ...item });
  return { client, put, tableName: 'RateLimits', item: () => tables.items('RateLimits')[0] };
}

test('a minute that a wrong clock has stored ahead of the time starts again', async () => {
  const table = tableWith({ minute: noon + 3_600, minuteCount: 10, day, dayCount: 7 });
  expect(await admit(table, { keyHash, limits, now: at(noon) })).toMatchObject({
    kind: 'admitted',
    status: { minute: { remaining: 9, reset: noon + 60 }, day: { remaining: 992 } },
  });
  expect(table.item()).toMatchObject({ minute: noon, minuteCount: 1, dayCount: 8 });
});

test('a first rejection that a wrong clock has stored ahead of the time is replaced', async () => {
  const full = { minute: noon, minuteCount: 10, day, dayCount: 20, rejections: 50 };
  const table = tableWith({ ...full, rejectedSince: noon + 3_600 });
  expect(await admit(table, { keyHash, limits, now: at(noon + 5) })).toMatchObject({ kind: 'rejected' });
  expect(table.item()).toMatchObject({ rejectedSince: noon + 5, rejections: 0 });
});

/** The table, which another function writes between the first and the second write. */
function changedMeanwhile(table: ReturnType<typeof tableWith>, item: object) {
  let writes = 0;
  const send = async (command: unknown) => {
    writes += 1;
    if (writes === 2) table.put(item);
    return table.client.send(command as UpdateCommand);
  };
  return { ...table, client: { send } as unknown as DynamoDBDocumentClient };
}

describe('a rejection is written only on the usage that it was decided on:', () => {
  const full = { minute: noon, minuteCount: 10, day, dayCount: 20, rejectedSince: noon - 60, rejections: 50 };
  const told = { rejectedSince: noon + 5 };
  // One more suspends the key.
  const last = { rejectedSince: noon + 5, rejections: 202 };

  test.each([
    ['the first one not if the key was suspended', {}, { suspendedUntil: noon + 300 }, 'suspended', {}],
    [
      'a later one not if the minute is rejected since now',
      told,
      { rejectedSince: noon + 30 },
      'rejected',
      {},
    ],
    [
      'the one that suspends not if an operator has resumed the key',
      last,
      { ...last, rejections: 0 },
      'rejected',
      { rejections: 1, suspendedUntil: 0 },
    ],
  ])('%s meanwhile', async (_name, before, meanwhile, kind, changed) => {
    const table = tableWith({ ...full, ...before });
    const item = { keyHash, ...full, ...meanwhile };
    const decision = await admit(changedMeanwhile(table, item), { keyHash, limits, now: at(noon + 30) });
    expect(decision.kind).toBe(kind);
    expect(table.item()).toEqual({ ...item, ...changed });
  });

  test.each([
    ['first', {}, { rejectedSince: noon + 30, rejections: 0 }],
    ['later', told, { ...told, rejections: 51 }],
  ])('a %s one in the minute that a clock ahead has filled meanwhile', async (_name, before, after) => {
    const item = { keyHash, ...full, ...before, minute: noon + 60 };
    const table = tableWith({ ...full, ...before });
    await admit(changedMeanwhile(table, item), { keyHash, limits, now: at(noon + 30) });
    expect(table.item()).toMatchObject({ minute: noon + 60, ...after });
  });
});

test('a minute does not start in the day that a wrong clock has stored meanwhile', async () => {
  const table = tableWith({ minute: noon - 60, minuteCount: 1, day, dayCount: 5 });
  const item = { keyHash, minute: noon + 86_400, minuteCount: 1, day: day + 86_400, dayCount: 1 };
  await admit(changedMeanwhile(table, item), { keyHash, limits, now: at(noon) });
  expect(table.item()).toMatchObject({ minute: noon, minuteCount: 1, day, dayCount: 1 });
});

test('a key is looked up consistently: API Gateway would cache the denial of a new key', async () => {
  const inputs: unknown[] = [];
  const client = {
    send: async ({ input }: { readonly input: object }) => {
      inputs.push(input);
      return {};
    },
  } as unknown as DynamoDBDocumentClient;
  await findKey({ client, tableName: 'ApiKeys' }, keyHash);
  expect(inputs).toEqual([{ TableName: 'ApiKeys', Key: { keyHash }, ConsistentRead: true }]);
});
