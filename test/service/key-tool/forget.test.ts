import { describe, expect, test } from 'vitest';
import { answer, issue, type Issued, json, leaveOver, recordOf } from './issued-keys.ts';
import { World } from '../world.ts';

const newWorld = () => new World({ isChecked: false });

describe('forget', () => {
  const everything = ({ tables, apiKeys }: World) =>
    JSON.stringify([tables.items('ApiKeys'), tables.items('RateLimits'), apiKeys.snapshot()]);

  test('deletes the name and the notes of an owner, and keeps the keys by their IDs', async () => {
    const world = newWorld();
    const [revoked, expired] = [
      await issue(world, '--owner Ada --plan free --note ring-Ada'),
      await issue(world),
    ];
    const other = await issue(world, '--owner Grace --plan free');
    const { keyId: next } = (await json(world, `rotate ${expired.keyId} --overlap 0s`)) as unknown as Issued;
    for (const keyId of [revoked.keyId, next]) await world.run(`keys revoke ${keyId}`);
    leaveOver(world);
    world.wait(1_000);
    const ids = [revoked.keyId, expired.keyId, next].toSorted();
    const stored = everything(world);
    const dry = (await json(world, 'forget --owner Ada --dry-run')) as { readonly keys: string[] };
    expect([dry.keys.toSorted(), everything(world)]).toEqual([ids, stored]);
    const { stdout, stderr } = await world.run('keys forget --owner Ada');
    expect(stdout).toBe('Deleted: the name in 3 keys.\n');
    expect(everything(world)).not.toContain('Ada');
    for (const keyId of ids) {
      expect(stderr).toContain(`${keyId} in local: forgot the owner\n`);
      expect(recordOf(world, keyId)).toMatchObject({ owner: '(deleted)' });
    }
    expect([await answer(world, revoked.key), await answer(world, other.key)]).toEqual([
      'unauthorized',
      'admitted',
    ]);
    expect((await world.run('keys forget --owner Ada')).exitCode).toBe(3);
  });

  test('is refused while a key is valid, and changes nothing', async () => {
    const world = newWorld();
    const [valid, revoked] = [await issue(world), await issue(world)];
    await world.run(`keys revoke ${revoked.keyId}`);
    const stored = everything(world);
    const { exitCode, stderr } = await world.run('keys forget --owner Ada');
    expect([exitCode, everything(world)]).toEqual([4, stored]);
    expect(stderr).toContain(`The owner has 1 valid key. Revoke first: ${valid.keyId}.`);
  });

  test('says that a key which may be on its way still has the name, and deletes it alone', async () => {
    const world = newWorld();
    leaveOver(world);
    const { exitCode, stdout, stderr } = await world.run('keys forget --owner Ada');
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(stderr).toContain(
      '1 API Gateway key with the name of this owner may be in use. Run the same command again in 15 minutes.',
    );
    world.wait(1_000);
    expect(await json(world, 'forget --owner Ada')).toMatchObject({ keys: [] });
    expect(everything(world)).not.toContain('Ada');
  });

  test('leaves alone what somebody else makes valid again meanwhile', async () => {
    const world = newWorld();
    const { keyId } = await issue(world);
    await world.run(`keys revoke ${keyId}`);
    world.meets = ({ operation }) => {
      if (operation === 'GetItem') world.put('apiKeys', { ...recordOf(world, keyId), status: 'active' });
      return 'answered';
    };
    await world.run('keys forget --owner Ada');
    expect(recordOf(world, keyId).owner).toBe('Ada');
  });
});
