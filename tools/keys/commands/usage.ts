import { NotFoundException, paginateGetUsage } from '@aws-sdk/client-api-gateway';
import { secondsPerDay } from '../../../functions/access/windows.ts';
import { keyCommand, onKey, type Open } from '../command.ts';
import { grouped, isoTime, table } from '../format.ts';
import { wholeNumber } from '../options.ts';
import type { AdministeredKey } from '../records.ts';
import { type KeyService, nowOf } from '../service.ts';

export const usage = (open: Open) =>
  keyCommand(
    'usage',
    'show the requests of a key, day by day',
    '--days 30',
    'API Gateway counts the requests, those answered 429 included, some minutes late. It forgets the counts of a key that is revoked or changes plans.',
  )
    .option('--days <n>', 'number of days, today included', wholeNumber(1, 90), 7)
    .action(
      onKey(open, async ({ service, output }, key, { days: count }) => {
        const days = await dailyRequests(service, key, count);
        const rows = days.map(({ date, requests }) => [date, grouped(requests)]);
        output.result(
          { keyId: key.keyId, days },
          days.length === 0
            ? `API Gateway has no counts for ${key.keyId}.`
            : table([['DAY (UTC)', 'REQUESTS'], ...rows]),
        );
      }),
    );

/** Requests on each of the last days, the oldest first. Empty when API Gateway has no counts. */
async function dailyRequests(
  service: KeyService,
  { plan, gatewayKeyId: keyId }: AdministeredKey,
  count: number,
): Promise<{ date: string; requests: number }[]> {
  const dates = Array.from(
    { length: count },
    (_, index) => isoTime(nowOf(service) - (count - 1 - index) * secondsPerDay)?.slice(0, 10) ?? '',
  );
  const range = { usagePlanId: service.usagePlanIds[plan], startDate: dates[0], endDate: dates.at(-1) };
  const counts: number[] = [];
  try {
    const { apiGateway: client } = service;
    if (keyId !== undefined)
      for await (const { items } of paginateGetUsage({ client }, { ...range, keyId }))
        counts.push(...(items?.[keyId] ?? []).map(([requests = 0]) => requests));
  } catch (error) {
    if (!(error instanceof NotFoundException)) throw error;
  }
  return counts.length === 0 ? [] : dates.map((date, index) => ({ date, requests: counts[index] ?? 0 }));
}
