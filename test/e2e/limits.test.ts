import { describe, expect, it } from 'vitest';
import { fixedPlans } from '../../functions/access/plans.ts';
import type { Reply } from '../../tools/smoke/client.ts';
import { expectError, expectEveryAnswer, rateOf } from '../../tools/smoke/expectations.ts';
import { inParallel, isLocal, newClient } from './support.ts';

const { perMinute } = fixedPlans.free;

/** Waits for the next minute when this one is about to end: a test of one window must not meet two. */
async function earlyInMinute(secondsNeeded: number): Promise<void> {
  const left = 60 - ((Date.now() / 1000) % 60);
  if (left < secondsNeeded) await new Promise((resolve) => setTimeout(resolve, left * 1000 + 50));
}

describe.runIf(isLocal)('plan limits through the gateway', () => {
  it('of 159 requests at once with one Free key exactly 60 are admitted, and the headers add up', async () => {
    const client = await newClient('free');
    await client.send({ path: '/pets?limit=1', authorization: 'Bearer none' });
    await earlyInMinute(20);
    // One rejection fewer than suspends the key, in case all of them pass the usage plan.
    const replies = await inParallel(Array.from({ length: perMinute + 99 }), 40, () =>
      client.send({ path: '/pets?limit=1' }),
    );

    const admitted = replies.filter(({ status }) => status === 200);
    expect(admitted).toHaveLength(perMinute);
    // Each admitted request was told another number of requests remaining: none was counted twice or not at all.
    expect(admitted.map((reply) => rateOf(reply).remaining).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: perMinute }, (_, remaining) => remaining),
    );
    const refused = replies.filter(({ status }) => status !== 200);
    for (const reply of refused) expectRefusal(reply);
  });

  it('each of two keys has its own allowance', async () => {
    const [one, other] = [await newClient('free'), await newClient('free')];
    await earlyInMinute(10);
    await inParallel(Array.from({ length: 10 }), 5, () => one.send({ path: '/pets?limit=1' }));
    expect(rateOf(await other.send({ path: '/pets?limit=1' })).remaining).toBe(perMinute - 1);
    expect(rateOf(await one.send({ path: '/pets?limit=1' })).remaining).toBe(perMinute - 11);
  });

  it('a rejected creation writes nothing', async () => {
    const client = await newClient('free');
    await earlyInMinute(20);
    const name = `limited ${client.key.slice(-6)}`;
    const body = JSON.stringify({ name, categoryId: 1, status: 'sold' });
    const replies = await inParallel(Array.from({ length: 90 }), 10, () => client.post(body));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(perMinute);

    const reader = await newClient('enterprise');
    const listed = await reader.send({ path: '/pets?limit=100&status=sold' });
    expect(listed.text.split(`"name":"${name}"`).length - 1).toBe(perMinute);
  });
});

function expectRefusal(reply: Reply): void {
  expectError(reply, 429, 'rate_limit_exceeded');
  expectEveryAnswer(reply);
  const rate = rateOf(reply);
  expect(rate.limit).toBe(perMinute);
  expect(rate.remaining).toBe(0);
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(60);
}
