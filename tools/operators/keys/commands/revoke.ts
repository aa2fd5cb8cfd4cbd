import { yesOption } from '../../command-line/stage-command.ts';
import { keyCommand, nameOf, onKey, type Open } from '../key-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer } from '../gateway.ts';
import { type AdministeredKey, readKey, StaleRecordError, write } from '../records.ts';
import type { KeyService } from '../service.ts';

export const revoke = (open: Open) =>
  keyCommand(
    'revoke',
    'make a key invalid for good, at once',
    '',
    'The authorizer can accept the key for at most 60 s more.',
  )
    .addOption(yesOption)
    .action(
      onKey(open, async ({ service, output, confirm }, key) => {
        const { keyId } = key;
        const changed = key.status !== 'revoked';
        if (changed) await confirm(`Revoke ${nameOf(key)}? It cannot be undone.`);
        // Record first, so that the authorizer denies the key whatever happens next. For a revoked key the other steps
        // are repeated, in case an earlier run stopped before them.
        const revoked = await revokeRecord(service, key);
        await flushAuthorizer(service);
        await deleteFormerGatewayKey(service, revoked);
        output.result({ keyId, changed }, changed ? `${keyId} is revoked.` : `${keyId} was revoked before.`);
      }),
    );

/** Others may change the key at the same time: a revocation must not lose against them. */
async function revokeRecord(
  service: KeyService,
  key: AdministeredKey,
  triesLeft = 4,
): Promise<AdministeredKey> {
  if (key.status === 'revoked') return key;
  try {
    await write(service, { key, did: 'revoked', set: { status: 'revoked' }, anyLength: true });
    return key;
  } catch (error) {
    if (!(error instanceof StaleRecordError) || triesLeft === 0) throw error;
    return revokeRecord(service, (await readKey(service, key.keyHash)) ?? key, triesLeft - 1);
  }
}
