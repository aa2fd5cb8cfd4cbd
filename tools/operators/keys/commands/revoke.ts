import { untilCurrent } from '../../command-line/change.ts';
import { yesOption } from '../../command-line/stage-command.ts';
import { deleteFormerGatewayKey, flushAuthorizer } from '../gateway.ts';
import { keyCommand, lookUp, nameOf, type Open } from '../key-command.ts';
import { write } from '../records.ts';

export const revoke = (open: Open) =>
  keyCommand(
    'revoke',
    'make a key invalid for good',
    '',
    'The authorizer can accept the key for at most 60 s more.',
  )
    .addOption(yesOption)
    .action(async (keyId, options) => {
      const { service, output, confirm } = await open(options);
      await untilCurrent(async () => {
        const key = await lookUp(service, keyId);
        const changed = key.status !== 'revoked';
        if (changed) {
          await confirm(`Revoke ${nameOf(key)}? It cannot be undone.`);
          // The record comes first, so that the authorizer denies the key whatever happens next.
          await write(service, { key, did: 'revoked', set: { status: 'revoked' }, anyLength: true });
        }
        // A revoked key gets these as well, in case an earlier run stopped before them.
        await flushAuthorizer(service);
        await deleteFormerGatewayKey(service, key);
        output.result({ keyId, changed }, changed ? `${keyId} is revoked.` : `${keyId} was revoked before.`);
      });
    });
