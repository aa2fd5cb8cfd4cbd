import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { fixedPlans } from '../../functions/access/plans.ts';
import type { Client, Reply } from '../../tools/smoke/client.ts';
import {
  expectError,
  expectEveryAnswer,
  expectPets,
  nextOf,
  rateOf,
} from '../../tools/smoke/expectations.ts';
import { rounds } from '../support/rounds.ts';
import { clientOf, inOneMinute, inParallel, minuteOf } from './support.ts';

const { perMinute } = fixedPlans.free;
const requests = rounds({ full: 150, sample: 90 });
/** The service starts an execution environment of a function for each request at the same time. */
const atOnce = rounds({ full: 40, sample: 10 });

describe('plan limits through the gateway', () => {
  it(`of ${requests} requests, ${atOnce} at once, with one Free key exactly 60 a minute are admitted, and the headers add up`, async () => {
    const client = await clientOf('free');
    // Fewer rejections than suspend a key, in case all of them pass the usage plan.
    const { remaining, result: replies } = await inOneMinute(client, perMinute, () =>
      inParallel(Array.from({ length: requests }), atOnce, () => client.send({ path: '/pets?limit=1' })),
    );

    const admitted = replies.filter(({ status }) => status === 200);
    expect(admitted).toHaveLength(remaining);
    // Each admitted request has another number of requests remaining: none was counted twice or not at all.
    expect(admitted.map((reply) => minuteOf(reply).remaining).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: remaining }, (_, each) => each),
    );
    for (const reply of replies.filter(({ status }) => status !== 200)) expectRejection(reply);
  });

  it('each of two keys has its own allowance', async () => {
    const [one, other] = [await clientOf('free'), await clientOf('pro')];
    const path = '/pets?limit=1';
    const { remaining, result } = await inOneMinute(other, fixedPlans.pro.perMinute, () =>
      inOneMinute(one, perMinute, async () => {
        await inParallel(Array.from({ length: 10 }), 5, () => one.send({ path }));
        return [minuteOf(await one.send({ path })).remaining, minuteOf(await other.send({ path })).remaining];
      }),
    );
    expect(result.result).toEqual([result.remaining - 11, remaining - 1]);
  });

  it('a rejected creation writes nothing', async () => {
    const client = await clientOf('free');
    let name = '';
    const { remaining, result: replies } = await inOneMinute(client, perMinute, () => {
      name = `limited ${randomUUID()}`;
      const body = JSON.stringify({ name, categoryId: 1, status: 'sold' });
      return inParallel(Array.from({ length: rounds({ full: 90, sample: 70 }) }), 10, () =>
        client.post(body),
      );
    });
    const created = replies.filter(({ status }) => status === 201);
    expect(created).toHaveLength(remaining);

    const reader = await clientOf('business');
    // A listing shows a creation within a moment, not at once.
    await expect.poll(() => countNewest(reader, name), { timeout: 20_000, interval: 1_000 }).toBe(remaining);
  });
});

/** Animals with the name among the newest 500 that are sold. */
async function countNewest(client: Client, name: string): Promise<number> {
  let count = 0;
  let path: string | undefined = '/pets?limit=100&status=sold';
  for (let page = 0; page < 5 && path !== undefined; page += 1) {
    const reply: Reply = await client.send({ path });
    count += expectPets(reply).filter((pet) => pet.name === name).length;
    path = nextOf(reply);
  }
  return count;
}

function expectRejection(reply: Reply): void {
  expectError(reply, 429, 'rate_limit_exceeded');
  expectEveryAnswer(reply);
  const rate = rateOf(reply);
  expect(rate.limit).toBe(perMinute);
  expect(rate.remaining).toBe(0);
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(60);
}
