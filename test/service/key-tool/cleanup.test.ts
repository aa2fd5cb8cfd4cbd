import { describe, expect, test } from 'vitest';
import { answer, before, byId, issue, json, leaveOver, recordOf } from './issued-keys.ts';
import { World } from '../world.ts';

const newWorld = () => new World({ isChecked: false });

describe('cleanup', () => {
  test('says why it deletes API Gateway keys, and leaves those of valid and malformed records', async () => {
    const world = newWorld();
    const [revoked, expired, moved, malformed] = [
      await issue(world),
      await issue(world),
      await issue(world),
      await issue(world),
    ];
    const copies = world.apiKeys.keys();
    await world.run(`keys revoke ${revoked.keyId}`);
    await world.run(`keys rotate ${expired.keyId} --overlap 0s`);
    await world.run(`keys change-plan ${moved.keyId} --plan pro`);
    world.put('apiKeys', { ...recordOf(world, malformed.keyId), audit: 'gone' });
    for (const key of copies)
      if (!world.apiKeys.keys().some(({ id }) => id === key.id)) world.apiKeys.create(key);
    const half = leaveOver(world);
    const others = leaveOver(world, 'Ada Lovelace');
    const cleanUp = async () => {
      const { stdout, stderr } = await world.run('keys cleanup --owner Ada --json');
      const { removed } = JSON.parse(stdout) as { readonly removed: readonly { readonly keyId: string }[] };
      return { removed: removed.toSorted(byId), stderr };
    };
    const atOnce = [
      { keyId: revoked.keyId, reason: 'revoked key' },
      { keyId: expired.keyId, reason: 'expired key' },
    ].toSorted(byId);
    const first = await cleanUp();
    expect(first.removed).toEqual(atOnce);
    expect(first.stderr).toContain(`The record of key ${malformed.keyId} is malformed: audit:`);
    expect(first.stderr).toContain('Its API Gateway key was left alone.');
    expect(first.stderr).toContain(`"did":"cleaned up","detail":"revoked key","keyId":"${revoked.keyId}"`);
    world.wait(900);
    expect((await cleanUp()).removed).toEqual([]);
    world.wait(1);
    const afterwards = [
      { keyId: moved.keyId, reason: 'earlier plan' },
      { keyId: half.name!, reason: 'half-made key' },
    ].toSorted(byId);
    expect((await cleanUp()).removed).toEqual(afterwards);
    expect(await answer(world, moved.key)).toBe('admitted');
    expect(world.apiKeys.keys().map(({ id }) => id)).toContain(others.id);
    // Without an owner, it deletes all that are of this stage.
    const foreign = world.apiKeys.create({ name: 'other', description: 'another service', enabled: true });
    const { stdout } = await world.run('keys cleanup');
    expect(stdout).toBe(`${others.name}: deleted the API Gateway key (half-made key)\n`);
    expect(world.apiKeys.keys()).toContainEqual(foreign);
    expect(await world.run('keys cleanup')).toMatchObject({ stdout: 'Nothing to clean up.\n' });
  });

  test('keeps what a change of plan has left for 15 minutes, as API Gateway can still use it', async () => {
    const world = newWorld();
    const { keyId } = await issue(world);
    world.wait(1_000);
    world.meets = ({ operation }) => (operation.startsWith('DELETE /apikeys') ? 'denied' : 'answered');
    await world.run(`keys change-plan ${keyId} --plan pro`);
    world.meets = () => 'answered';
    expect(await json(world, 'cleanup')).toEqual({ removed: [] });
    world.wait(901);
    expect(await json(world, 'cleanup')).toEqual({ removed: [{ keyId, reason: 'earlier plan' }] });
  });

  test('keeps the API Gateway key of a change of plan that ends while it looks', async () => {
    const world = newWorld();
    const { keyId, key } = await issue(world);
    world.wait(1_000);
    before(world, ['cleanup', 'GET /apikeys'], () => world.run(`keys change-plan ${keyId} --plan pro`));
    expect(await json(world, 'cleanup --owner Ada')).toEqual({ removed: [] });
    expect(await answer(world, key)).toBe('admitted');
  });
});
