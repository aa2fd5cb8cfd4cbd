import { describe, expect, test } from 'vitest';
import { good, issue, resultOf, timeText, usageOf } from './issued-keys.ts';
import { World } from '../world.ts';

describe('show', () => {
  test('has the plan, the use, the suspension and the audit trail of a key', async () => {
    const world = new World({ isChecked: false, at: '2026-07-01T12:00:12Z' });
    const { keyId, key } = await issue(world, '--owner Ada --plan enterprise --per-minute 2 --per-day 1000');
    const show = () => resultOf(world.run(`keys show ${keyId} --json`));
    const created = '2026-07-01T12:00:12Z';
    const unused = { usedThisMinute: 0, usedToday: 0, rejectedThisMinute: 0, deprecatedCalls: 0 };
    const by = expect.stringMatching(/@/) as string;
    const is = { keyId, status: 'active', owner: 'Ada', plan: 'enterprise', perMinute: 2, perDay: 1_000 };
    const isNot = { note: null, expiresAt: null, lastUsedAt: null, replaces: null, replacedBy: null };
    const audit = [{ at: created, by, did: 'created', detail: 'enterprise (2 a minute, 1000 a day)' }];
    expect(await show()).toEqual({
      ...is,
      ...isNot,
      ...unused,
      createdAt: created,
      suspendedUntil: null,
      audit,
    });
    await world.send(key, 'GET /pets/1');
    await world.sendAll(2, key);
    world.wait(10);
    await world.sendAll(3, key);
    // The limiter stores the minute only, which began before the key was created.
    const used = { lastUsedAt: created, usedThisMinute: 2, usedToday: 2, deprecatedCalls: 1 };
    expect(await show()).toMatchObject({ ...used, rejectedThisMinute: 3 });
    world.wait(60);
    expect(await show()).toMatchObject({ usedThisMinute: 0, usedToday: 2, rejectedThisMinute: 0 });
    await world.run(`keys suspend ${keyId} --for 1h`);
    expect(await show()).toMatchObject({ status: 'suspended', suspendedUntil: timeText(world.now + 3_600) });
    world.wait(3_600);
    expect(await show()).toMatchObject({
      status: 'active',
      suspendedUntil: null,
      ...unused,
      usedToday: 2,
      deprecatedCalls: 1,
    });
    world.wait(86_400);
    expect(await show()).toMatchObject({ usedToday: 0, lastUsedAt: created });
    await world.send(key);
    expect(await show()).toMatchObject({ lastUsedAt: '2026-07-02T13:01:00Z' });
  });

  test('of rotated and revoked keys has their states, which go before a suspension', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    await world.run(`keys suspend ${keyId}`);
    const { keyId: next } = await resultOf(world.run(`keys rotate ${keyId} --overlap 1h --json`));
    const statusOf = async (id: unknown) =>
      (await resultOf(world.run(`keys show ${id as string} --json`)))['status'];
    world.wait(3_599);
    expect([await statusOf(keyId), await statusOf(next)]).toEqual(['suspended', 'active']);
    world.wait(1);
    expect([await statusOf(keyId), await statusOf(next)]).toEqual(['expired', 'active']);
    await world.run(`keys revoke ${keyId}`);
    expect(await statusOf(keyId)).toBe('revoked');
  });

  test('prints a line for each value with its label, then who did what and when', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { stdout } = await world.run(`keys show ${keyId}`);
    expect(stdout).toMatch(new RegExp(`^key id +${keyId}$`, 'm'));
    expect(stdout).toMatch(/^used this minute +0$/m);
    expect(stdout).toMatch(/^per day +1,000$/m);
    expect(stdout).toMatch(/^note +-$/m);
    expect(stdout).toMatch(/\n\nWHEN +WHO +WHAT\n2026-07-01T12:00:00Z +\S+ +created free\n$/);
  });
});

test('one key is found by one query and read once, consistently', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  await world.run(`keys suspend ${keyId}`);
  expect(usageOf(world, key)['suspendedUntil']).toBe(good);
  const { calls } = await world.run(`keys show ${keyId}`);
  expect(
    calls.map(({ operation, input }) => [operation, JSON.stringify(input).includes('"ConsistentRead":true')]),
  ).toEqual([
    ['DescribeStacks', false],
    ['Query', false],
    ['GetItem', true],
    ['BatchGetItem', true],
  ]);
});
