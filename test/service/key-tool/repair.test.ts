import { describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { answer, before, byId, gatewayIdOf, issue, json, keysIn, storedOf } from './issued-keys.ts';
import { drifted as driftedIn } from './keys.model.ts';
import { World } from '../world.ts';

const newWorld = () => new World({ isChecked: false });

describe('repair', () => {
  test('shows and repairs keys that API Gateway has lost, misplaced or replaced, and no others', async () => {
    const world = newWorld();
    const healthy = await issue(world);
    const [lost, unbound, misplaced, replaced, moved, both] = [
      await issue(world),
      await issue(world),
      await issue(world),
      await issue(world),
      await issue(world),
      await issue(world),
    ];
    await world.run(`keys change-plan ${moved.keyId} --plan pro`);
    const { apiKeys } = world;
    for (const each of [lost, moved]) apiKeys.delete(gatewayIdOf(world, each));
    apiKeys.unbind('free', gatewayIdOf(world, unbound));
    apiKeys.unbind('free', gatewayIdOf(world, misplaced));
    apiKeys.bind('enterprise', gatewayIdOf(world, misplaced));
    apiKeys.delete(gatewayIdOf(world, replaced));
    apiKeys.bind('free', apiKeys.create({ value: hashOfKey(replaced.key), enabled: true }).id);
    // As if the plan had been for another API of the account.
    apiKeys.bind('business', gatewayIdOf(world, both));
    const drifted = [
      { keyId: lost.keyId, drift: 'gateway key' },
      { keyId: moved.keyId, drift: 'gateway key' },
      { keyId: unbound.keyId, drift: 'usage plan' },
      { keyId: misplaced.keyId, drift: 'usage plan' },
      { keyId: both.keyId, drift: 'usage plan' },
      { keyId: replaced.keyId, drift: 'record' },
    ].toSorted(byId);
    const stored = JSON.stringify(storedOf(world));
    const dry = { dryRun: true, valid: 7, drifted, repaired: [], disabled: [] };
    expect(await json(world, 'repair --owner Ada --dry-run')).toEqual(dry);
    expect(JSON.stringify(storedOf(world))).toBe(stored);
    const { stdout } = await world.run('keys repair --dry-run');
    for (const [{ keyId }, text] of [
      [lost, 'it has no API Gateway key'],
      [unbound, 'it is not in its usage plan, or in another one'],
      [replaced, 'its record names another API Gateway key'],
    ] as const)
      expect(stdout).toContain(`${keyId}: ${text}\n`);
    expect(stdout).toMatch(/\nValid keys: 7\. To repair: 6\.\n$/);
    const repaired = drifted.map(({ keyId }) => keyId);
    expect(await json(world, 'repair --owner Ada')).toEqual({ ...dry, dryRun: false, repaired });
    expect(await world.run('keys repair')).toMatchObject({
      stdout: 'Valid keys: 7. Repaired: 0.\n',
      stderr: '',
    });
    for (const { key } of [healthy, lost, unbound, misplaced, replaced, moved, both])
      expect(await answer(world, key)).toBe('admitted');
    expect(apiKeys.plansOfKey(gatewayIdOf(world, both)).map(({ id }) => id)).toEqual(['free']);
  });

  test('leaves revoked, expired and disabled keys as they are, and says which are disabled', async () => {
    const world = newWorld();
    const [revoked, expired, disabled] = [await issue(world), await issue(world), await issue(world)];
    await world.run(`keys revoke ${revoked.keyId}`);
    const next = keysIn((await world.run(`keys rotate ${expired.keyId} --overlap 0s`)).stdout)[0]!;
    const { apiKeys } = world;
    const gatewayKey = apiKeys.keys().find(({ id }) => id === gatewayIdOf(world, disabled))!;
    apiKeys.bind('free', apiKeys.create({ ...gatewayKey, enabled: false }).id);
    const { stdout, stderr } = await world.run('keys repair --owner Ada --json');
    expect(JSON.parse(stdout)).toMatchObject({
      valid: 2,
      drifted: [],
      repaired: [],
      disabled: [disabled.keyId],
    });
    expect(stderr).toContain(
      `${disabled.keyId} is disabled in API Gateway: its requests get 401. It was left disabled.`,
    );
    for (const { key } of [revoked, expired, disabled]) expect(await answer(world, key)).toBe('unauthorized');
    expect(await answer(world, next)).toBe('admitted');
  });

  test('of one plan leaves the keys on others as they are', async () => {
    const world = newWorld();
    const [free, pro] = [await issue(world), await issue(world, '--owner Ada --plan pro')];
    world.apiKeys.unbind('free', gatewayIdOf(world, free));
    world.apiKeys.unbind('pro', gatewayIdOf(world, pro));
    expect(await json(world, 'repair --owner Ada --plan pro')).toMatchObject({
      valid: 1,
      repaired: [pro.keyId],
    });
    expect([await answer(world, free.key), await answer(world, pro.key)]).toEqual([
      'unauthorized',
      'admitted',
    ]);
  });

  test('makes the same few calls, however many keys there are', async () => {
    const world = newWorld();
    for (let count = 0; count < 30; count += 1) await issue(world);
    expect((await world.run('keys repair --owner Ada')).calls).toHaveLength(3 + planNames.length);
  });

  test('finds nothing to repair of a key that is made while it reads', async () => {
    const world = newWorld();
    before(world, ['repair', 'Query'], () => issue(world));
    expect(await json(world, 'repair --owner Ada')).toMatchObject({ valid: 1, drifted: [], repaired: [] });
  });

  test('leaves alone what another run has repaired meanwhile, and keys that were revoked or moved', async () => {
    const world = newWorld();
    const [lost, moved] = [await issue(world), await issue(world)];
    world.apiKeys.unbind('free', gatewayIdOf(world, moved));
    world.apiKeys.delete(gatewayIdOf(world, lost));
    before(world, ['repair', 'GET /usageplans/enterprise/keys'], async () => {
      await world.run('keys repair');
      await world.run(`keys change-plan ${moved.keyId} --plan pro`);
    });
    expect(await json(world, 'repair')).toMatchObject({ repaired: [] });
    expect(world.apiKeys.keys()).toHaveLength(2);
    expect(driftedIn(storedOf(world))).toEqual([]);
    expect([await answer(world, lost.key), await answer(world, moved.key)]).toEqual(['admitted', 'admitted']);
  });

  test.each([
    ['makes the API Gateway key', 'POST /apikeys', 0],
    // It finds the key that this one has made.
    ['writes the record', 'TransactWriteItems', 1],
  ])('beside another run that %s first does not fail', async (_first, operation, repaired) => {
    const world = newWorld();
    const lost = await issue(world);
    world.apiKeys.delete(gatewayIdOf(world, lost));
    before(world, ['repair', operation], () => world.run('keys repair'));
    const result = (await json(world, 'repair')) as { readonly repaired: readonly string[] };
    expect(result.repaired).toHaveLength(repaired);
    expect(driftedIn(storedOf(world))).toEqual([]);
    expect(await answer(world, lost.key)).toBe('admitted');
  });
});
