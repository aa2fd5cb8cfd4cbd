import {
  type AdministeredKey,
  type AuditLine,
  type DamagedRecordError,
  findKeyById,
  type Partition,
  queryKeys,
  readKey,
} from './key-administration.ts';
import { KeyToolError } from './errors.ts';
import { type KeyService, nowOf } from './service.ts';

/** The record of a key. @throws KeyToolError when there is none with this id */
export async function requireKey(service: KeyService, keyId: string): Promise<AdministeredKey> {
  const key = await findKeyById(service.keyTable, keyId);
  if (key !== undefined) return key;
  throw new KeyToolError(
    'not_found',
    `There is no key ${keyId} in stage ${service.stage}: "list" shows those there are.`,
  );
}

/** The record as it is now, past the index that lags behind. */
export async function reread(
  service: KeyService,
  { keyHash, keyId }: AdministeredKey,
): Promise<AdministeredKey> {
  return (await readKey(service.keyTable, keyHash)) ?? requireKey(service, keyId);
}

/** Records that one Query reads. */
const pageSize = 100;

/**
 * Every record of some partitions, newest first in each, a page at a time.
 *
 * @param onDamage told of each record that is none, which is left out
 */
export async function* recordsOf(
  { keyTable }: KeyService,
  partitions: readonly Partition[],
  onDamage: (damage: DamagedRecordError) => void = () => {},
): AsyncGenerator<AdministeredKey> {
  for (const partition of partitions) {
    let before: string | undefined;
    do {
      const page = await queryKeys(keyTable, partition, { before, limit: pageSize });
      page.damaged.forEach(onDamage);
      yield* page.keys;
      before = page.next;
    } while (before !== undefined);
  }
}

/** A line of the audit trail: this was done now, by whoever runs the tool. */
export async function newLine(service: KeyService, did: string, detail?: string): Promise<AuditLine> {
  return { at: nowOf(service), by: await service.identify(), did, ...(detail !== undefined && { detail }) };
}
