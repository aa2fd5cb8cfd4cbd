import type { ApiKey } from '@aws-sdk/client-api-gateway';
import { type Open, stageCommand } from '../command.ts';
import { deleteGatewayKey, gatewayKeys, isOwn, leftoverAge } from '../gateway.ts';
import { ownerFilter } from '../options.ts';
import { allKeys, findKeyById, gatewayValueOf, isValid, MalformedRecordError, report } from '../records.ts';
import { type KeyService, nowOf } from '../service.ts';

export const cleanup = (open: Open) =>
  stageCommand(
    'cleanup',
    'delete the API Gateway keys that no valid key uses: of expired keys, and of commands that stopped half way',
    '--stage prod',
    'It leaves alone what is younger than 15 minutes, in case another run is making it. Run it once a month, and after a command that failed half way.',
  )
    .addOption(ownerFilter())
    .action((options) =>
      open(options, async ({ service, output }) => {
        const removed = await removeUnused(service, options.owner);
        const lines = removed.map(({ keyId, reason }) => `${keyId}: deleted the API Gateway key (${reason})`);
        output.result({ removed }, lines.join('\n') || 'There is nothing to clean up.');
      }),
    );

async function removeUnused(service: KeyService, owner: string | undefined) {
  // API Gateway first: every key that is valid by then is in the records that are read afterwards.
  const found: ApiKey[] = [];
  for await (const each of gatewayKeys(service)) if (isOwn(service, each, owner)) found.push(each);
  const inUse = new Set<string>();
  for await (const key of allKeys(service, { owner }))
    if (isValid(key, nowOf(service))) inUse.add(gatewayValueOf(key));
  const removed: { readonly keyId: string; readonly reason: string }[] = [];
  for (const gatewayKey of found.filter(({ value = '' }) => !inUse.has(value))) {
    const reason = await reasonToRemove(service, gatewayKey);
    if (reason === undefined) continue;
    const { id, name: keyId = '' } = gatewayKey;
    await deleteGatewayKey(service, id);
    await report(service, keyId, 'cleaned up', reason);
    removed.push({ keyId, reason });
  }
  return removed;
}

/** Looks at the record itself: the indexes lag behind. */
async function reasonToRemove(service: KeyService, gatewayKey: ApiKey): Promise<string | undefined> {
  const { name = '', value, createdDate } = gatewayKey;
  const now = nowOf(service);
  const createdAt = (createdDate?.getTime() ?? service.clock()) / 1000;
  try {
    const key = await findKeyById(service, name);
    if (key !== undefined && key.status !== 'active') return 'revoked key';
    if (key !== undefined && !isValid(key, now)) return 'expired key';
    const lastChange = Math.max(createdAt, ...(key?.audit ?? []).map(({ at }) => at));
    if (now - lastChange <= leftoverAge) return undefined;
    if (key === undefined) return 'half-made key';
    return gatewayValueOf(key) === value ? undefined : 'earlier plan';
  } catch (error) {
    if (!(error instanceof MalformedRecordError)) throw error;
    service.notify(`${error.message}. Its API Gateway key was left alone.`);
    return undefined;
  }
}
