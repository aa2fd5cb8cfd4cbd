import type { ApiKey } from '@aws-sdk/client-api-gateway';
import { z } from 'zod';
import { stageCommand } from '../command.ts';
import { deleteGatewayKey, gatewayKeys, isOwn, leftoverAge } from '../gateway.ts';
import {
  findKeyById,
  gatewayValueOf,
  isValid,
  MalformedRecordError,
  partitionsOf,
  recordsOf,
} from '../records.ts';
import { ownerFilter } from '../options.ts';
import { type KeyService, newLine, nowOf, reportLine } from '../service.ts';

type Reason = 'half-made key' | 'revoked key' | 'expired key' | 'earlier plan';
interface Removed {
  readonly keyId: string;
  readonly reason: Reason;
}

export const cleanup = stageCommand({
  name: 'cleanup',
  summary:
    'delete the API Gateway keys that no valid key uses: of expired keys, and of commands that stopped half way',
  details:
    'It leaves alone what is younger than 15 minutes, in case another run is making it. Run it once a month, and after a command that failed half way.',
  example: '--stage prod',
  options: [ownerFilter()],
  schema: z.object({ owner: z.string().optional() }),
  run: async ({ service, output }, { owner }) => {
    const removed: Removed[] = [];
    for await (const each of removeUnused(service, owner, (message) => output.note(message, 'yellow')))
      removed.push(each);
    const lines = removed.map(({ keyId, reason }) => `${keyId}: deleted the API Gateway key (${reason})`);
    output.result({ removed }, lines.length > 0 ? lines.join('\n') : 'There is nothing to clean up.');
  },
});

async function* removeUnused(
  service: KeyService,
  owner: string | undefined,
  onMalformed: (message: string) => void,
): AsyncGenerator<Removed> {
  // API Gateway first: every key that is valid by then is in the records that are read afterwards.
  const found: ApiKey[] = [];
  for await (const gatewayKey of gatewayKeys(service))
    if (isOwn(service, gatewayKey, owner)) found.push(gatewayKey);
  const inUse = new Set<string>();
  // Malformed records are looked up again below.
  for await (const key of recordsOf(service.keyTable, partitionsOf({ owner }), () => {}))
    if (isValid(key, nowOf(service))) inUse.add(gatewayValueOf(key));
  for (const gatewayKey of found) {
    const { id = '', name: keyId = '', value = '' } = gatewayKey;
    if (inUse.has(value)) continue;
    let reason: Reason | undefined;
    try {
      reason = await reasonToRemove(service, gatewayKey);
    } catch (error) {
      if (!(error instanceof MalformedRecordError)) throw error;
      onMalformed(`${error.message}. Its API Gateway key was left alone.`);
    }
    if (reason === undefined) continue;
    await deleteGatewayKey(service, id);
    reportLine(service, { keyId }, await newLine(service, 'cleaned up', reason));
    await service.afterStep('old gateway key');
    yield { keyId, reason };
  }
}

/** Looks at the record itself: the indexes lag behind. */
async function reasonToRemove(
  service: KeyService,
  { name = '', value, createdDate }: ApiKey,
): Promise<Reason | undefined> {
  const now = nowOf(service);
  const key = await findKeyById(service.keyTable, name);
  const createdAt = Math.floor((createdDate?.getTime() ?? service.clock()) / 1000);
  const isOld = (since: number) => now - since > leftoverAge;
  if (key === undefined) return isOld(createdAt) ? 'half-made key' : undefined;
  if (key.status === 'revoked') return 'revoked key';
  if (!isValid(key, now)) return 'expired key';
  const lastChange = Math.max(createdAt, ...key.audit.map(({ at }) => at));
  return gatewayValueOf(key) !== value && isOld(lastChange) ? 'earlier plan' : undefined;
}
