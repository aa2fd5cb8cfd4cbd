import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { decideKey, findKey, type KeyTable } from '../../../functions/access/key-records.ts';
import { newKeyId } from '../../../tools/keys/key-ids.ts';
import {
  type AdministeredKey,
  auditTrailLength,
  changeKey,
  findKeyById,
  readKey,
  StaleRecordError,
  storeNewKey,
} from '../../../tools/keys/records.ts';
import { createTable } from '../../support/tables.ts';
import { now, store } from './support.ts';

let table: KeyTable;
beforeAll(async () => {
  table = await createTable('ApiKeys');
});

const line = { at: now, by: 'someone', did: 'created', detail: 'free' };

function newRecord(changes: Partial<AdministeredKey> = {}): AdministeredKey {
  return {
    keyHash: randomBytes(32).toString('hex'),
    keyId: newKeyId(now * 1000),
    owner: 'Ada',
    plan: 'free',
    status: 'active',
    createdAt: now,
    gatewayKeyId: 'g',
    audit: [line],
    ...changes,
  };
}

async function stored(changes: Partial<AdministeredKey> = {}): Promise<AdministeredKey> {
  const record = newRecord(changes);
  await storeNewKey(table, record);
  return record;
}

/** The decision of the authorizer. */
const decision = async (keyHash: string) => decideKey(await findKey(table, keyHash), now).kind;

const replacement = (key: AdministeredKey, replacedBy: string) => ({
  key,
  change: { set: { replacedBy, expiresAt: now }, line: { ...line, did: 'replaced' }, anyLength: true },
});

describe('a new key', () => {
  test('is accepted by the authorizer from the one write on', async () => {
    const record = newRecord();
    expect(await decision(record.keyHash)).toBe('denied');
    await storeNewKey(table, record);
    expect(await decision(record.keyHash)).toBe('granted');
  });

  test('and the end of the key that it replaces are one transaction', async () => {
    const old = await stored();
    await changeKey(table, old, { set: { status: 'revoked' }, line });
    const record = newRecord();
    await expect(storeNewKey(table, record, replacement(old, record.keyId))).rejects.toThrow(
      StaleRecordError,
    );
    expect(await readKey(table, record.keyHash)).toBeUndefined();
    expect(await readKey(table, old.keyHash)).not.toHaveProperty('replacedBy');
  });

  test('replaces a key once, whoever tries at the same time', async () => {
    const old = await stored();
    const records = [newRecord(), newRecord(), newRecord()];
    const results = await Promise.allSettled(
      records.map((record) => storeNewKey(table, record, replacement(old, record.keyId))),
    );
    const fulfilled = results.filter(({ status }) => status === 'fulfilled').length;
    expect(fulfilled).toBeLessThanOrEqual(1);
    const found = await Promise.all(records.map(({ keyHash }) => readKey(table, keyHash)));
    expect(found.filter((record) => record !== undefined)).toHaveLength(fulfilled);
  });
});

describe('a change', () => {
  test('and its audit line are one write', async () => {
    const record = await stored();
    const set = { plan: 'enterprise', perMinute: 5, perDay: 50 };
    await changeKey(table, record, { set, line: { ...line, did: 'changed plan' } });
    const changed = await readKey(table, record.keyHash);
    expect(changed).toMatchObject({ ...set, audit: [{ did: 'created' }, { did: 'changed plan' }] });
    await changeKey(table, changed!, { set: { plan: 'free' }, remove: ['perMinute', 'perDay'], line });
    expect(await readKey(table, record.keyHash)).not.toHaveProperty('perMinute');
  });

  test('based on a record that was changed meanwhile changes nothing', async () => {
    const record = await stored();
    await changeKey(table, record, { set: { plan: 'pro' }, line });
    const late = changeKey(table, record, { set: { plan: 'business' }, line });
    await expect(late).rejects.toThrow(StaleRecordError);
    expect(await readKey(table, record.keyHash)).toMatchObject({ plan: 'pro' });
  });

  test('of a record that does not exist creates none', async () => {
    const record = newRecord();
    await expect(changeKey(table, record, { line })).rejects.toThrow(StaleRecordError);
    expect(await readKey(table, record.keyHash)).toBeUndefined();
  });

  test('of a key with a full audit trail is refused, unless it ends the key’s life', async () => {
    const audit = Array.from({ length: auditTrailLength }, () => line);
    const [full, other] = [newRecord({ audit }), newRecord({ audit })];
    await store(table, [full, other]);
    await expect(changeKey(table, full, { line })).rejects.toThrow(
      `The audit trail of ${full.keyId} is full (1000 lines). Rotate or revoke the key.`,
    );
    await changeKey(table, full, { set: { status: 'revoked' }, line, anyLength: true });
    expect((await readKey(table, full.keyHash))?.audit).toHaveLength(auditTrailLength + 1);
    const successor = newRecord();
    await storeNewKey(table, successor, replacement(other, successor.keyId));
    expect(await decision(other.keyHash)).toBe('denied');
  });
});

test('a key is found by its ID, and an unknown ID is not', async () => {
  const { keyId, keyHash } = await stored();
  expect(await findKeyById(table, keyId)).toMatchObject({ keyHash, gatewayKeyId: 'g' });
  expect(await findKeyById(table, newKeyId(0))).toBeUndefined();
});
