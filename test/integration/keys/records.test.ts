import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { decideKey, findKey } from '../../../functions/access/key-records.ts';
import { newKeyId } from '../../../tools/operators/keys/key-ids.ts';
import {
  type AdministeredKey,
  auditTrailLength,
  findKeyById,
  readKey,
  write,
} from '../../../tools/operators/keys/records.ts';
import { StaleRecordError } from '../../../tools/operators/command-line/change.ts';
import type { KeyService } from '../../../tools/operators/keys/service.ts';
import { newKeyService, now, store } from './support.ts';

let service: KeyService;
beforeAll(async () => {
  service = await newKeyService();
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

async function stored(): Promise<AdministeredKey> {
  const record = newRecord();
  await write(service, created(record));
  return record;
}

/** The decision of the authorizer. */
const decision = async (keyHash: string) => decideKey(await findKey(service.keyTable, keyHash), now).kind;

const created = (record: AdministeredKey) => {
  const { keyHash, audit, ...set } = record;
  expect(audit).toEqual([line]);
  return { key: { keyHash, keyId: set.keyId, audit: [] }, did: 'created', set };
};

const replacement = (key: AdministeredKey, replacedBy: string) => ({
  key,
  set: { replacedBy, expiresAt: now },
  did: 'replaced',
  anyLength: true,
});

describe('a new key', () => {
  test('is accepted by the authorizer after the write', async () => {
    const record = newRecord();
    expect(await decision(record.keyHash)).toBe('denied');
    await write(service, created(record));
    expect(await decision(record.keyHash)).toBe('granted');
  });

  test('and the end of the key that it replaces are one transaction', async () => {
    const old = await stored();
    await write(service, { key: old, set: { status: 'revoked' }, did: 'changed' });
    const record = newRecord();
    await expect(write(service, created(record), replacement(old, record.keyId))).rejects.toThrow();
    expect(await readKey(service, record.keyHash)).toBeUndefined();
    expect(await readKey(service, old.keyHash)).not.toHaveProperty('replacedBy');
  });

  test('replaces a key once if several processes try at the same time', async () => {
    const old = await stored();
    const records = [newRecord(), newRecord(), newRecord()];
    const results = await Promise.allSettled(
      records.map((record) => write(service, created(record), replacement(old, record.keyId))),
    );
    const fulfilled = results.filter(({ status }) => status === 'fulfilled').length;
    expect(fulfilled).toBeLessThanOrEqual(1);
    const found = await Promise.all(records.map(({ keyHash }) => readKey(service, keyHash)));
    expect(found.filter((record) => record !== undefined)).toHaveLength(fulfilled);
  });
});

describe('a change', () => {
  test('and its audit line are one write', async () => {
    const record = await stored();
    const set = { plan: 'enterprise', perMinute: 5, perDay: 50 } as const;
    await write(service, { key: record, set, did: 'changed plan' });
    const changed = await readKey(service, record.keyHash);
    expect(changed).toMatchObject({ ...set, audit: [{ did: 'created' }, { did: 'changed plan' }] });
    await write(service, {
      key: changed!,
      set: { plan: 'free', perMinute: undefined, perDay: undefined },
      did: 'changed',
    });
    expect(await readKey(service, record.keyHash)).not.toHaveProperty('perMinute');
  });

  test('keeps attributes that this version does not know', async () => {
    const record = { ...newRecord(), futureCount: 7, futureText: 'x' };
    await store(service.keyTable, [record]);
    await write(service, {
      key: (await readKey(service, record.keyHash))!,
      set: { note: 'n' },
      did: 'changed',
    });
    const changed = await readKey(service, record.keyHash);
    expect(changed).toMatchObject({ note: 'n', futureCount: { value: '7' }, futureText: 'x' });
  });

  test('based on a record that was changed meanwhile changes nothing', async () => {
    const record = await stored();
    await write(service, { key: record, set: { plan: 'pro' }, did: 'changed' });
    const late = write(service, { key: record, set: { plan: 'business' }, did: 'changed' });
    await expect(late).rejects.toThrow(StaleRecordError);
    expect(await readKey(service, record.keyHash)).toMatchObject({ plan: 'pro' });
  });

  test('of a record that does not exist does not create it', async () => {
    const record = newRecord();
    await expect(write(service, { key: record, did: 'changed' })).rejects.toThrow(StaleRecordError);
    expect(await readKey(service, record.keyHash)).toBeUndefined();
  });

  test('of a key with a full audit trail is refused, unless it ends the key’s life', async () => {
    const audit = Array.from({ length: auditTrailLength }, () => line);
    const [full, other] = [newRecord({ audit }), newRecord({ audit })];
    await store(service.keyTable, [full, other]);
    await expect(write(service, { key: full, did: 'changed' })).rejects.toThrow(
      `The audit trail of ${full.keyId} is full (1000 lines). Rotate or revoke the key.`,
    );
    await write(service, { key: full, set: { status: 'revoked' }, did: 'changed', anyLength: true });
    expect((await readKey(service, full.keyHash))?.audit).toHaveLength(auditTrailLength + 1);
    const successor = newRecord();
    await write(service, created(successor), replacement(other, successor.keyId));
    expect(await decision(other.keyHash)).toBe('denied');
  });
});

test('a key is found by its ID, and an unknown ID is not', async () => {
  const { keyId, keyHash } = await stored();
  expect(await findKeyById(service, keyId)).toMatchObject({ keyHash, gatewayKeyId: 'g' });
  expect(await findKeyById(service, newKeyId(0))).toBeUndefined();
});
