import { describe, expect, test } from 'vitest';
import { hashOfKey } from '../../functions/access/keys.ts';
import { explore, World } from './world.ts';

async function issue(world: World, options = '--owner Ada --plan free') {
  const { stdout } = await world.run(`keys create ${options} --json`);
  return JSON.parse(stdout) as { readonly keyId: string; readonly key: string };
}

test('rotate gives a new key at once, and revoke stops the old one at once', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  expect((await world.send(key)).status).toBe(404);
  const rotated = await world.run(`keys rotate ${keyId} --overlap 1h --json`);
  expect(rotated).toMatchObject({ exitCode: 0 });
  const next = JSON.parse(rotated.stdout) as { readonly key: string };
  expect([(await world.send(key)).status, (await world.send(next.key)).status]).toEqual([404, 404]);
  expect(await world.run(`keys revoke ${keyId} --json`)).toMatchObject({ exitCode: 0 });
  expect([(await world.send(key)).status, (await world.send(next.key)).status]).toEqual([401, 404]);
});

test('rotate beside revoke: whoever was shown a key that is valid is let in, and the old key is not', async () => {
  const before = new World({ isChecked: false });
  const { keyId, key } = await issue(before);
  const schedules = await explore({
    from: before,
    steps: [
      (world) => world.run(`keys rotate ${keyId} --overlap 1h --json`),
      (world) => world.run(`keys revoke ${keyId} --json`),
    ],
    check: ({ tables, apiKeys }) => {
      const records = tables.items('ApiKeys');
      const old = records.find((each) => each['keyHash'] === hashOfKey(key))!;
      expect(old['status'], 'revoke was confirmed').toBe('revoked');
      const valid = records.filter((each) => each['status'] === 'active');
      const bound = new Set<unknown>(apiKeys.keys().map(({ value }) => value));
      expect(bound).toEqual(new Set(valid.map((each) => each['keyHash'])));
    },
  });
  expect(schedules).toBeGreaterThan(5);
});

describe('suspend', () => {
  const usageIn = (world: World) => world.tables.items('RateLimits')[0] as Readonly<Record<string, number>>;
  const good = 253_402_300_799;

  test.each([
    ['--for 1h', 3_600],
    ['--for 366d', 366 * 86_400],
    ['', undefined],
  ])(
    '%s holds until its last second, also after use, and its item is kept for longer',
    async (option, seconds) => {
      const world = new World({ isChecked: false });
      const { keyId, key } = await issue(world);
      await world.send(key);
      const until = seconds === undefined ? good : world.now + seconds;
      expect(await world.run(`keys suspend ${keyId} ${option} --yes --json`)).toMatchObject({ exitCode: 0 });
      expect(usageIn(world)).toMatchObject({ suspendedUntil: until, dayCount: 1 });
      expect(usageIn(world)['expiresAt']).toBeGreaterThan(until);
      expect(await world.send(key)).toMatchObject({ code: 'key_suspended' });
      world.now = until - 1;
      expect(await world.send(key)).toMatchObject({ code: 'key_suspended', headers: { 'Retry-After': '1' } });
      world.now = until;
      expect(await world.send(key)).toMatchObject({ code: 'route_not_found' });
    },
  );

  test('and resume keep the use of the windows, begin the count of rejections anew, and the item expires again', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world, '--owner Ada --plan enterprise --per-minute 1 --per-day 1000');
    await world.sendAll(2, key);
    world.wait(10);
    await world.sendAll(225, key);
    expect(await world.send(key)).toMatchObject({ code: 'key_suspended' });
    await world.run(`keys suspend ${keyId} --yes --json`);
    expect(await world.run(`keys resume ${keyId} --json`)).toMatchObject({ exitCode: 0 });
    expect(await world.send(key)).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(usageIn(world)).toMatchObject({ rejections: 1, suspendedUntil: 0, dayCount: 1 });
    expect(usageIn(world)['expiresAt']).toBeLessThan(world.now + 366 * 86_400);
  });
});
