import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { StaleRecordError } from '../../../tools/operators/command-line/change.ts';
import { newKeyId } from '../../../tools/operators/keys/key-ids.ts';
import { readKey, write } from '../../../tools/operators/keys/records.ts';
import type { KeyService } from '../../../tools/operators/keys/service.ts';
import { newKeyService, now } from './support.ts';

/** The conditions of writes, as a database takes them. test/unit/keys/exploration.test.ts has what follows from them. */

let service: KeyService;
beforeAll(async () => {
  service = await newKeyService();
});

const newRecord = () => ({
  key: { keyHash: randomBytes(32).toString('hex'), keyId: newKeyId(now * 1000), audit: [] },
  set: { owner: 'Ada', plan: 'free', status: 'active', createdAt: now, gatewayKeyId: 'g' } as const,
  did: 'created',
});

async function stored() {
  const record = newRecord();
  await write(service, record);
  return (await readKey(service, record.key.keyHash))!;
}

test('a change of a record that was changed meanwhile changes nothing', async () => {
  const key = await stored();
  await write(service, { key, set: { plan: 'enterprise', perMinute: 5, perDay: 50 }, did: 'changed' });
  const late = write(service, { key, set: { plan: 'business' }, did: 'changed' });
  await expect(late).rejects.toThrow(StaleRecordError);
  const changed = (await readKey(service, key.keyHash))!;
  expect(changed).toMatchObject({ plan: 'enterprise', perMinute: 5 });
  await write(service, { key: changed, set: { perMinute: undefined }, did: 'changed' });
  expect(await readKey(service, key.keyHash)).not.toHaveProperty('perMinute');
});

test('a new key and the end of the key that it replaces are one transaction', async () => {
  const old = await stored();
  await write(service, { key: old, set: { status: 'revoked' }, did: 'changed' });
  const record = newRecord();
  const replacement = { key: old, set: { replacedBy: record.key.keyId }, did: 'replaced' };
  await expect(write(service, record, replacement)).rejects.toThrow(StaleRecordError);
  expect(await readKey(service, record.key.keyHash)).toBeUndefined();
  expect(await readKey(service, old.keyHash)).not.toHaveProperty('replacedBy');
});
