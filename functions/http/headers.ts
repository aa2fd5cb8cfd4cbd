import type { RateLimitStatus } from '../access/limiter-decisions.ts';
import type { Deprecation } from '../operations.ts';

/** Headers of every answer, of the functions and of API Gateway itself. Beside them, each has X-Request-Id and X-RateLimit-*. */
export const fixedHeaders = { 'Cache-Control': 'no-store' } as const;

export const requestIdHeader = 'X-Request-Id';

/** How to authenticate (RFC 6750, section 3): a 401 has it, which only API Gateway answers. */
export const bearerChallenge = 'Bearer realm="animal-store"';

/** docs/interface.md#rate-limits */
export const rateLimitHeaders = {
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
} as const;

/** Requests without a valid key get these. */
export const zeroRateHeaders: Readonly<Record<string, string>> = {
  [rateLimitHeaders.limit]: '0',
  [rateLimitHeaders.remaining]: '0',
  [rateLimitHeaders.reset]: '0',
};

/**
 * X-RateLimit-* shows the window in force, `RateLimit-Policy` and `RateLimit` show both windows
 * (draft-ietf-httpapi-ratelimit-headers-11; a proposal that is not merged renames both:
 * https://github.com/ietf-wg-httpapi/ratelimit-headers/pull/166). `now` is in Unix seconds.
 */
export function rateHeaders(status: RateLimitStatus, now: number): Readonly<Record<string, string>> {
  const { limit, remaining, reset } = status[status.inForce];
  const windows = [status.minute, status.day];
  const policies = windows.map(({ name, limit: q, length: w }) => `"${name}";q=${q};w=${w}`);
  // `t` is in seconds from now, unlike X-RateLimit-Reset: within it no more than `r` requests are admitted.
  const states = windows.map(({ name, remaining: r, reset: end }) => `"${name}";r=${r};t=${end - now}`);
  return {
    [rateLimitHeaders.limit]: String(limit),
    [rateLimitHeaders.remaining]: String(remaining),
    [rateLimitHeaders.reset]: String(reset),
    'RateLimit-Policy': policies.join(', '),
    RateLimit: states.join(', '),
  };
}

/** `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
export function deprecationHeaders({ since, removal }: Deprecation): Readonly<Record<string, string>> {
  return {
    Deprecation: `@${new Date(since).getTime() / 1000}`,
    Sunset: new Date(removal).toUTCString(),
  };
}
