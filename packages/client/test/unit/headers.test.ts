import { describe, expect, it } from 'vitest';
import { nextTarget, rateLimitOf, rateLimitsOf, readRetryAfter } from '../../src/headers.ts';

describe('The link to the next page', () => {
  it.each([
    ['<http://h/v1/pets?limit=2&cursor=c>; rel="next"', 'http://h/v1/pets?limit=2&cursor=c'],
    ['<http://h/a,b>; rel=next', 'http://h/a,b'],
    ['<http://h/a>; rel=next; title=b', 'http://h/a'],
    ['<http://h/a>; rel=next, <http://h/b>; rel=prev', 'http://h/a'],
    ['<http://h/prev>; rel="prev", <http://h/next>; title="x"; rel="last next"', 'http://h/next'],
    ['<http://h/next>;REL="NEXT", <http://h/other>; rel="up"', 'http://h/next'],
  ])('is found in %s', (header, target) => {
    expect(nextTarget(header)).toBe(target);
  });

  it.each([
    null,
    '',
    '<http://h/pets>; rel="successor-version"',
    '<http://h/>; rel="nextish"',
    '</a>; rel="prev"; title="what is next"',
  ])('is absent from %s', (header) => {
    expect(nextTarget(header)).toBeUndefined();
  });
});

describe('The rate limits of the minute and of the day', () => {
  const headers = {
    Date: 'Thu, 01 Jan 2026 00:00:18 GMT',
    'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
    RateLimit: '"minute";r=59;t=42, "day";r=0;t=86382',
  };

  it('are read from the headers of a draft', () => {
    expect(rateLimitsOf(new Headers(headers))).toEqual({
      minute: { limit: 60, remaining: 59, reset: new Date('2026-01-01T00:01:00Z') },
      day: { limit: 1_000, remaining: 0, reset: new Date('2026-01-02T00:00:00Z') },
    });
  });

  it('are read in another order, and with parameters and windows that are new', () => {
    const policy = '"day";w=86400;q=1000;qu="requests", "hour";q=5;w=3600, "minute";q=60;pk=:YQ==:;w=60';
    const limit = '"hour";r=1;t=2,"day";t=86382;r=0,"minute" ; t=42 ;r=59';
    const read = rateLimitsOf(new Headers({ ...headers, 'RateLimit-Policy': policy, RateLimit: limit }));
    expect(read).toEqual(rateLimitsOf(new Headers(headers)));
  });

  it('end by the clock of this machine where the answer has no date', () => {
    const read = rateLimitsOf(new Headers({ ...headers, Date: 'soon' }));
    expect(Math.abs(read!.minute.reset.getTime() - Date.now() - 42_000)).toBeLessThan(5_000);
  });

  it.each([
    ['RateLimit', ''],
    ['RateLimit', '"minute";r=59;t=42'],
    ['RateLimit', '"minute";available=59;t=42, "day";available=0;t=86382'],
    ['RateLimit', '"minute";r=-1;t=42, "day";r=0;t=86382'],
    ['RateLimit', '"minute";r=59;t=4.2, "day";r=0;t=86382'],
    ['RateLimit', `"minute";r=59;t=${'1'.repeat(16)}, "day";r=0;t=86382`],
    ['RateLimit-Policy', 'minute;q=60;w=60, day;q=1000;w=86400'],
    ['RateLimit-Policy', ''],
  ])('are absent when %s is %s, as after a change of the draft', (name, value) => {
    expect(rateLimitsOf(new Headers({ ...headers, [name]: value }))).toBeUndefined();
  });

  it("are absent from API Gateway's own answers", () => {
    expect(rateLimitsOf(new Headers())).toBeUndefined();
  });
});

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['7', 7_000],
    ['Thu, 01 Jan 1970 00:00:05 GMT', 4_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['soon', undefined],
    [null, undefined],
  ])('%s is read in milliseconds', (value, milliseconds) => {
    expect(readRetryAfter(value, 1_000)).toBe(milliseconds);
  });
});

describe('The rate limit', () => {
  const headers = {
    'X-RateLimit-Limit': '60',
    'X-RateLimit-Remaining': '59',
    'X-RateLimit-Reset': '1767225660',
  };

  it('is read from the three headers', () => {
    const reset = new Date('2026-01-01T00:01:00Z');
    expect(rateLimitOf(new Headers(headers))).toEqual({ limit: 60, remaining: 59, reset });
  });

  it.each(['', 'soon', '-1', '1.5', '1'.repeat(16)])('is absent when a header is "%s"', (value) => {
    for (const name of Object.keys(headers)) {
      expect(rateLimitOf(new Headers({ ...headers, [name]: value }))).toBeUndefined();
    }
    expect(rateLimitOf(new Headers())).toBeUndefined();
    // API Gateway's own answers have a reset of 0 without a valid key, and neither limit nor reset if it does not know the key.
    expect(rateLimitOf(new Headers({ ...headers, 'X-RateLimit-Reset': '0' }))).toBeUndefined();
    expect(rateLimitOf(new Headers({ 'X-RateLimit-Remaining': '0' }))).toBeUndefined();
  });
});
