import { type AnimalStoreError, ApiError, ConnectionError, TimeoutError } from './errors.ts';

export interface RetrySettings {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** Milliseconds. A longer `Retry-After` is not waited for. */
  readonly maxRetryDelay: number;
}

/** Milliseconds: the first back-off, doubled at each attempt up to the second figure. */
const firstBackOff = 250;
const longestBackOff = 8_000;

/**
 * How long to wait before the next attempt, or `undefined` when the failure is final. The wait is what the service
 * asks for, plus a random part of a back-off that doubles ("full jitter").
 *
 * @param attempt number of the failed attempt, from 1
 * @param random in [0, 1)
 * @returns milliseconds
 */
export function retryDelay(
  failure: AnimalStoreError,
  attempt: number,
  { maxRetries, maxRetryDelay }: RetrySettings,
  random: number,
): number | undefined {
  if (attempt > maxRetries || !isTransient(failure)) return undefined;
  const asked = failure instanceof ApiError ? (failure.retryAfter ?? 0) : 0;
  if (asked > maxRetryDelay) return undefined;
  return asked + random * Math.min(longestBackOff, maxRetryDelay, firstBackOff * 2 ** (attempt - 1));
}

function isTransient(failure: AnimalStoreError): boolean {
  if (failure instanceof ApiError) return failure.status === 429 || failure.status === 503;
  return failure instanceof ConnectionError || failure instanceof TimeoutError;
}

/**
 * `Retry-After` in milliseconds: seconds, or a date as proxies send it (RFC 9110, section 10.2.3).
 *
 * @param now milliseconds since the Unix epoch
 */
export function readRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
