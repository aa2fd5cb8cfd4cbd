import { GetUsageCommand, NotFoundException } from '@aws-sdk/client-api-gateway';
import { Option } from 'commander';
import { z } from 'zod';
import { secondsPerDay, windowStart } from '../../../functions/access/windows.ts';
import { keyCommand } from '../command.ts';
import { bar, grouped, isoTime, table } from '../format.ts';
import { wholeNumber } from '../options.ts';
import { type KeyService, nowOf } from '../service.ts';
import { readUse } from '../use.ts';
import { limitsOfKey } from '../views.ts';

export const usage = keyCommand({
  name: 'usage',
  summary: 'show the requests of a key, day by day',
  details:
    'API Gateway counts the requests, those answered 429 included, some minutes late. It forgets the counts of a key that is revoked or changes plans.',
  example: 'key_06fz1m4tqabcdefg --stage prod --days 30',
  options: [
    new Option('--days <n>', 'number of days, today included').default(7).argParser(wholeNumber(1, 90)),
  ],
  schema: z.object({ days: z.number() }),
  run: async ({ service, output }, key, { days }) => {
    const today = windowStart(nowOf(service), secondsPerDay);
    const dates = Array.from({ length: days }, (_, index) =>
      isoDate(today - (days - 1 - index) * secondsPerDay),
    );
    const [use, counts] = await Promise.all([
      readUse(service.limitTable, key.keyHash),
      key.gatewayKeyId === undefined
        ? []
        : dailyRequests(service, service.usagePlanIds[key.plan], key.gatewayKeyId, dates),
    ]);
    const limits = limitsOfKey(key);
    const admittedToday = use.day === today ? use.dayCount : 0;
    const counted =
      counts.length === 0 ? [] : dates.map((date, index) => ({ date, requests: counts[index] ?? 0 }));
    const rows = counted.map(({ date, requests }) => [date, grouped(requests), bar(requests, limits.perDay)]);
    const total = `Admitted today: ${grouped(admittedToday)} of ${grouped(limits.perDay)}`;
    output.result(
      { keyId: key.keyId, plan: key.plan, ...limits, days: counted, admittedToday },
      counted.length === 0
        ? `API Gateway has no counts for ${key.keyId}.\n${total}`
        : `${table(['DAY (UTC)', 'REQUESTS', 'OF THE DAY LIMIT'], rows)}\n\n${total}\nRequests are as API Gateway counts them, those answered 429 included.`,
    );
  },
});

/** Requests on each of the dates, the oldest first. Empty when API Gateway has no counts. */
async function dailyRequests(
  { apiGateway }: KeyService,
  usagePlanId: string,
  keyId: string,
  dates: readonly string[],
): Promise<number[]> {
  const range = { usagePlanId, keyId, startDate: dates[0], endDate: dates.at(-1) };
  const counts: number[] = [];
  let position: string | undefined;
  try {
    do {
      const page = await apiGateway.send(
        new GetUsageCommand({ ...range, ...(position !== undefined && { position }) }),
      );
      counts.push(...(page.items?.[keyId] ?? []).map(([count = 0]) => count));
      position = page.position;
    } while (position !== undefined);
  } catch (error) {
    if (!(error instanceof NotFoundException)) throw error;
  }
  return counts;
}

function isoDate(seconds: number): string {
  return (isoTime(seconds) ?? '').slice(0, 10);
}
