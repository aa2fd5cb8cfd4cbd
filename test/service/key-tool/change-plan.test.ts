import { expect, test } from 'vitest';
import { answer, issue, recordOf, resultOf } from './issued-keys.ts';
import { World } from '../world.ts';

test('another plan applies from the next request on, and so do new limits of a key', async () => {
  const world = new World({ isChecked: false });
  const { key, keyId } = await issue(world);
  const began = world.now;
  const policy = async () => (await world.send(key)).headers['RateLimit-Policy'];
  expect(await policy()).toContain('q=60;w=60');
  const custom = (perMinute: number) => `enterprise --per-minute ${perMinute} --per-day 700`;
  for (const [perMinute, plan] of [
    [1000, 'business'],
    [70, custom(70)],
    [80, custom(80)],
    [60, 'free'],
  ] as const) {
    const changed = await resultOf(world.run(`keys change-plan ${keyId} --plan ${plan} --json`));
    expect(changed).toMatchObject({ keyId, changed: true, plan: plan.split(' ')[0], perMinute });
    expect(await policy()).toContain(`q=${perMinute};w=60`);
    // The API Gateway key is always in the usage plan of the plan, and there is one.
    const { gatewayKeyId } = recordOf(world, keyId);
    expect(world.apiKeys.keys()).toMatchObject([{ id: gatewayKeyId, name: keyId }]);
    expect(world.apiKeys.plansOfKey(gatewayKeyId)).toMatchObject([{ name: plan.split(' ')[0] }]);
  }
  expect(recordOf(world, keyId).audit.map(({ detail }) => detail)).toEqual([
    'free',
    'free → business',
    'business → enterprise (70 a minute, 700 a day)',
    'enterprise (70 a minute, 700 a day) → enterprise (80 a minute, 700 a day)',
    'enterprise (80 a minute, 700 a day) → free',
  ]);
  expect(recordOf(world, keyId)).not.toHaveProperty('perMinute');
  // The local service need not be waited for.
  expect(world.now).toBe(began);
  expect(await resultOf(world.run(`keys change-plan ${keyId} --plan free --json`))).toMatchObject({
    changed: false,
  });
});

test('new limits on the same plan need no other API Gateway key', async () => {
  const world = new World({ isChecked: false });
  const { keyId } = await issue(world, '--owner Ada --plan enterprise --per-minute 7 --per-day 70');
  const [before] = world.apiKeys.keys();
  await world.run(`keys change-plan ${keyId} --plan enterprise --per-minute 8 --per-day 80`);
  expect(world.apiKeys.keys()).toEqual([before]);
});

test('a change keeps attributes that this version does not know', async () => {
  const world = new World({ isChecked: false });
  const { keyId } = await issue(world);
  world.put('apiKeys', { ...recordOf(world, keyId), future: 7 });
  await world.run(`keys change-plan ${keyId} --plan pro`);
  expect(recordOf(world, keyId)).toMatchObject({ plan: 'pro', future: 7 });
});

test('on AWS it waits before it switches to the new usage plan, and before it deletes the old API Gateway key', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  const began = world.now;
  const { stderr, calls } = await world.run(`keys change-plan ${keyId} --plan pro --stage prod --yes`);
  expect(stderr.match(/Waiting 30 s for API Gateway to apply the change\./g)).toHaveLength(2);
  const writes = calls.filter(({ operation }) => /^(POST|DELETE|Transact)/.test(operation));
  expect(writes.map(({ operation, sentAt }) => [Math.floor(sentAt / 1_000) - began, operation])).toEqual([
    [0, 'POST /apikeys'],
    [0, 'POST /usageplans/pro/keys'],
    [30, 'TransactWriteItems'],
    [30, 'DELETE /restapis/api/stages/v1/cache/authorizers'],
    [60, expect.stringMatching(/^DELETE \/apikeys\/\w+$/)],
  ]);
  expect(await answer(world, key)).toBe('admitted');
});
