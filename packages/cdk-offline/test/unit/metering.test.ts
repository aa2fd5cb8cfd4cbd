import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Bucket,
  fullBucket,
  quotaRemaining,
  takeToken,
  type Throttle,
} from '../../src/usage-plans/metering.ts';

function admissions(throttle: Throttle, times: readonly number[]): boolean[] {
  let bucket: Bucket = fullBucket(throttle, times[0] ?? 0);
  return times.map((now) => {
    const taken = takeToken(throttle, bucket, now);
    bucket = taken.bucket;
    return taken.admitted;
  });
}

describe('the token bucket', () => {
  it('neither gains nor loses tokens when the clock runs backwards', () => {
    expect(admissions({ rate: 1, burst: 1 }, [10_000, 5000, 10_000, 11_000])).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });

  it('admits at most burst + rate × time in any interval, and rejects no request that fits', () => {
    const throttles = fc.record({
      rate: fc.integer({ min: 1, max: 20 }),
      burst: fc.integer({ min: 0, max: 20 }),
    });
    // Whole thousands of a token per millisecond, so that the model counts without rounding.
    fc.assert(
      fc.property(
        throttles,
        fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 80 }),
        (throttle, gaps) => {
          const times: number[] = [];
          for (const gap of gaps) times.push((times.at(-1) ?? 0) + gap);
          let thousandths = throttle.burst * 1000;
          let last = times[0] ?? 0;
          const model = times.map((now) => {
            thousandths = Math.min(throttle.burst * 1000, thousandths + (now - last) * throttle.rate);
            last = now;
            if (thousandths < 1000) return false;
            thousandths -= 1000;
            return true;
          });
          expect(admissions(throttle, times)).toEqual(model);
        },
      ),
    );
  });
});

describe('the quota', () => {
  const at = (text: string) => Date.parse(text);

  it('counts the requests of the UTC day, and never falls below 0', () => {
    const use = new Map([
      ['2026-02-28', 5],
      ['2026-03-03', 2],
    ]);
    const remaining = (now: string) => quotaRemaining({ limit: 4 }, use, at(now));
    expect(remaining('2026-02-28T23:59:59.999Z')).toBe(0);
    expect(remaining('2026-03-01T00:00:00Z')).toBe(4);
    expect(remaining('2026-03-03T10:00:00Z')).toBe(2);
  });
});
