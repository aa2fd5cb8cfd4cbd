/**
 * How API Gateway's usage plans count, as pure functions of the time that they are given.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-request-throttling.html
 */

/** A token bucket: when it is full it admits `burst` requests at once, and then `rate` requests a second. */
export interface Throttle {
  /** Tokens added per second, above 0; may be a fraction. */
  readonly rate: number;
  /** The most requests that the bucket holds, 0 or more. */
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
  // Sums of fractions are inexact: a token that is whole but for rounding counts.
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

/** What is left of the quota before a request at `now` is counted. */
export function quotaRemaining({ limit }: Quota, use: DailyUse, now: number): number {
  return Math.max(0, limit - (use.get(utcDay(now)) ?? 0));
}
