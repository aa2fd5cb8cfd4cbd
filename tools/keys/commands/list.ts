import { Option } from '@commander-js/extra-typings';
import { type Open, stageCommand } from '../command.ts';
import { table } from '../format.ts';
import { cursor, ownerFilter, planOption, wholeNumber } from '../options.ts';
import { type AdministeredKey, type KeyFilter, newestKeys } from '../records.ts';
import { type KeyService, nowOf } from '../service.ts';
import { type KeyUse, readUses } from '../use.ts';
import { keyStatuses, paintStatus, statusOf, summary } from '../views.ts';

export const list = (open: Open) =>
  stageCommand('list', 'list keys, newest first', '--stage prod --plan free --status active --limit 50')
    .addOption(ownerFilter())
    .addOption(planOption('only keys on this plan'))
    .addOption(new Option('--status <status>', 'only keys with this status').choices(keyStatuses))
    .option('--limit <n>', 'keys at most', wholeNumber(1, 100), 20)
    .option('--cursor <cursor>', 'continue after the previous page', cursor)
    .action((options) =>
      open(options, async ({ service, output }) => {
        const { keys, cursor: next } = await listKeys(service, options);
        const shown = keys.map(({ key, use, status }) => summary(key, use, status));
        const rows = shown.map((key) => [
          key.keyId,
          paintStatus(output, key.status),
          key.plan,
          key.createdAt?.slice(0, 10) ?? '',
          key.lastUsedAt?.slice(0, 16) ?? 'never',
          key.owner,
          key.note ?? '',
        ]);
        const heads = ['KEY ID', 'STATUS', 'PLAN', 'CREATED', 'LAST USED', 'OWNER', 'NOTE'];
        output.result(
          { keys: shown, cursor: next ?? null },
          rows.length === 0 ? 'No keys.' : table([heads, ...rows]),
        );
        if (next !== undefined && !output.json) output.note(`There may be more: --cursor ${next}`);
      }),
    );

export interface KeyListing extends KeyFilter {
  readonly status?: string | undefined;
  /** Keys at most, 1 to 100. */
  readonly limit: number;
  /** Cursor of the previous page: only older keys. */
  readonly cursor?: string | undefined;
}

export interface KeyPage {
  /** Newest first. */
  readonly keys: readonly {
    readonly key: AdministeredKey;
    readonly use: KeyUse;
    readonly status: string;
  }[];
  /** Where the next page begins, if there may be one. */
  readonly cursor: string | undefined;
}

/** Records that one page reads at most from a partition, however few match the filter. */
export const examineAtMost = 1_000;

/**
 * A page of keys. A filter on the status, or on owner and plan together, applies to what was read, so its page can
 * have fewer keys than requested although there are more.
 */
export async function listKeys(
  service: KeyService,
  { status: wanted, limit, cursor: before, ...filter }: KeyListing,
): Promise<KeyPage> {
  const isFiltered = wanted !== undefined || (filter.owner !== undefined && filter.plan !== undefined);
  // One more than requested shows whether a page follows.
  const size = isFiltered ? examineAtMost : limit + 1;
  const { keys: found, end } = await newestKeys(service, filter, size, before);
  const read = found.slice(0, size);
  const hashes = read.map(({ keyHash }) => keyHash);
  const uses = await readUses(service.limitTable, hashes);
  const now = nowOf(service);
  const matching = read
    .map((key, index) => ({ key, use: uses[index]!, status: statusOf(key, uses[index]!, now) }))
    .filter(({ status }) => wanted === undefined || status === wanted);
  const keys = matching.slice(0, limit);
  const last = keys.length < matching.length ? keys.at(-1)?.key : found[size] && read.at(-1);
  return { keys, cursor: last?.keyId ?? end };
}
