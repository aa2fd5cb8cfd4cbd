import { describe, expect, test } from 'vitest';
import { admit } from '../../../functions/access/limiter.ts';
import type { Limits } from '../../../functions/access/plans.ts';
import type { Decision } from '../../../functions/access/limiter-decisions.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { usageInMemory } from '../../support/usage-in-memory.ts';
import { at } from '../../support/times.ts';

// Whom the limiter suspends: a client that goes on after a 429, not one that sends much at once.

const noon = Date.parse('2026-04-01T12:00:00Z') / 1000;
const keyHash = 'a'.repeat(64);

/** The limiter of one key. `send` takes seconds. */
function keyOf(limits: Limits, stored: Readonly<Record<string, number>> = {}) {
  let writes = 0;
  const { client, put } = usageInMemory(() => {
    writes += 1;
  });
  if (Object.keys(stored).length > 0) put({ keyHash, ...stored });
  const send = (now: number): Promise<Decision> =>
    admit({ client, tableName: 'RateLimits' }, { keyHash, limits, now: at(Math.floor(now)) });
  return {
    send,
    wave: (count: number, now: number) => Promise.all(Array.from({ length: count }, () => send(now))),
    writesOf: async (now: number) => {
      writes = 0;
      await send(now);
      return writes;
    },
  };
}

const kindsOf = (decisions: readonly Decision[]) =>
  Object.fromEntries(
    [...Map.groupBy(decisions, ({ kind }) => kind)].map(([kind, all]) => [kind, all.length]),
  );

describe('a wave of requests that were all sent before the first 429 arrived', () => {
  test.each([
    ['free', 234],
    ['pro', 420],
    ['business', 1_150],
  ] as const)('does not suspend a key of the %s plan: %d at once', async (plan, count) => {
    const { perMinute } = fixedPlans[plan];
    const key = keyOf(fixedPlans[plan]);
    expect(kindsOf(await key.wave(count, noon))).toEqual({
      admitted: perMinute,
      rejected: count - perMinute,
    });
    // Its last requests are late.
    expect(kindsOf(await key.wave(200, noon + 9))).toEqual({ rejected: 200 });
    // The next minute has its own wave.
    expect(kindsOf(await key.wave(count, noon + 60))).toEqual({
      admitted: perMinute,
      rejected: count - perMinute,
    });
  });

  test('does not suspend a key whose day is used up by it', async () => {
    const limits = { perMinute: 60, perDay: 1_000 };
    const day = noon - 43_200;
    // It has had a 429 before, an hour ago.
    const stored = { minute: noon - 3_600, minuteCount: 60, day, dayCount: 990 };
    const key = keyOf(limits, { ...stored, rejectedSince: noon - 3_590, rejections: 200 });
    expect(kindsOf(await key.wave(234, noon + 55))).toEqual({ admitted: 10, rejected: 224 });
    expect(kindsOf(await key.wave(150, noon + 62))).toEqual({ rejected: 150 });
  });
});

describe('a client that goes on after a 429', () => {
  test('is suspended by more rejections than 2.5 times its limit has from 10 seconds later on', async () => {
    const key = keyOf({ perMinute: 300, perDay: 10_000 });
    await key.wave(420, noon + 3);
    expect(kindsOf(await key.wave(587, noon + 13))).toEqual({ rejected: 587 });
    expect(await key.send(noon + 14)).toMatchObject({ kind: 'suspended', retryAfter: 600 });
  });

  test('on a day that is used up, too, and each minute has its own wave', async () => {
    const limits = { perMinute: 60, perDay: 1_000 };
    const key = keyOf(limits, { minute: noon, minuteCount: 10, day: noon - 43_200, dayCount: 1_000 });
    expect(kindsOf(await key.wave(500, noon + 58))).toEqual({ rejected: 500 });
    expect(kindsOf(await key.wave(500, noon + 67))).toEqual({ rejected: 500 });
    expect(kindsOf(await key.wave(193, noon + 77))).toEqual({ rejected: 193 });
    expect(await key.send(noon + 78)).toMatchObject({ kind: 'suspended' });
  });
});

test('a rejection is counted with no more writes than before: one that fails, and one that counts', async () => {
  const key = keyOf({ perMinute: 1, perDay: 10 });
  await key.send(noon);
  const [first, inTime, late] = [
    await key.writesOf(noon),
    await key.writesOf(noon + 9),
    await key.writesOf(noon + 10),
  ];
  expect([first, inTime, late]).toEqual([2, 1, 2]);
});
