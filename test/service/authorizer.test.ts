import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { fixedPlans } from '../../functions/access/plans.ts';
import * as arbitrary from '../support/arbitraries.ts';
import { rounds } from '../support/rounds.ts';
import { ample } from './listed-animals.ts';
import { type Answer, type Key, World } from './world.ts';

// docs/interface.md#authentication says who is let in.

const wholeStage = expect.stringMatching(/^arn:aws:execute-api:[^/]+\/v1\/\*\/\*$/) as string;

/** What API Gateway takes from a Lambda authorizer: strings, numbers and booleans in the context, nothing nested. */
const authorizerResult = z.strictObject({
  principalId: z.string(),
  policyDocument: z.strictObject({
    Version: z.literal('2012-10-17'),
    Statement: z
      .array(
        z.strictObject({ Action: z.literal('execute-api:Invoke'), Effect: z.string(), Resource: z.string() }),
      )
      .check(z.length(1)),
  }),
  usageIdentifierKey: z.optional(z.string().check(z.regex(/^[0-9A-Za-z]{20,128}$/))),
  context: z.optional(z.record(z.string(), z.union([z.string(), z.number()]))),
});

/** What the authorizer has returned, logged and asked. */
function decisionIn({ authorizer }: Answer) {
  const { outcome, log, calls } = authorizer!;
  if (outcome === 'timedOut' || 'thrown' in outcome) throw new Error('The authorizer decides nothing');
  const { policyDocument, ...result } = z.parse(authorizerResult, outcome.returned);
  const { Effect: effect, Resource: resource } = policyDocument.Statement[0]!;
  return { effect, resource, ...result, log: log as readonly unknown[], calls };
}

const logged = (fields: object) => [{ operation: 'authorize', traceId: undefined, ...fields }];

describe('a key that was issued', () => {
  test('is let in to the whole stage with its limits, at the cost of one consistent read a minute', async () => {
    const world = new World();
    const key = world.key('free', {}, { owner: 'Ada' });
    const answer = await world.send(key);
    const { calls, ...decision } = decisionIn(answer);
    expect(decision).toEqual({
      effect: 'Allow',
      resource: wholeStage,
      principalId: 'key_1',
      usageIdentifierKey: key.keyHash,
      context: {
        keyHash: key.keyHash,
        keyId: 'key_1',
        plan: 'free',
        perMinute: 60,
        perDay: 1_000,
        expiresAt: 0,
        // This is the first minute that starts after the result is no longer cached, which is for 60 seconds.
        throttleReset: world.now + 120,
        dayReset: world.now + 43_200,
      },
      log: logged({ outcome: 'granted', keyId: 'key_1', plan: 'free' }),
    });
    expect(calls).toMatchObject([
      { operation: 'GetItem', table: 'ApiKeys', input: { ConsistentRead: true } },
    ]);
    expect([answer.status, answer.headers['X-RateLimit-Limit']]).toEqual([404, '60']);
    world.wait(59);
    expect((await world.send(key)).authorizer).toBeUndefined();
    world.wait(1);
    expect(decisionIn(await world.send(key)).calls).toHaveLength(1);
  });

  test('is metered under the API Gateway key that its record names after a change of plan', async () => {
    const world = new World({ isChecked: false });
    const gatewayKeyValue = '0a'.repeat(32);
    const key = world.key('free', {}, { gatewayKeyValue });
    const answer = await world.send(key);
    expect(decisionIn(answer).usageIdentifierKey).toBe(gatewayKeyValue);
    // API Gateway has no such key.
    expect(answer.status).toBe(401);
  });

  test('of the custom plan has the limits and the expiry of its record', async () => {
    const world = new World();
    const own = { perMinute: 60_000, perDay: 10_000_000 };
    const key = world.key(own, {}, { expiresAt: world.now + 3_600 });
    const { context } = decisionIn(await world.send(key));
    expect(context).toMatchObject({ plan: 'enterprise', ...own, expiresAt: world.now + 3_600 });
  });

  test('has the limits of a smaller plan as soon as its authorization is not cached any more', async () => {
    const world = new World({ isChecked: false });
    const key = world.key('pro');
    await world.sendAll(100, key);
    world.put('apiKeys', { keyHash: key.keyHash, keyId: 'key_1', status: 'active', plan: 'free' });
    expect((await world.send(key)).headers).toMatchObject({
      'X-RateLimit-Limit': `${fixedPlans.pro.perMinute}`,
      'X-RateLimit-Remaining': `${fixedPlans.pro.perMinute - 101}`,
    });
    world.wait(60);
    const { perMinute } = fixedPlans.free;
    expect((await world.send(key)).headers).toMatchObject({
      'X-RateLimit-Limit': `${perMinute}`,
      'X-RateLimit-Remaining': `${perMinute - 1}`,
    });
    // More than the smaller plan has was used of a window.
    key.usage = { ...key.usage, minuteCount: 200 };
    expect(await world.send(key)).toMatchObject({ status: 429, headers: { 'X-RateLimit-Remaining': '0' } });
  });
});

describe('a key gets 401', () => {
  test('if it was never issued', async () => {
    const world = new World();
    const answer = await world.send(newKey('local'));
    expect(answer.status).toBe(401);
    const { effect, principalId, context, usageIdentifierKey, log } = decisionIn(answer);
    expect([effect, principalId, context, usageIdentifierKey]).toEqual([
      'Deny',
      'unknown',
      undefined,
      undefined,
    ]);
    expect(log).toEqual(logged({ outcome: 'denied', reason: 'unknown' }));
  });

  test.each([
    ['was revoked', { status: 'revoked' }, 'revoked'],
    ['is one that version 1.0.0 had not finished creating', { status: 'pending' }, 'pending'],
    ['has expired', { expiresAt: 1_780_000_000 }, 'expired'],
  ])('if it %s', async (_what, record, reason) => {
    const world = new World({ isChecked: false });
    const answer = await world.send(world.key('free', {}, record));
    expect(answer.status).toBe(401);
    expect(decisionIn(answer)).toMatchObject({ effect: 'Deny', resource: wholeStage, principalId: 'key_1' });
    expect(decisionIn(answer).log).toEqual(logged({ outcome: 'denied', reason, keyId: 'key_1' }));
  });

  test.each([
    ['is one of another stage', (_key: Key) => newKey('prod'), 'other_stage'],
    [
      'is malformed',
      ({ token }: Key) => `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`,
      'malformed',
    ],
    ['is nonsense', () => 'nonsense', 'malformed'],
  ])('if it %s, without a lookup', async (_what, tokenOf, reason) => {
    const world = new World();
    const token = tokenOf(world.key('free'));
    world.put('apiKeys', { keyHash: hashOfKey(token), keyId: 'key_2', plan: 'free', status: 'active' });
    const answer = await world.send(token);
    const { effect, calls, log } = decisionIn(answer);
    expect([answer.status, effect, calls]).toEqual([401, 'Deny', []]);
    expect(log).toEqual(logged({ outcome: 'denied', reason }));
  });

  test('if it is any other text, without a lookup', async () => {
    const world = new World({ isChecked: false });
    const token = fc.oneof(arbitrary.text(), fc.stringMatching(/^as_local_[0-9A-Za-z]{36}$/));
    await fc.assert(
      fc.asyncProperty(token, async (text) => {
        const answer = await world.send(text);
        if (answer.authorizer === undefined) return;
        expect(decisionIn(answer)).toMatchObject({ effect: 'Deny', principalId: 'unknown', calls: [] });
      }),
      { numRuns: rounds({ full: 60, sample: 20 }) },
    );
  });
});

describe('a key is neither let in nor refused, which is a 503,', () => {
  test.each([
    ['a record without a plan', { plan: undefined }],
    ['a record of an unknown plan', { plan: 'unheard' }],
    ['an Enterprise record without limits', { plan: 'enterprise' }],
  ])('with %s', async (_what, damage) => {
    const world = new World({ isChecked: false });
    const key = world.key('free');
    world.put('apiKeys', { keyHash: key.keyHash, keyId: 'key_1', status: 'active', ...damage });
    const { status, authorizer } = await world.send(key);
    expect([status, String((authorizer!.outcome as { thrown: unknown }).thrown)]).toEqual([
      503,
      expect.stringContaining('plan'),
    ]);
  });

  test.each([
    ['hungBefore', 'TimeoutError'],
    ['denied', 'AccessDeniedException'],
    ['failed', 'InternalServerError'],
  ] as const)('when its lookup is %s, in time', async (fate, name) => {
    const world = new World();
    const key = world.key(ample);
    world.meets = () => fate;
    const { status, authorizer } = await world.send(key);
    expect([status, authorizer!.outcome]).toMatchObject([503, { thrown: { name } }]);
    expect(authorizer!.endedAt - authorizer!.startedAt).toBeLessThan(2_000);
    world.meets = () => 'answered';
    expect((await world.send(key)).status).toBe(404);
  });
});

test('the log has no key, no hash of one and no header', async () => {
  const world = new World({ isChecked: false });
  const lines = [];
  for (const key of [
    world.key('free'),
    world.key('free', {}, { status: 'revoked' }),
    newKey('local'),
    newKey('prod'),
    'x',
  ])
    lines.push(JSON.stringify((await world.send(key)).authorizer!.log));
  expect(lines).toHaveLength(5);
  expect(lines.filter((line) => /as_[a-z]|[0-9a-f]{64}|bearer/i.test(line))).toEqual([]);
});
