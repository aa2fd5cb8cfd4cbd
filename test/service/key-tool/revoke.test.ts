import { describe, expect, test } from 'vitest';
import { answer, before, issue, recordOf, resultOf } from './issued-keys.ts';
import { World } from '../world.ts';

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
