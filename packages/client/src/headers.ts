/** The rate limit of the API key: of the window, minute or day, that has the fewest requests remaining. */
export interface RateLimit {
  /** Requests in the window. */
  readonly limit: number;
  readonly remaining: number;
  /** When the window ends. */
  readonly reset: Date;
}

/** What is left of the minute and of the day. */
export interface RateLimits {
  readonly minute: RateLimit;
  readonly day: RateLimit;
}

/**
 * Reads `RateLimit` and `RateLimit-Policy`, which follow a draft: `undefined` when the answer does not have them, or when a later
 * draft has changed what is read here.
 */
export function rateLimitsOf(headers: Headers): RateLimits | undefined {
  const policies = itemsOf(headers.get('RateLimit-Policy'));
  const limits = itemsOf(headers.get('RateLimit'));
  const date = Date.parse(headers.get('Date') ?? '');
  const now = Number.isNaN(date) ? Date.now() : date;
  const windowOf = (name: string): RateLimit | undefined => {
    const [limit, remaining, seconds] = [
      policies.get(name)?.get('q'),
      limits.get(name)?.get('r'),
      limits.get(name)?.get('t'),
    ];
    if (limit === undefined || remaining === undefined || seconds === undefined) return undefined;
    return { limit, remaining, reset: new Date(now + seconds * 1_000) };
  };
  const [minute, day] = [windowOf('minute'), windowOf('day')];
  return minute && day && { minute, day };
}

/** The whole numbers among the parameters of each item of a list such as `"minute";r=59;t=42, "day";r=999;t=51042` (RFC 9651). */
function itemsOf(value: string | null): Map<string, Map<string, number>> {
  const items = [...(value ?? '').matchAll(/"(\w+)"((?:\s*;\s*[^;,"]+(?:"[^"]*")?)*)/g)];
  return new Map(
    items.map(([, name = '', parameters = '']) => {
      const numbers = [...parameters.matchAll(/;\s*([a-z]+)=(\d{1,15})\s*(?=;|$)/g)];
      return [name, new Map(numbers.map(([, key = '', digits]) => [key, Number(digits)]))];
    }),
  );
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

const relNext = String.raw`\s*rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|next\s*(?:[;,]|$))`;
const ofTarget = new RegExp(`;${relNext}`, 'i');
const ofLink = new RegExp(`(?:^|[;,])${relNext}`, 'i');

/** The target of `rel="next"` in a `Link` header (RFC 8288), or `undefined` on the last page. */
export function nextTarget(link: string | null): string | undefined {
  for (const [, target, parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (ofTarget.test(parameters)) return target;
  }
  return undefined;
}

/** Whether a `Link` header has a next page, also one whose target `nextTarget` cannot read. */
export function hasNextLink(link: string | null): boolean {
  return ofLink.test(link ?? '');
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
