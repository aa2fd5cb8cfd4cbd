/**
 * How API Gateway's usage plans count, as pure functions of the time that they are given.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
 */

/** A token bucket: at first, and after a rest, it admits `burst` requests at once; then `rate` a second. */
export interface Throttle {
  /** Tokens added per second, above 0; may be a fraction. */
  readonly rate: number;
  /** What the bucket holds at most, in requests, 0 or more. */
  readonly burst: number;
}

export interface Bucket {
  /** Tokens in the bucket at `updatedAt`, from 0 to the burst. */
  readonly tokens: number;
  /** Milliseconds since the Unix epoch. */
  readonly updatedAt: number;
}

export function fullBucket({ burst }: Throttle, now: number): Bucket {
  return { tokens: burst, updatedAt: now };
}

/**
 * Takes one token, if there is one. A clock that runs backwards adds nothing and takes nothing away.
 *
 * @param now milliseconds since the Unix epoch
 */
export function takeToken(
  { rate, burst }: Throttle,
  bucket: Bucket,
  now: number,
): { readonly admitted: boolean; readonly bucket: Bucket } {
  const elapsed = Math.max(0, now - bucket.updatedAt) / 1000;
  const tokens = Math.min(burst, bucket.tokens + elapsed * rate);
  const updatedAt = Math.max(now, bucket.updatedAt);
  // Sums of fractions fall short of the whole by a hair; a request must not fall with them.
  const admitted = tokens >= 1 - 1e-9;
  return { admitted, bucket: { tokens: admitted ? Math.max(0, tokens - 1) : tokens, updatedAt } };
}

export type QuotaPeriod = 'DAY' | 'WEEK' | 'MONTH';

export interface Quota {
  /** Requests in a period, at most. */
  readonly limit: number;
  readonly period: QuotaPeriod;
  /** Requests that are taken off the limit of the first period. */
  readonly offset: number;
}

const dayMs = 86_400_000;

/**
 * When the period that holds `now` began, in UTC: midnight, the midnight that began Sunday, or the first of the
 * month.
 *
 * @param now milliseconds since the Unix epoch
 * @returns milliseconds since the Unix epoch
 */
export function periodStart(period: QuotaPeriod, now: number): number {
  const midnight = Math.floor(now / dayMs) * dayMs;
  const date = new Date(midnight);
  switch (period) {
    case 'DAY':
      return midnight;
    case 'WEEK':
      return midnight - date.getUTCDay() * dayMs;
    case 'MONTH':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  }
}

/** A day in UTC as `YYYY-MM-DD`. */
export function utcDay(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** Requests admitted for one key under one plan, by day. */
export type DailyUse = ReadonlyMap<string, number>;

/**
 * What is left of the quota before a request at `now` is counted.
 *
 * @param firstPeriod start of the period in which the key joined the plan: the offset applies to that one alone
 */
export function quotaRemaining(quota: Quota, use: DailyUse, now: number, firstPeriod: number): number {
  const start = periodStart(quota.period, now);
  const limit = start === firstPeriod ? quota.limit - quota.offset : quota.limit;
  let used = 0;
  for (let day = start; day <= now; day += dayMs) used += use.get(utcDay(day)) ?? 0;
  return Math.max(0, limit - used);
}
