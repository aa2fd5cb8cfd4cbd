import { describe, expect, test } from 'vitest';
import { answer, before, good, issue, recordOf, resultOf, usageOf } from './keys.ts';
import { World } from '../world.ts';

// `suspend`, `resume` and `revoke`: docs/keys.md.

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

describe('revoke', () => {
  test('stops a key at once, also one that the authorizer has let in, and deletes its API Gateway key', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    expect(await answer(world, key)).toBe('admitted');
    expect(await world.run(`keys revoke ${keyId}`)).toMatchObject({
      exitCode: 0,
      stdout: `${keyId} is revoked.\n`,
    });
    expect(await answer(world, key)).toBe('unauthorized');
    expect([recordOf(world, keyId).status, world.apiKeys.keys()]).toEqual(['revoked', []]);
  });

  test('stops a key that the authorizer has let in also if its API Gateway key cannot be deleted', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    expect(await answer(world, key)).toBe('admitted');
    world.meets = ({ operation }) => (operation.startsWith('DELETE /apikeys') ? 'denied' : 'answered');
    await world.run(`keys revoke ${keyId}`);
    expect(await answer(world, key)).toBe('unauthorized');
  });

  test('of a revoked key completes what an earlier run has left', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    world.meets = ({ operation }) => (operation.startsWith('DELETE') ? 'denied' : 'answered');
    const { exitCode, stderr } = await world.run(`keys revoke ${keyId}`);
    expect(exitCode).toBe(0);
    expect(stderr).toContain(
      'The change is made. It applies within 60 s, when the cache of the authorizer expires. (AccessDenied',
    );
    expect(stderr).toContain(
      `The change is made. The API Gateway key of ${keyId} is left over. It lets nobody in: "cleanup" deletes it.`,
    );
    world.meets = () => 'answered';
    expect(await resultOf(world.run(`keys revoke ${keyId} --json`))).toEqual({ keyId, changed: false });
    expect(world.apiKeys.keys()).toEqual([]);
  });

  test.each([
    [4, 0],
    [5, 4],
  ])('that is overtaken %d times ends with %d', async (times, exitCode) => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    const overtake = (left: number) =>
      world.run(`keys change-plan ${keyId} --plan ${left % 2 === times % 2 ? 'free' : 'pro'}`);
    before(world, ['revoke', 'TransactWriteItems'], overtake, times);
    const run = await world.run(`keys revoke ${keyId}`);
    expect(run.exitCode).toBe(exitCode);
    if (exitCode === 0) expect(world.apiKeys.keys()).toEqual([]);
    else
      expect(run.stderr).toContain(
        `${keyId} was changed or removed by someone else. Look at it and try again.`,
      );
    expect(await answer(world, key)).toBe(exitCode === 0 ? 'unauthorized' : 'admitted');
  });

  test('needs no output for the authorizer, whose cache then ends by itself', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    const { RestApiId: _, ...others } = world.outputs;
    world.outputs = others;
    const { exitCode, stderr } = await world.run(`keys revoke ${keyId}`);
    expect(exitCode).toBe(0);
    expect(stderr).toContain('It applies within 60 s, when the cache of the authorizer expires.');
    expect(await answer(world, key)).toBe('unauthorized');
  });
});
