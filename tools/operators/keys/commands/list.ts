import { Option } from '@commander-js/extra-typings';
import { stageCommand, wholeNumber } from '../../command-line/stage-command.ts';
import { noteUnknownOwner, type Open, ownerFilter, planFilter } from '../key-command.ts';
import { readUsages } from '../key-usage.ts';
import { type KeyFilter, newestKeys } from '../records.ts';
import { type KeyService } from '../service.ts';
import { keyStatuses, listText, noteUnknownPlans, viewOf } from '../views.ts';

export const list = (open: Open) =>
  stageCommand('list', 'list keys, newest first', '--stage prod --plan free --status active --limit 50')
    .addOption(ownerFilter)
    .addOption(planFilter)
    .addOption(new Option('--status <status>', 'only keys with this status').choices(keyStatuses))
    .option('--limit <n>', 'keys at most', wholeNumber(1, 10_000), 20)
    .action(async (options) => {
      const session = await open(options);
      const { service, output } = session;
      const { keys, matches, hasMore } = await listKeys(service, options);
      output.result({ keys, hasMore }, keys[0] ? listText(output, keys) : 'No keys.');
      noteUnknownOwner(session, options.owner, matches);
      noteUnknownPlans(output, keys);
      if (hasMore && !output.json) output.note('There are more. To see them, use --limit or a filter.');
    });

/** The newest keys. A filter on the status, or on owner and plan together, reads more than it returns. */
async function listKeys(
  service: KeyService,
  { status, limit, ...filter }: KeyFilter & { status?: string | undefined; limit: number },
) {
  const { owner, plan } = filter;
  const isFiltered = status !== undefined || (owner !== undefined && plan !== undefined);
  const read = await newestKeys(service, filter, isFiltered ? Infinity : limit);
  const hashes = read.keys.map(({ keyHash }) => keyHash);
  const usages = await readUsages(service.limitTable, hashes);
  const keys = read.keys
    .map((key, index) => viewOf(key, usages[index]!, service.now()))
    .filter((key) => key.status === (status ?? key.status) && key.plan === (plan ?? key.plan));
  return { keys: keys.slice(0, limit), matches: read.matches, hasMore: read.hasMore || keys.length > limit };
}
