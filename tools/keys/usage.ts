import { NotFoundException } from '@aws-sdk/client-api-gateway';
import type { AdministeredKey } from './key-administration.ts';
import { readUse } from './key-administration-use.ts';
import { secondsPerDay, windowStart } from '../../functions/access/windows.ts';
import { dailyUse } from './gateway.ts';
import { type KeyService, nowOf } from './service.ts';

interface DayOfUse {
  /** `2026-07-01`, in UTC. */
  readonly date: string;
  /** Requests that API Gateway counted: those that the service answered 429 too. */
  readonly requests: number;
}

export interface KeyUsage {
  /** The oldest day first. Empty for a key that API Gateway no longer holds: it forgets the use with the key. */
  readonly days: readonly DayOfUse[];
  /** Requests admitted today, exactly. */
  readonly admittedToday: number;
}

/** The days that API Gateway answers for at once. */
export const usageDays = { min: 1, max: 90 } as const;

/** The use of a key on each of the last days, today included. */
export async function usageOf(service: KeyService, key: AdministeredKey, days: number): Promise<KeyUsage> {
  const today = windowStart(nowOf(service), secondsPerDay);
  const dates = Array.from({ length: days }, (_, index) =>
    isoDate(today - (days - 1 - index) * secondsPerDay),
  );
  const [use, counts] = await Promise.all([
    readUse(service.limitTable, [key.keyHash]),
    key.gatewayKeyId === undefined ? undefined : countsOf(service, key.gatewayKeyId, dates),
  ]);
  const { day, dayCount } = use.get(key.keyHash) ?? { day: 0, dayCount: 0 };
  return {
    days: counts === undefined ? [] : dates.map((date, index) => ({ date, requests: counts[index] ?? 0 })),
    admittedToday: day === today ? dayCount : 0,
  };
}

/** A key may have been on any of the plans in that time, and each usage plan keeps its own count. */
async function countsOf(
  service: KeyService,
  gatewayKeyId: string,
  dates: readonly string[],
): Promise<number[]> {
  const [from = '', to = ''] = [dates[0], dates.at(-1)];
  const perPlan = await Promise.all(
    Object.values(service.usagePlanIds).map(async (usagePlanId) => {
      try {
        return await dailyUse(service, { usagePlanId, gatewayKeyId, from, to });
      } catch (error) {
        if (error instanceof NotFoundException) return []; // never on that plan
        throw error;
      }
    }),
  );
  return dates.map((_, index) => perPlan.reduce((sum, counts) => sum + (counts[index] ?? 0), 0));
}

function isoDate(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}
