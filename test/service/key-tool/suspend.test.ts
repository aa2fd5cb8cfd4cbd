import { describe, expect, test } from 'vitest';
import { answer, before, good, issue, usageOf } from './issued-keys.ts';
import { World } from '../world.ts';

describe('suspend', () => {
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
      expect(usageOf(world, key)).toMatchObject({ suspendedUntil: until, dayCount: 1 });
      expect(usageOf(world, key)['expiresAt']).toBeGreaterThan(until);
      expect(await answer(world, key)).toBe('suspended');
      world.now = until - 1;
      expect(await world.send(key)).toMatchObject({ code: 'key_suspended', headers: { 'Retry-After': '1' } });
      world.now = until;
      expect(await answer(world, key)).toBe('admitted');
    },
  );

  test('and resume keep the use of the windows, begin the count of rejections anew, and the item expires again', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world, '--owner Ada --plan enterprise --per-minute 1 --per-day 1000');
    await world.sendAll(2, key);
    world.wait(10);
    await world.sendAll(225, key);
    expect(await answer(world, key)).toBe('suspended');
    await world.run(`keys suspend ${keyId} --yes --json`);
    expect(await world.run(`keys resume ${keyId} --json`)).toMatchObject({ exitCode: 0 });
    expect(await answer(world, key)).toBe('rejected');
    expect(usageOf(world, key)).toMatchObject({ rejections: 1, suspendedUntil: 0, dayCount: 1 });
    expect(usageOf(world, key)['expiresAt']).toBeLessThan(world.now + 366 * 86_400);
  });

  test.each([
    ['--shorten', 0, 'is suspended until 2026-07-01T13:00:00Z, before that indefinitely.'],
    ['', 4, 'is suspended indefinitely, which is longer. To end that earlier, add --shorten.'],
  ])('%s that a longer one overtakes ends with %d', async (option, exitCode, said) => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    before(world, ['suspend', 'UpdateItem'], () => world.run(`keys suspend ${keyId}`));
    const run = await world.run(`keys suspend ${keyId} --for 1h ${option}`);
    expect(run.stdout + run.stderr).toContain(said);
    expect(run.exitCode).toBe(exitCode);
    expect(usageOf(world, key)['suspendedUntil']).toBe(exitCode === 0 ? world.now + 3_600 : good);
  });
});
