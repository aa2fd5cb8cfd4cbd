import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { decideKey, keyRecord, type KeyRecord } from '../../../functions/access/key-records.ts';
import { fixedPlans, type FixedPlan } from '../../../functions/access/plans.ts';

const now = Date.parse('2026-07-01T12:00:30Z') / 1000;
const free: KeyRecord = { keyHash: 'a'.repeat(64), keyId: 'key_1', plan: 'free', status: 'active' };
const enterprise: KeyRecord = { ...free, plan: 'enterprise', perMinute: 6_000, perDay: 1_000_000 };

describe('a key', () => {
  test('that was never issued is denied', () => {
    expect(decideKey(undefined, now)).toEqual({ kind: 'denied', reason: 'unknown' });
  });

  test('that is revoked is denied, expired or not', () => {
    const revoked: KeyRecord = { ...free, status: 'revoked' };
    expect(decideKey(revoked, now)).toEqual({ kind: 'denied', reason: 'revoked' });
    expect(decideKey({ ...revoked, expiresAt: now - 1 }, now)).toEqual({ kind: 'denied', reason: 'revoked' });
  });

  test('with a status of another version is denied', () => {
    const pending = z.parse(keyRecord, { ...free, status: 'pending' });
    expect(decideKey(pending, now)).toEqual({ kind: 'denied', reason: 'pending' });
  });

  test('is granted until the second it expires, and denied from then on', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.integer({ min: 0, max: 2 ** 40 }),
        (expiresAt, moment) => {
          const decision = decideKey({ ...free, expiresAt }, moment);
          expect(decision).toMatchObject(
            moment < expiresAt
              ? { kind: 'granted', caller: { expiresAt } }
              : { kind: 'denied', reason: 'expired' },
          );
        },
      ),
    );
    expect(decideKey({ ...free, expiresAt: now }, now).kind).toBe('denied');
    expect(decideKey({ ...free, expiresAt: now + 1 }, now).kind).toBe('granted');
  });

  test.each([undefined, 0])('with the expiry %s never expires', (expiresAt) => {
    const record = expiresAt === undefined ? free : { ...free, expiresAt };
    expect(decideKey(record, 2 ** 40)).toMatchObject({ kind: 'granted', caller: { expiresAt: 0 } });
  });

  test.each(Object.entries(fixedPlans))(
    'of the %s plan is granted the limits of the plan',
    (plan, limits) => {
      // Limits on the record are left over from another plan.
      const record = { ...free, plan: plan as FixedPlan, perMinute: 1, perDay: 1 };
      expect(decideKey(record, now)).toEqual({
        kind: 'granted',
        caller: { keyHash: free.keyHash, keyId: 'key_1', plan, limits, expiresAt: 0 },
        gatewayValue: free.keyHash,
      });
    },
  );

  test('of the custom plan is granted the limits of its record', () => {
    expect(decideKey(enterprise, now)).toMatchObject({
      kind: 'granted',
      caller: { plan: 'enterprise', limits: { perMinute: 6_000, perDay: 1_000_000 } },
    });
  });

  test.each([{ perMinute: 0 }, { perDay: 0 }, { perMinute: undefined }, { perDay: undefined }])(
    'of the custom plan without limits (%o) throws an error with the key ID and not the hash',
    (damage) => {
      const record = { ...enterprise, ...damage };
      expect(() => decideKey(record, now)).toThrow(
        'The record of key key_1 is malformed: the enterprise plan requires perMinute and perDay',
      );
    },
  );
});

describe('a stored record', () => {
  const stored = { keyHash: 'a'.repeat(64), keyId: 'key_1', plan: 'free', status: 'active' };

  test('is read with its numbers and without unknown fields', () => {
    const item = {
      ...stored,
      expiresAt: { value: '1790000000' },
      perMinute: { value: '60' },
      perDay: { value: '1000' },
      owner: 'Ada',
      note: 'x',
    };
    expect(z.parse(keyRecord, item)).toEqual({
      ...stored,
      expiresAt: 1_790_000_000,
      perMinute: 60,
      perDay: 1_000,
    });
  });

  test.each([
    ['a hash in capitals', { keyHash: 'A'.repeat(64) }],
    ['a short hash', { keyHash: 'a'.repeat(63) }],
    ['no hash', { keyHash: undefined }],
    ['an empty id', { keyId: '' }],
    ['no id', { keyId: undefined }],
    ['an unknown plan', { plan: 'unheard' }],
    ['no plan', { plan: undefined }],
    ['no status', { status: undefined }],
    ['a negative expiry', { expiresAt: { value: '-1' } }],
    ['an expiry that is text', { expiresAt: '1790000000' }],
    ['a limit with a fraction', { perMinute: { value: '0.5' } }],
  ])('with %s is malformed', (_what, damage) => {
    expect(z.safeParse(keyRecord, { ...stored, ...damage }).success).toBe(false);
  });
});
