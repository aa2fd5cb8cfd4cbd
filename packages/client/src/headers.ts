/** The rate limit of the API key: of the window, minute or day, that has the fewest requests remaining. */
export interface RateLimit {
  /** Requests in the window. */
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends. */
  readonly reset: Date;
}

/** `undefined` when the answer does not say, as that of a proxy, or one of API Gateway itself: the limit is then missing, or 0. */
export function rateLimitOf(headers: Headers): RateLimit | undefined {
  const [limit, remaining, reset] = ['Limit', 'Remaining', 'Reset'].map((name) => {
    const value = headers.get(`X-RateLimit-${name}`) ?? '';
    return /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  });
  if (limit === undefined || remaining === undefined || !reset) return undefined;
  return { limit, remaining, reset: new Date(reset * 1_000) };
}

export function requestIdOf(headers: Headers): string | undefined {
  return headers.get('X-Request-Id') ?? undefined;
}

/** The target of `rel="next"` in a `Link` header (RFC 8288), or `undefined` on the last page. */
export function nextTarget(link: string | null): string | undefined {
  for (const [, target, parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (/;\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\s*(?:[;,]|$))/i.test(parameters)) return target;
  }
  return undefined;
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
