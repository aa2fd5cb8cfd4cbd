import { NotFoundException, paginateGetUsage } from '@aws-sdk/client-api-gateway';
import { Option } from '@commander-js/extra-typings';
import { hashOfKey, stageOfKey } from '../../../../functions/access/keys.ts';
import { secondsPerDay } from '../../../../functions/access/plans.ts';
import { auditJson } from '../../command-line/change.ts';
import { ToolError, usageError } from '../../command-line/errors.ts';
import { grouped, isoTime, type Output, tableLines } from '../../command-line/output.ts';
import { stageCommand, wholeNumber } from '../../command-line/stage-command.ts';
import { keyCommand, lookUp, type Open, ownerFilter, planFilter } from '../key-command.ts';
import { readUsage, readUsages } from '../key-usage.ts';
import { type AdministeredKey, type KeyFilter, newestKeys, readKey, unknownPlansText } from '../records.ts';
import { type KeyService, usagePlanIdOf } from '../service.ts';
import { detailsText, keyStatuses, listText, statusOf, viewOf } from '../views.ts';

export const list = (open: Open) =>
  stageCommand('list', 'list keys, newest first', '--stage prod --plan free --status active --limit 50')
    .addOption(ownerFilter)
    .addOption(planFilter)
    .addOption(new Option('--status <status>', 'only keys with this status').choices(keyStatuses))
    .option('--limit <n>', 'keys at most', wholeNumber(1, 10_000), 20)
    .action(async (options) => {
      const { service, output } = await open(options);
      const { keys, hasMore } = await listKeys(service, options);
      output.result({ keys, hasMore }, keys[0] ? listText(output, keys) : 'No keys.');
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
  return { keys: keys.slice(0, limit), hasMore: read.hasMore || keys.length > limit };
}

export const show = (open: Open) =>
  keyCommand('show', 'show a key: plan, use, suspension and audit trail').action(async (id, options) => {
    const { service, output } = await open(options);
    const key = await lookUp(service, id);
    const view = viewOf(key, await readUsage(service.limitTable, key.keyHash), service.now());
    const audit = key.audit.map(auditJson);
    const trail = audit.map(({ at, by, did, detail }) => [at ?? '', by, `${did} ${detail ?? ''}`]);
    const text = [...detailsText(output, view), '', ...tableLines([['WHEN', 'WHO', 'WHAT'], ...trail])];
    output.result({ ...view, audit }, text);
    noteUnknownPlans(output, [view]);
  });

function noteUnknownPlans(output: Output, keys: readonly { readonly plan: string }[]): void {
  const text = unknownPlansText(keys.map(({ plan }) => plan));
  if (text !== '') output.note(text);
}

export const usage = (open: Open) =>
  keyCommand(
    'usage',
    'show the requests of a key, day by day',
    '--days 30',
    'API Gateway counts the requests, those answered 429 included, some minutes late. It forgets the counts of a key that is revoked or changes plans.',
  )
    .option('--days <n>', 'number of days, today included', wholeNumber(1, 90), 7)
    .action(async (keyId, { days: count, ...options }) => {
      const { service, output } = await open(options);
      const key = await lookUp(service, keyId);
      const dateOf = (age: number) => isoTime(service.now() - age * secondsPerDay)!.slice(0, 10);
      const dates = Array.from({ length: count }, (_, index) => dateOf(count - 1 - index));
      const counts = await requestsPerDay(service, key, dates);
      const days = counts.length === 0 ? [] : dates.map((date, i) => ({ date, requests: counts[i] ?? 0 }));
      const rows = days.map(({ date, requests }) => [date, grouped(requests)]);
      const text = rows[0]
        ? tableLines([['DAY (UTC)', 'REQUESTS'], ...rows])
        : `API Gateway has no counts for ${keyId}.`;
      output.result({ keyId, days }, text);
    });

/** API Gateway's counts, empty if it has none. @param dates consecutive days */
async function requestsPerDay(
  service: KeyService,
  { plan, gatewayKeyId: keyId }: AdministeredKey,
  dates: readonly string[],
): Promise<number[]> {
  const { apiGateway: client } = service;
  const query = {
    usagePlanId: usagePlanIdOf(service, plan),
    keyId,
    startDate: dates[0],
    endDate: dates.at(-1),
  };
  try {
    const pages = await Array.fromAsync(paginateGetUsage({ client }, query));
    return pages.flatMap(({ items }) => items?.[keyId] ?? []).map(([requests = 0]) => requests);
  } catch (error) {
    if (error instanceof NotFoundException) return [];
    throw error;
  }
}

export const identify = (open: Open) =>
  stageCommand(
    'identify',
    'read an API key from standard input and print its ID',
    '--stage prod < leaked-key.txt',
  ).action(async (options) => {
    const { service, output, input } = await open(options);
    const given = (await input('Paste the API key, then press Enter and Ctrl-D.'))
      .trim()
      .replace(/^Bearer +/i, '');
    const stage = stageOfKey(given);
    if (given === '') throw usageError('Standard input is empty. Paste the API key, or pipe it in.');
    if (stage === undefined)
      throw usageError('Standard input is not an API key: its form or its checksum is wrong.');
    if (stage !== options.stage)
      throw usageError(`The API key is one of stage ${stage}. Use --stage ${stage}.`);
    const key = await readKey(service, hashOfKey(given));
    if (key === undefined) throw new ToolError('not_found', `Stage ${stage} never issued this API key.`);
    const { keyId, owner } = key;
    const status = statusOf(key, await readUsage(service.limitTable, key.keyHash), service.now());
    output.result({ keyId, status, owner }, `${keyId} of ${owner}, ${status}`);
  });
