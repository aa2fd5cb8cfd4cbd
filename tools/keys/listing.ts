import type { Plan } from '../../functions/access/plans.ts';
import { type AdministeredKey, type MalformedRecordError, partitionsOf, recordsOf } from './records.ts';
import { type KeyService, nowOf } from './service.ts';
import { type KeyUse, readUses } from './use.ts';

/** The state of a key now. It follows from the record, the use and the time, so there is no index of it. */
export const keyStatuses = ['active', 'suspended', 'expired', 'revoked'] as const;
export type KeyStatus = (typeof keyStatuses)[number];

/** @param now Unix seconds */
export function statusOf(
  { status, expiresAt = 0 }: AdministeredKey,
  use: KeyUse | undefined,
  now: number,
): KeyStatus {
  if (status === 'revoked') return 'revoked';
  if (expiresAt !== 0 && expiresAt <= now) return 'expired';
  return (use?.suspendedUntil ?? 0) > now ? 'suspended' : 'active';
}

export interface ListedKey {
  readonly key: AdministeredKey;
  readonly use: KeyUse | undefined;
  readonly status: KeyStatus;
}

export interface KeyFilter {
  readonly owner?: string | undefined;
  readonly plan?: Plan | undefined;
  readonly status?: KeyStatus | undefined;
}

export interface KeyListing extends KeyFilter {
  /** Keys at most, 1 to 100. */
  readonly limit: number;
  /** Cursor of the previous page: only older keys. */
  readonly cursor?: string | undefined;
}

export interface KeyPage {
  /** Newest first. */
  readonly keys: readonly ListedKey[];
  /** Where the next page begins, if there may be one. */
  readonly cursor: string | undefined;
  /** Records read. A page that ends at `examineAtMost` may have fewer keys than requested. */
  readonly examined: number;
  readonly malformed: readonly MalformedRecordError[];
}

/** Records that one page reads at most, however few match the filter. */
export const examineAtMost = 1_000;
/** Keys whose use is read at once. */
const batchSize = 100;

/**
 * A page of keys, newest first. The keys of an owner or a plan are a partition of an index; all keys are the
 * partitions of the plans, merged. A filter on the status, or on owner and plan together, applies to what was read;
 * reading stops after `examineAtMost` records.
 */
export async function listKeys(service: KeyService, listing: KeyListing): Promise<KeyPage> {
  const { owner, plan, status: wanted, limit, cursor } = listing;
  const isFiltered = wanted !== undefined || (owner !== undefined && plan !== undefined);
  // One more than requested shows whether a page follows.
  const size = isFiltered ? batchSize : Math.min(limit + 1, batchSize);
  const malformed: MalformedRecordError[] = [];
  const partitions = partitionsOf(listing).map((partition) =>
    recordsOf(service.keyTable, [partition], (error) => void malformed.push(error), { before: cursor, size }),
  );
  const found: ListedKey[] = [];
  let examined = 0;
  let last: string | undefined;
  for await (const batch of batches(newestFirst(partitions), size)) {
    const uses = await readUses(
      service.limitTable,
      batch.map(({ keyHash }) => keyHash),
    );
    const now = nowOf(service);
    for (const key of batch) {
      if (examined === examineAtMost) return { keys: found, cursor: last, examined, malformed };
      examined += 1;
      last = key.keyId;
      const use = uses.get(key.keyHash);
      const status = statusOf(key, use, now);
      if (plan !== undefined && key.plan !== plan) continue;
      if (wanted !== undefined && status !== wanted) continue;
      if (found.length === limit)
        return { keys: found, cursor: found.at(-1)?.key.keyId, examined, malformed };
      found.push({ key, use, status });
    }
  }
  return { keys: found, cursor: undefined, examined, malformed };
}

/** Merges partitions, each newest first. Reads a partition on only when its next key is needed. */
async function* newestFirst(
  partitions: readonly AsyncGenerator<AdministeredKey>[],
): AsyncGenerator<AdministeredKey> {
  const heads = await Promise.all(
    partitions.map(async (partition) => ({ partition, head: await partition.next() })),
  );
  for (;;) {
    const open = heads.filter(({ head }) => !head.done);
    const [first, ...others] = open;
    if (first === undefined) return;
    const newest = others.reduce((a, b) => (a.head.value.keyId > b.head.value.keyId ? a : b), first);
    yield newest.head.value;
    newest.head = await newest.partition.next();
  }
}

async function* batches(
  keys: AsyncGenerator<AdministeredKey>,
  size: number,
): AsyncGenerator<readonly AdministeredKey[]> {
  let batch: AdministeredKey[] = [];
  for await (const key of keys) {
    batch.push(key);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
