import { Option } from '@commander-js/extra-typings';
import { untilCurrent } from '../../command-line/change.ts';
import { ToolError } from '../../command-line/errors.ts';
import { counted } from '../../command-line/output.ts';
import { line, stageCommand, yesOption } from '../../command-line/stage-command.ts';
import { descriptionOf, survey } from '../gateway.ts';
import { type Open, unknownOwnerText } from '../key-command.ts';
import { type AdministeredKey, isValid, newestKeys, readKey, write } from '../records.ts';
import type { KeyService } from '../service.ts';
import { deleteUnused } from './cleanup.ts';

/** The owner of a key whose owner was forgotten. */
const nobody = '(deleted)';

export const forget = (open: Open) =>
  stageCommand(
    'forget',
    'delete the name of an owner and the notes of its keys, which must all be revoked or expired',
    '--stage prod --owner "Ada Lovelace" --dry-run',
    `The keys stay, by their IDs, with their audit trails. The animals that they added keep these IDs as "addedBy", and stay.
docs/security.md says where else the name can be.`,
  )
    .addOption(
      new Option('--owner <name>', 'the owner (required)').argParser(line(100)).makeOptionMandatory(),
    )
    .option('--dry-run', 'only show the keys', false)
    .addOption(yesOption)
    .action(async ({ owner, dryRun, ...options }) => {
      const { service, output, confirm } = await open(options);
      const { keys } = await newestKeys(service, { owner });
      const named = await gatewayKeysNaming(service, owner);
      expectForgettable(service, owner, keys, named);
      if (!dryRun) {
        await confirm(
          `Delete the name of this owner from ${counted(keys.length, 'key')}? It cannot be undone.`,
        );
        await deleteUnused(service, owner);
        for (const key of keys) await forgetOwner(service, key);
        await expectNone(service, owner);
      }
      const ids = keys.map(({ keyId }) => keyId);
      const text = `${dryRun ? 'To delete' : 'Deleted'}: the name in ${counted(keys.length, 'key')}.`;
      output.result({ dryRun, keys: ids }, [...(dryRun ? ids : []), text]);
    });

async function gatewayKeysNaming(service: KeyService, owner: string): Promise<readonly unknown[]> {
  const { gatewayKeys } = await survey(service, { owner });
  return gatewayKeys.filter(({ description }) => description === descriptionOf(service, owner));
}

/** @throws ToolError if there is nothing to delete, or a key is still valid */
function expectForgettable(
  { stage, now }: KeyService,
  owner: string,
  keys: readonly AdministeredKey[],
  named: readonly unknown[],
): void {
  if (keys.length + named.length === 0) throw new ToolError('not_found', unknownOwnerText(stage, owner));
  const valid = keys.filter((key) => isValid(key, now())).map(({ keyId }) => keyId);
  if (valid.length === 0) return;
  const message = `The owner has ${counted(valid.length, 'valid key')}. Revoke first: ${valid.join(', ')}.`;
  throw new ToolError('refused', message);
}

/** Leaves alone what somebody else has changed so that it is another owner's, or valid again. */
async function forgetOwner(service: KeyService, { keyHash, owner }: AdministeredKey): Promise<void> {
  await untilCurrent(async () => {
    const key = await readKey(service, keyHash);
    if (key?.owner !== owner || isValid(key, service.now())) return;
    await write(service, {
      key,
      did: 'forgot the owner',
      set: { owner: nobody, note: undefined },
      anyLength: true,
    });
  });
}

/** @throws ToolError if an API Gateway key is too young to be deleted: another run can be making it */
async function expectNone(service: KeyService, owner: string): Promise<void> {
  const left = await gatewayKeysNaming(service, owner);
  if (left.length === 0) return;
  const message = `${counted(left.length, 'API Gateway key')} with the name of this owner may be in use. Run the same command again in 15 minutes.`;
  throw new ToolError('refused', message);
}
