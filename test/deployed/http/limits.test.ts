import { describe, expect, it } from 'vitest';
import { fixedPlans } from '../../../functions/access/plans.ts';
import type { Reply } from '../../../tools/operators/smoke/client.ts';
import { expectError, expectEveryAnswer, rateOf } from '../../../tools/operators/smoke/expectations.ts';
import { rounds } from '../../support/rounds.ts';
import { clientOf, inOneMinute, inParallel, minuteOf } from './support.ts';

const { perMinute } = fixedPlans.free;
const requests = rounds({ full: 150, sample: 90 });
/** The service starts an execution environment of a function for each request at the same time. */
const atOnce = rounds({ full: 40, sample: 10 });

describe('plan limits through the gateway', () => {
  it(`of ${requests} requests, ${atOnce} at once, with one Free key exactly 60 a minute are admitted, and the headers add up`, async () => {
    const client = await clientOf('free');
    // These are fewer rejections than suspend a key, in case all of them pass the usage plan.
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
});

function expectRejection(reply: Reply): void {
  expectError(reply, 429, 'rate_limit_exceeded');
  expectEveryAnswer(reply);
  // API Gateway shows the limit, too, when it rejects what exceeds the burst of the usage plan: the authorizer has told it.
  const rate = rateOf(reply);
  expect(rate).toMatchObject({ limit: perMinute, remaining: 0 });
  expect(rate.reset).toBeGreaterThan(Date.now() / 1_000 - 60);
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(60);
}
