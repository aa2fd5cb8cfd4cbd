import { z } from 'zod';
import { keyCommand } from '../command.ts';
import { deleteGatewayKey, flushAuthorizer } from '../gateway.ts';
import { type AdministeredKey, changeKey, readKey, StaleRecordError } from '../records.ts';
import { type KeyService, newLine, reportLine } from '../service.ts';

export const revoke = keyCommand({
  name: 'revoke',
  summary: 'make a key invalid for good, at once',
  details: 'If it fails half way, run it again: until then the authorizer can accept the key for 60 s.',
  example: 'key_06fz1m4tqabcdefg --stage prod',
  schema: z.object({}),
  question: ({ keyId, owner, plan, status }, stage) =>
    status === 'revoked'
      ? undefined
      : `Revoke ${keyId} (${owner}, ${plan}) in ${stage}? It cannot be undone.`,
  run: async ({ service, output }, key) => {
    const changed = await revokeKey(service, key);
    output.result(
      { keyId: key.keyId, changed },
      changed ? `${key.keyId} is revoked.` : `${key.keyId} was revoked before.`,
    );
  },
});

/**
 * Record first, so that the authorizer denies the key whatever happens next. Repeats the other steps for a revoked
 * key, in case an earlier run stopped before them. Returns false when the record was revoked before.
 */
async function revokeKey(service: KeyService, key: AdministeredKey): Promise<boolean> {
  const changed = key.status !== 'revoked';
  const revoked = changed ? await revokeRecord(service, key) : key;
  await service.afterStep('record');
  await flushAuthorizer(service);
  await service.afterStep('authorizer cache');
  if (revoked.gatewayKeyId !== undefined) await deleteGatewayKey(service, revoked.gatewayKeyId);
  await service.afterStep('old gateway key');
  return changed;
}

/** Others may change the key at the same time: a revocation must not lose against them. */
async function revokeRecord(service: KeyService, key: AdministeredKey): Promise<AdministeredKey> {
  const line = await newLine(service, 'revoked');
  for (let current = key, attempt = 1; ; attempt += 1) {
    try {
      await changeKey(service.keyTable, current, { set: { status: 'revoked' }, line, anyLength: true });
      reportLine(service, key, line);
      return current;
    } catch (error) {
      if (!(error instanceof StaleRecordError) || attempt === 5) throw error;
      current = (await readKey(service.keyTable, key.keyHash)) ?? key;
      if (current.status === 'revoked') return current;
    }
  }
}
