import { type ApiKey } from '@aws-sdk/client-api-gateway';
import { stageCommand } from '../../command-line/stage-command.ts';
import { noteUnknownOwner, type Open, ownerFilter } from '../key-command.ts';
import * as gateway from '../gateway.ts';
import * as records from '../records.ts';
import { type KeyService } from '../service.ts';

export const cleanup = (open: Open) =>
  stageCommand(
    'cleanup',
    'delete the API Gateway keys that no valid key uses: of expired keys, and of commands that stopped half way',
    '--stage prod',
    'The API Gateway keys of expired and revoked keys are deleted at once. Any other one is left alone until 15 minutes after it was made or its key was changed, because another run can be using it. Run it once a month, and after a command that failed half way.',
  )
    .addOption(ownerFilter)
    .action(async ({ owner, ...options }) => {
      const session = await open(options);
      const { service, output } = session;
      const { removed, matches } = await deleteUnused(service, owner);
      const lines = removed.map(({ keyId, reason }) => `${keyId}: deleted the API Gateway key (${reason})`);
      output.result({ removed }, lines[0] ? lines : 'Nothing to clean up.');
      noteUnknownOwner(session, owner, matches);
    });

/** Deletes the API Gateway keys that no valid key uses, of one owner or of all. `matches`: their records and API Gateway keys. */
export async function deleteUnused(service: KeyService, owner: string | undefined) {
  const { matches, valid, gatewayKeys } = await gateway.survey(service, { owner });
  const ownText = gateway.descriptionOf(service, owner ?? '');
  const isOwn = ({ description = '' }: ApiKey) =>
    owner === undefined ? description.startsWith(ownText) : description === ownText;
  const own = gatewayKeys.filter(isOwn);
  const unused = own.filter(({ value = '' }) => !valid.has(value));
  const removed: { readonly keyId: string; readonly reason: string }[] = [];
  for (const { name: keyId = '', ...gatewayKey } of unused) {
    const reason = await reasonToDelete(service, keyId, gatewayKey);
    if (reason === undefined) continue;
    const line = await service.auditLine('cleaned up', reason);
    await gateway.deleteGatewayKey(service, gatewayKey.id!);
    service.report({ keyId }, line);
    removed.push({ keyId, reason });
  }
  return { removed, matches: matches + own.length };
}

/** Looks at the record itself: the indexes lag behind. */
async function reasonToDelete(service: KeyService, keyId: string, { value, createdDate }: ApiKey) {
  const now = service.now();
  try {
    const key = await records.findKeyById(service, keyId);
    if (key !== undefined && !records.isValid(key, now))
      return key.status === 'active' ? 'expired key' : 'revoked key';
    const changes = [...(key?.audit ?? []).map(({ at }) => at), createdDate!.getTime() / 1000];
    if (now - Math.max(...changes) <= gateway.leftoverAge) return undefined;
    if (key === undefined) return 'half-made key';
    return records.gatewayValueOf(key) === value ? undefined : 'earlier plan';
  } catch (error) {
    if (!(error instanceof records.MalformedRecordError)) throw error;
    service.notify(`${error.message}. Its API Gateway key was left alone.`);
    return undefined;
  }
}
