/**
 * The metering of API Gateway's usage plans, as pure functions of time.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
 */

/** A token bucket: when full it admits `burst` requests at once, then `rate` requests a second. */
export interface Throttle {
  /** Tokens added per second, above 0; may be a fraction. */
  readonly rate: number;
  /** Capacity in requests, 0 or more. */
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
 * Takes one token, if there is one. A clock that runs backwards changes nothing.
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
  // Sums of fractions are inexact: a token that is whole except for rounding counts.
  const admitted = tokens >= 1 - 1e-9;
  return { admitted, bucket: { tokens: admitted ? Math.max(0, tokens - 1) : tokens, updatedAt } };
}

/** Requests that a key may send on a day in UTC. */
export interface Quota {
  readonly limit: number;
}

/** A day in UTC as `YYYY-MM-DD`. */
export function utcDay(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

/** Requests admitted for one key under one plan, by day. */
export type DailyUse = ReadonlyMap<string, number>;

/** Requests remaining before a request at `now` is counted. */
export function quotaRemaining({ limit }: Quota, use: DailyUse, now: number): number {
  return Math.max(0, limit - (use.get(utcDay(now)) ?? 0));
}
