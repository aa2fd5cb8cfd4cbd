import type { Plan } from '../../functions/access/plans.ts';
import {
  type AdministeredKey,
  type MalformedRecordError,
  type Partition,
  partitionsOf,
  queryKeys,
} from './records.ts';
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
const batchSize = 100;

/**
 * A page of keys, newest first. One owner's or one plan's keys are a partition of an index; all keys are the plans'
 * partitions merged. A filter on the status, or on owner and plan together, is applied to what was read, and
 * reading stops after `examineAtMost` records.
 */
export async function listKeys(service: KeyService, listing: KeyListing): Promise<KeyPage> {
  const { owner, plan, status: wanted, limit } = listing;
  const isFiltered = wanted !== undefined || (owner !== undefined && plan !== undefined);
  // One more than asked for tells whether a page follows.
  const size = isFiltered ? batchSize : Math.min(limit + 1, batchSize);
  const found: ListedKey[] = [];
  const malformed: MalformedRecordError[] = [];
  let examined = 0;
  let last: string | undefined;
  for await (const batch of batches(service, listing, size, malformed)) {
    const hashes = batch.map(({ keyHash }) => keyHash);
    const use = await readUses(service.limitTable, hashes);
    const now = nowOf(service);
    for (const key of batch) {
      if (examined === examineAtMost) return { keys: found, cursor: last, examined, malformed };
      examined += 1;
      last = key.keyId;
      const status = statusOf(key, use.get(key.keyHash), now);
      if (plan !== undefined && key.plan !== plan) continue;
      if (wanted !== undefined && status !== wanted) continue;
      if (found.length === limit)
        return { keys: found, cursor: found.at(-1)?.key.keyId, examined, malformed };
      found.push({ key, use: use.get(key.keyHash), status });
    }
  }
  return { keys: found, cursor: undefined, examined, malformed };
}

/** The keys from the cursor on, newest first, so many at a time. Reads on only when asked for more. */
async function* batches(
  service: KeyService,
  listing: KeyListing,
  size: number,
  malformed: MalformedRecordError[],
): AsyncGenerator<readonly AdministeredKey[]> {
  const partitions = partitionsOf(listing);
  let before = listing.cursor;
  do {
    const round = await readRound(service, partitions, before, size);
    malformed.push(...round.malformed);
    for (let start = 0; start < round.keys.length; start += size) yield round.keys.slice(start, start + size);
    before = round.next;
  } while (before !== undefined);
}

interface Round {
  readonly keys: readonly AdministeredKey[];
  /** Where the next round begins, unless this was the last. */
  readonly next: string | undefined;
  readonly malformed: readonly MalformedRecordError[];
}

/** The next keys of all partitions together, newest first: `limit` of each are read. */
async function readRound(
  { keyTable }: KeyService,
  partitions: readonly Partition[],
  before: string | undefined,
  limit: number,
): Promise<Round> {
  const pages = await Promise.all(
    partitions.map((partition) => queryKeys(keyTable, partition, { before, limit })),
  );
  // A partition that was not read to its end may hold more keys from where reading stopped: what is older than the
  // newest of these points waits for the next round.
  const horizon = pages.reduce((newest, { next = '' }) => (next > newest ? next : newest), '');
  return {
    keys: pages
      .flatMap(({ keys }) => keys)
      .filter(({ keyId }) => keyId >= horizon)
      .toSorted((a, b) => (a.keyId < b.keyId ? 1 : -1)),
    next: horizon || undefined,
    malformed: pages.flatMap((page) => page.malformed),
  };
}
