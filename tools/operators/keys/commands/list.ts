import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { stageCommand, wholeNumber } from '../../command-line/stage-command.ts';
import { type Open, ownerFilter, planFilter } from '../key-command.ts';
import { isKeyId } from '../key-ids.ts';
import { readUsages } from '../key-usage.ts';
import { type KeyFilter, newestKeys } from '../records.ts';
import type { KeyService } from '../service.ts';
import { keyStatuses, listText, viewOf } from '../views.ts';

export const list = (open: Open) =>
  stageCommand('list', 'list keys, newest first', '--stage prod --plan free --status active --limit 50')
    .addOption(ownerFilter)
    .addOption(planFilter)
    .addOption(new Option('--status <status>', 'only keys with this status').choices(keyStatuses))
    .option('--limit <n>', 'keys at most', wholeNumber(1, 100), 20)
    .option('--cursor <cursor>', 'continue after the previous page', cursor)
    .action((options) =>
      open(options, async ({ service, output }) => {
        const { keys, cursor: next } = await listKeys(service, options);
        output.result({ keys, cursor: next ?? null }, keys[0] ? listText(output, keys) : 'No keys.');
        if (next !== undefined && !output.json) output.note(`There may be more: --cursor ${next}`);
      }),
    );

/** Keys that one page examines at most, however few match the filter. */
export const examineAtMost = 1_000;

/**
 * A page of keys, newest first, and where the next one begins if there may be one. A filter on the status, or on owner
 * and plan together, applies to what was read, so its page can have fewer keys than requested although there are more.
 *
 * @param limit 1 to 100
 */
export async function listKeys(
  service: KeyService,
  {
    status,
    limit,
    cursor: before,
    ...filter
  }: KeyFilter & { status?: string | undefined; limit: number; cursor?: string | undefined },
) {
  const { owner, plan } = filter;
  const isFiltered = status !== undefined || (owner !== undefined && plan !== undefined);
  const { keys: read, end } = await newestKeys(service, filter, isFiltered ? examineAtMost : limit, before);
  const hashes = read.map(({ keyHash }) => keyHash);
  const usages = await readUsages(service.limitTable, hashes);
  const matching = read
    .map((key, index) => viewOf(key, usages[index]!, service.now()))
    .filter((key) => key.status === (status ?? key.status) && key.plan === (plan ?? key.plan));
  const keys = matching.slice(0, limit);
  return { keys, cursor: matching.length > limit ? keys.at(-1)?.keyId : end };
}

function cursor(text: string): string {
  if (isKeyId(text)) return text;
  throw new InvalidArgumentError('Not a cursor printed by "list".');
}
