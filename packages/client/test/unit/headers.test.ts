import { describe, expect, it } from 'vitest';
import { nextTarget, rateLimitOf, readRetryAfter } from '../../src/headers.ts';

describe('The link to the next page', () => {
  it.each([
    ['<http://h/v1/pets?limit=2&cursor=c>; rel="next"', 'http://h/v1/pets?limit=2&cursor=c'],
    ['<http://h/a,b>; rel=next', 'http://h/a,b'],
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
    'http://h; rel="next"',
  ])('is absent from %s', (header) => {
    expect(nextTarget(header)).toBeUndefined();
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
