import { type AnimalStoreError, ApiError, ConnectionError, TimeoutError } from './errors.ts';

export interface RetrySettings {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** Milliseconds. A longer `Retry-After` is not waited for: waiting less can get the key suspended. */
  readonly maxRetryDelay: number;
}

/** Milliseconds: the first back-off, doubled at each attempt up to the second figure. */
const firstBackOff = 250;
const longestBackOff = 8_000;

/** Every call is safe to repeat: a `GET` is, and a creation has its idempotency key. */
const transientStatuses = new Set([408, 429, 500, 502, 503, 504]);

/**
 * How long to wait before the next attempt, or `undefined` when the failure is final. The wait is what the service
 * asks for, plus a random part of a back-off that doubles ("full jitter"). The back-off is at least as long as what the
 * service asks for, because a `Retry-After` ends for all clients of a key at the same time, the start of a window.
 *
 * @param attempt number of the failed attempt, from 1
 * @param random in [0, 1)
 * @returns whole milliseconds
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
  const backOff = Math.max(asked, firstBackOff * 2 ** (attempt - 1));
  return Math.ceil(asked + random * Math.min(longestBackOff, maxRetryDelay, backOff));
}

function isTransient(failure: AnimalStoreError): boolean {
  if (failure instanceof ApiError) return transientStatuses.has(failure.status);
  return failure instanceof ConnectionError || failure instanceof TimeoutError;
}
