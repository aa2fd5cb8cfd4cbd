import { describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import {
  answer,
  before,
  issue,
  type Issued,
  keysIn,
  recordOf,
  recordsOf,
  resultOf,
  storedOf,
} from './keys.ts';
import { drifted as driftedIn } from './keys.model.ts';
import { World } from '../world.ts';

// What restores and removes: `repair`, `cleanup` and `forget`: docs/keys.md.

const json = (world: World, command: string) => resultOf(world.run(`keys ${command} --json`));
const newWorld = () => new World({ isChecked: false });
/** As in a list. IDs of the same time are in a random order. */
const byId = (one: { keyId: string }, other: { keyId: string }) => (one.keyId > other.keyId ? -1 : 1);
const gatewayIdOf = (world: World, { keyId }: Issued) => recordOf(world, keyId).gatewayKeyId;
/** Makes what a command leaves that has ended half way, just now. */
const leaveOver = ({ apiKeys }: World, owner = 'Ada') =>
  apiKeys.create({
    name: 'key_06fz1m4tqabcdefg',
    description: `AnimalStore-local, owner ${owner}`,
    enabled: true,
  });

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
    // The plan is for another API of the account.
    apiKeys.setPlans(
      apiKeys.plans().map((plan) => (plan.id === 'business' ? { ...plan, apiStages: [] } : plan)),
    );
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
    world.apiKeys.update(gatewayIdOf(world, disabled), { enabled: false }, 0);
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
    expect((await world.run('keys repair --owner Ada')).calls).toHaveLength(7);
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
    // Without an owner, all that are of this stage.
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

test('a full audit trail takes only what ends the key, or a repair', async () => {
  const world = newWorld();
  const { keyId, key } = await issue(world);
  const fill = (length: number) => {
    const record = recordOf(world, keyId);
    world.put('apiKeys', { ...record, audit: Array.from({ length }, () => record.audit[0]) });
  };
  fill(999);
  expect((await world.run(`keys change-plan ${keyId} --plan pro`)).exitCode).toBe(0);
  const refused = await world.run(`keys change-plan ${keyId} --plan free`);
  expect(refused.exitCode).toBe(4);
  expect(refused.stderr).toContain(
    `The audit trail of ${keyId} is full (1000 lines). Rotate or revoke the key.`,
  );
  world.apiKeys.unbind('pro', gatewayIdOf(world, { keyId, key }));
  expect(await json(world, 'repair')).toMatchObject({ repaired: [keyId] });
  expect((await world.run(`keys rotate ${keyId}`)).exitCode).toBe(0);
  for (const record of recordsOf(world)) {
    expect(await json(world, `revoke ${record.keyId}`)).toMatchObject({ changed: true });
    if (record.keyId === keyId) fill(1_000);
  }
  expect((await world.run('keys forget --owner Ada')).exitCode).toBe(0);
});
