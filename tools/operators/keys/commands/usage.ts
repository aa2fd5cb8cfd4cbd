import { NotFoundException, paginateGetUsage } from '@aws-sdk/client-api-gateway';
import { secondsPerDay } from '../../../../functions/access/plans.ts';
import { grouped, isoTime, tableLines } from '../../command-line/output.ts';
import { wholeNumber } from '../../command-line/stage-command.ts';
import { keyCommand, lookUp, type Open } from '../key-command.ts';
import { type AdministeredKey } from '../records.ts';
import { type KeyService, usagePlanIdOf } from '../service.ts';

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
