import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  activateKey,
  addAuditLine,
  auditTrailLength,
  changeRecordPlan,
  findKeyById,
  insertPendingKey,
  type NewKeyRecord,
  readKey,
  removePendingKey,
  revokeRecord,
  settleRecord,
  StaleRecordError,
  takeOverPendingKey,
} from '../../../tools/keys/key-administration.ts';
import { decideKey, findKey, type KeyTable } from '../../../functions/access/key-records.ts';
import { newKeyId } from '../../../tools/keys/key-ids.ts';
import { createTable } from '../../support/tables.ts';
import { now, store } from './support.ts';

let table: KeyTable;
beforeAll(async () => {
  table = await createTable('ApiKeys');
});

const line = { at: now, by: 'someone', did: 'created', detail: 'free' };

function newRecord(changes: Partial<NewKeyRecord> = {}): NewKeyRecord {
  return {
    keyHash: randomBytes(32).toString('hex'),
    keyId: newKeyId(now * 1000),
    owner: 'Ada',
    plan: 'free',
    createdAt: now,
    attempt: 'mine',
    ...changes,
  };
}

async function active(changes: Partial<NewKeyRecord> = {}): Promise<NewKeyRecord> {
  const record = newRecord(changes);
  await insertPendingKey(table, record);
  await activateKey(table, { keyHash: record.keyHash, attempt: record.attempt, gatewayKeyId: 'g', line });
  return record;
}

/** What the authorizer makes of the record. */
const decision = async (keyHash: string) => decideKey(await findKey(table, keyHash), now).kind;

const stale = expect.objectContaining({ name: 'StaleRecordError' });

describe('a pending key', () => {
  test('is denied by the authorizer until it is activated', async () => {
    const record = newRecord();
    await insertPendingKey(table, record);
    expect(await decision(record.keyHash)).toBe('denied');
    await activateKey(table, { keyHash: record.keyHash, attempt: 'mine', gatewayKeyId: 'g', line });
    expect(await decision(record.keyHash)).toBe('granted');
  });

  test('can be stored again by the attempt that stored it, and by no other', async () => {
    const record = newRecord();
    await insertPendingKey(table, record);
    await insertPendingKey(table, record);
    await expect(insertPendingKey(table, { ...record, attempt: 'other' })).rejects.toThrow(StaleRecordError);
  });

  test('that was taken over can no longer be activated by the attempt that made it', async () => {
    const record = newRecord();
    await insertPendingKey(table, record);
    await takeOverPendingKey(table, (await readKey(table, record.keyHash))!, 'other');
    const mine = activateKey(table, { keyHash: record.keyHash, attempt: 'mine', gatewayKeyId: 'g', line });
    await expect(mine).rejects.toThrow(StaleRecordError);
    expect(await decision(record.keyHash)).toBe('denied');
  });

  test('is taken over by one of two who try at once', async () => {
    const record = newRecord();
    await insertPendingKey(table, record);
    const seen = (await readKey(table, record.keyHash))!;
    const results = await Promise.allSettled(['a', 'b'].map((name) => takeOverPendingKey(table, seen, name)));
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('once active is neither taken over nor removed', async () => {
    const record = newRecord();
    await insertPendingKey(table, record);
    const seen = (await readKey(table, record.keyHash))!;
    await activateKey(table, { keyHash: record.keyHash, attempt: 'mine', gatewayKeyId: 'g', line });
    await expect(takeOverPendingKey(table, seen, 'other')).rejects.toEqual(stale);
    await expect(removePendingKey(table, record.keyHash)).rejects.toEqual(stale);
    expect(await decision(record.keyHash)).toBe('granted');
  });
});

describe('an activation in place of another key', () => {
  const replacement = (keyHash: string) => ({
    keyHash,
    replacedBy: 'key_new',
    expiresAt: now + 60,
    unsettled: 'u',
    line: { ...line, did: 'replaced' },
  });

  test('is both or neither', async () => {
    const old = await active();
    const record = newRecord();
    await insertPendingKey(table, record);
    await revokeRecord(table, old.keyHash, { unsettled: 'u', line });
    const activation = {
      keyHash: record.keyHash,
      attempt: 'mine',
      gatewayKeyId: 'g',
      replaces: old.keyId,
      line,
    };
    await expect(activateKey(table, activation, replacement(old.keyHash))).rejects.toEqual(stale);
    expect(await readKey(table, record.keyHash)).toMatchObject({ status: 'pending', audit: [] });
    expect(await readKey(table, old.keyHash)).not.toHaveProperty('replacedBy');
  });

  test('happens to a key once', async () => {
    const old = await active();
    const records = [newRecord(), newRecord()];
    for (const record of records) await insertPendingKey(table, record);
    const results = await Promise.allSettled(
      records.map(({ keyHash }) =>
        activateKey(table, { keyHash, attempt: 'mine', gatewayKeyId: 'g', line }, replacement(old.keyHash)),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
    const statuses = await Promise.all(
      records.map(async ({ keyHash }) => (await readKey(table, keyHash))?.status),
    );
    expect(statuses.filter((status) => status === 'active')).toHaveLength(
      results.filter(({ status }) => status === 'fulfilled').length,
    );
  });
});

describe('a change', () => {
  test('and its audit line are one write', async () => {
    const { keyHash } = await active();
    const before = (await readKey(table, keyHash))!;
    await changeRecordPlan(table, before, {
      plan: 'enterprise',
      limits: { perMinute: 5, perDay: 50 },
      unsettled: 'u',
      line: { ...line, did: 'changed plan' },
    });
    expect(await readKey(table, keyHash)).toMatchObject({
      plan: 'enterprise',
      perMinute: 5,
      perDay: 50,
      unsettled: 'u',
      audit: [{ did: 'created' }, { did: 'changed plan' }],
    });
  });

  test('decided on a plan that is no longer the key’s changes nothing', async () => {
    const { keyHash } = await active();
    const before = (await readKey(table, keyHash))!;
    await changeRecordPlan(table, before, { plan: 'pro', unsettled: 'a', line });
    const late = changeRecordPlan(table, before, { plan: 'business', unsettled: 'b', line });
    await expect(late).rejects.toEqual(stale);
    expect(await readKey(table, keyHash)).toMatchObject({ plan: 'pro', unsettled: 'a' });
  });

  test('to a plan with limits of its own takes the key’s own away', async () => {
    const { keyHash } = await active({ plan: 'enterprise', limits: { perMinute: 5, perDay: 50 } });
    await changeRecordPlan(table, (await readKey(table, keyHash))!, { plan: 'free', unsettled: 'u', line });
    const record = await readKey(table, keyHash);
    expect(record).not.toHaveProperty('perMinute');
    expect(record).not.toHaveProperty('perDay');
  });

  test('that came in between keeps the record unsettled', async () => {
    const { keyHash } = await active();
    const first = (await readKey(table, keyHash))!;
    await changeRecordPlan(table, first, { plan: 'pro', unsettled: 'a', line });
    const seen = (await readKey(table, keyHash))!;
    await changeRecordPlan(table, seen, { plan: 'business', unsettled: 'b', line });
    await expect(settleRecord(table, seen, 'g')).rejects.toEqual(stale);
    expect(await readKey(table, keyHash)).toMatchObject({ unsettled: 'b' });
  });

  test('is refused of a key whose audit trail is full, but for one that ends its life', async () => {
    const trail = Array.from({ length: auditTrailLength }, () => line);
    const [full, other] = [await active(), await active()];
    for (const { keyHash, keyId } of [full, other]) {
      const record = {
        keyHash,
        keyId,
        owner: 'Ada',
        plan: 'free',
        status: 'active',
        createdAt: now,
        audit: trail,
      };
      await store(table, [record]);
      await expect(addAuditLine(table, keyHash, line)).rejects.toEqual(stale);
    }
    await revokeRecord(table, full.keyHash, { unsettled: 'u', line });
    expect((await readKey(table, full.keyHash))?.audit).toHaveLength(auditTrailLength + 1);

    const successor = newRecord();
    await insertPendingKey(table, successor);
    await activateKey(
      table,
      { keyHash: successor.keyHash, attempt: 'mine', gatewayKeyId: 'g', line },
      { keyHash: other.keyHash, replacedBy: successor.keyId, expiresAt: now, unsettled: 'u', line },
    );
    expect(await decision(other.keyHash)).toBe('denied');
  });
});

test('a key is found by its id, and one that is not there is not', async () => {
  const { keyId, keyHash } = await active();
  expect(await findKeyById(table, keyId)).toMatchObject({ keyHash, gatewayKeyId: 'g' });
  expect(await findKeyById(table, newKeyId(0))).toBeUndefined();
});
