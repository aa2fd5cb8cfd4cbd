import type { RateLimitStatus, WindowStatus } from '../access/limits.ts';

/** docs/interface.md#8-limits */
export const rateLimitHeaders = {
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
} as const;

/** For requests without a valid key. */
export const zeroRateHeaders: Readonly<Record<string, string>> = {
  [rateLimitHeaders.limit]: '0',
  [rateLimitHeaders.remaining]: '0',
  [rateLimitHeaders.reset]: '0',
};

/**
 * The rate limit headers of an answer: X-RateLimit-* shows the window in force, `RateLimit-Policy` and
 * `RateLimit` show both windows (draft-ietf-httpapi-ratelimit-headers-10).
 *
 * @param now Unix seconds
 */
export function rateHeaders(status: RateLimitStatus, now: number): Readonly<Record<string, string>> {
  const { limit, remaining, reset } = status[status.inForce];
  const windows = [status.minute, status.day];
  return {
    [rateLimitHeaders.limit]: String(limit),
    [rateLimitHeaders.remaining]: String(remaining),
    [rateLimitHeaders.reset]: String(reset),
    'RateLimit-Policy': windows.map(policy).join(', '),
    RateLimit: windows.map((window) => state(window, now)).join(', '),
  };
}

function policy({ name, limit, length }: WindowStatus): string {
  return `"${name}";q=${limit};w=${length}`;
}

/** `t` is in seconds from now, unlike X-RateLimit-Reset. */
function state({ name, remaining, reset }: WindowStatus, now: number): string {
  return `"${name}";r=${remaining};t=${Math.max(0, reset - now)}`;
}
