import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { caller, type Caller, toCallerContext } from '../../../functions/access/caller.ts';
import { planNames } from '../../../functions/access/plans.ts';

const callers: fc.Arbitrary<Caller> = fc.record({
  keyHash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  keyId: fc.string({ minLength: 1 }),
  plan: fc.constantFrom(...planNames),
  limits: fc.record({
    perMinute: fc.integer({ min: 1, max: 60_000 }),
    perDay: fc.integer({ min: 1, max: 86_400_000 }),
  }),
  expiresAt: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 2 ** 40 })),
});
const moment = fc.integer({ min: 0, max: 2 ** 40 });
const cacheSeconds = fc.integer({ min: 0, max: 3600 });

describe('the context of the authorizer', () => {
  test('has a throttle reset that is in the future for as long as the result is cached', () => {
    fc.assert(
      fc.property(callers, moment, cacheSeconds, (each, now, cache) => {
        const reset = Number(toCallerContext(each, now, cache)['throttleReset']);
        expect(reset % 60).toBe(0);
        expect(reset).toBeGreaterThan(now + cache);
        expect(reset).toBeLessThanOrEqual(now + cache + 60);
      }),
    );
  });

  test('has a day reset at the next midnight UTC', () => {
    fc.assert(
      fc.property(callers, moment, cacheSeconds, (each, now, cache) => {
        const reset = Number(toCallerContext(each, now, cache)['dayReset']);
        const midnight = new Date(now * 1000);
        midnight.setUTCHours(24, 0, 0, 0);
        expect(reset).toBe(midnight.getTime() / 1000);
      }),
    );
  });
});

describe('a caller', () => {
  const received = {
    keyHash: 'a',
    keyId: 'b',
    plan: 'free',
    perMinute: '60',
    perDay: '1000',
    expiresAt: '0',
  };

  test.each([
    ['no key hash', { keyHash: undefined }],
    ['no key ID', { keyId: undefined }],
    ['no plan', { plan: undefined }],
    ['a limit that is not a number', { perMinute: 'many' }],
    ['an empty limit', { perDay: '' }],
    ['a negative limit', { perDay: '-1' }],
    ['no expiry', { expiresAt: undefined }],
  ])('with %s is rejected', (_what, damage) => {
    expect(z.safeParse(caller, { ...received, ...damage }).success).toBe(false);
  });

  test('with a plan that only a newer authorizer knows, as during a canary, is accepted', () => {
    expect(z.parse(caller, { ...received, plan: 'startup' })).toMatchObject({ plan: 'startup' });
  });
});
