import { describe, expect, test } from 'vitest';
import type { RateLimitStatus } from '../../../functions/access/limiter-decisions.ts';
import { zeroRateHeaders, rateHeaders } from '../../../functions/http/headers.ts';

const noon = Date.parse('2026-07-01T12:00:00Z') / 1000;
const midnight = noon + 43_200;

function status(minuteLeft: number, dayLeft: number): RateLimitStatus {
  return {
    inForce: 'minute',
    minute: { name: 'minute', limit: 60, remaining: minuteLeft, reset: noon + 60, length: 60 },
    day: { name: 'day', limit: 1_000, remaining: dayLeft, reset: midnight, length: 86_400 },
  };
}

describe('the rate headers', () => {
  test('show the window in force, and both windows', () => {
    expect(rateHeaders(status(59, 999), noon + 12)).toEqual({
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '59',
      'X-RateLimit-Reset': String(noon + 60),
      'RateLimit-Policy': '"minute";q=60;w=60, "day";q=1000;w=86400',
      RateLimit: '"minute";r=59;t=48, "day";r=999;t=43188',
    });
  });

  test('are all zero without a key', () => {
    expect(zeroRateHeaders).toEqual({
      'X-RateLimit-Limit': '0',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '0',
    });
  });
});
