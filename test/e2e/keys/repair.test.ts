import {
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  UpdateApiKeyCommand,
} from '@aws-sdk/client-api-gateway';
import { describe, expect, test } from 'vitest';
import { type AdministeredKey, readKey } from '../../../tools/operators/keys/records.ts';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { findDrift } from '../../../tools/operators/keys/commands/repair.ts';
import type { KeyService } from '../../../tools/operators/keys/service.ts';
import { isLocal } from '../support.ts';
import {
  call,
  callEach,
  create,
  expectConsistent,
  type Issued,
  keysJson,
  keysLocal,
  newOwner,
  openLocal,
  plansOf,
  recordsOf,
} from './support.ts';

interface Repaired {
  readonly valid: number;
  readonly drifted: readonly { readonly keyId: string; readonly drift: string }[];
  readonly repaired: readonly string[];
  readonly disabled: readonly string[];
}
/** For one owner, since other tests damage keys at the same time. */
const repair = (owner: string, ...options: string[]) =>
  keysJson<Repaired>(['repair', '--owner', owner, ...options]);

async function recordOf(service: KeyService, { key }: Issued): Promise<AdministeredKey> {
  const record = await readKey(service, hashOfKey(key));
  if (record === undefined) throw new Error('This key was never created');
  return record;
}

type Damage = (service: KeyService, record: AdministeredKey) => Promise<void>;

/** As after usage plans were replaced: the key exists, and is in no usage plan. */
const unbind: Damage = async ({ apiGateway, usagePlanIds }, { gatewayKeyId: keyId, plan }) => {
  await apiGateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId: usagePlanIds[plan], keyId }));
};

/** As in another account or Region. */
const remove: Damage = async ({ apiGateway }, { gatewayKeyId: apiKey }) => {
  await apiGateway.send(new DeleteApiKeyCommand({ apiKey }));
};

/** As if someone repaired it by hand, but on the wrong plan. */
const misplace: Damage = async (service, record) => {
  await unbind(service, record);
  const wrong = { usagePlanId: service.usagePlanIds.enterprise, keyId: record.gatewayKeyId };
  await service.apiGateway.send(new CreateUsagePlanKeyCommand({ ...wrong, keyType: 'API_KEY' }));
};

/** As if someone created it again by hand: with another ID and another name. */
const replace: Damage = async (service, record) => {
  await remove(service, record);
  const description = `made by hand, owner ${record.owner}`;
  const given = { name: record.keyId, description, value: record.keyHash, enabled: true };
  const { id } = await service.apiGateway.send(new CreateApiKeyCommand(given));
  const place = { usagePlanId: service.usagePlanIds[record.plan], keyId: id };
  await service.apiGateway.send(new CreateUsagePlanKeyCommand({ ...place, keyType: 'API_KEY' }));
};

describe.runIf(isLocal)('repair', () => {
  test('repairs keys that API Gateway has lost, misplaced or replaced, and no others', async () => {
    const owner = newOwner();
    const service = await openLocal();
    const healthy = await create(owner, 'pro');
    const damages = [
      [unbind, 'usage plan', 401],
      [remove, 'gateway key', 401],
      [misplace, 'usage plan', 200],
      [replace, 'record', 200],
    ] as const;
    const broken: Issued[] = [];
    for (const [damage] of damages) {
      const issued = await create(owner, 'pro');
      await damage(service, await recordOf(service, issued));
      broken.unshift(issued);
    }
    const keys = broken.map(({ key }) => key);
    const statuses = damages.map(([, , status]) => status).toReversed();
    expect(await callEach(keys)).toEqual(statuses);

    const repaired = broken.map(({ keyId }) => keyId);
    const drifts = damages.map(([, drift]) => drift).toReversed();
    const drifted = repaired.map((keyId, index) => ({ keyId, drift: drifts[index] }));
    const survey = { valid: 5, drifted, disabled: [] };
    expect(await repair(owner, '--dry-run')).toEqual({ ...survey, dryRun: true, repaired: [] });
    expect(await callEach(keys)).toEqual(statuses);
    expect(await repair(owner)).toEqual({ ...survey, dryRun: false, repaired });
    expect(await repair(owner)).toEqual({ dryRun: false, valid: 5, drifted: [], repaired: [], disabled: [] });
    // The same bearer keys as before.
    expect(await expectConsistent(service, owner, [...keys, healthy.key])).toEqual([
      ...repaired,
      healthy.keyId,
    ]);
    const trails = (await recordsOf(service, owner)).map(({ audit }) => audit.map(({ did }) => did));
    expect(trails).toEqual([...repaired.map(() => ['created', 'repaired']), ['created']]);
  });

  test('leaves revoked, expired, suspended and disabled keys as they are', async () => {
    const owner = newOwner();
    const service = await openLocal();
    const [revoked, expired, suspended, off] = [
      await create(owner),
      await create(owner),
      await create(owner),
      await create(owner),
    ];
    await keysJson(['revoke', revoked.keyId]);
    const newest = await keysJson<Issued>(['rotate', expired.keyId, '--overlap', '0s']);
    await keysJson(['suspend', suspended.keyId]);
    const { gatewayKeyId: apiKey } = await recordOf(service, off);
    await service.apiGateway.send(
      new UpdateApiKeyCommand({
        apiKey,
        patchOperations: [{ op: 'replace', path: '/enabled', value: 'false' }],
      }),
    );
    expect(await repair(owner)).toMatchObject({ valid: 3, drifted: [], disabled: [off.keyId] });
    await unbind(service, await recordOf(service, suspended));
    expect(await repair(owner)).toMatchObject({ valid: 3, repaired: [suspended.keyId] });
    const all = [revoked, expired, suspended, off, newest];
    expect(await callEach(all.map(({ key }) => key))).toEqual([401, 401, 429, 401, 200]);
    expect((await keysLocal(['repair', '--owner', owner])).stderr).toBe(
      `${off.keyId} is disabled in API Gateway: its requests get 401. It was left disabled.\n`,
    );
  });

  test('of one plan leaves the keys on others as they are', async () => {
    const owner = newOwner();
    const service = await openLocal();
    const [free, pro] = [await create(owner), await create(owner, 'pro')];
    for (const issued of [free, pro]) await unbind(service, await recordOf(service, issued));
    expect(await repair(owner, '--plan', 'pro')).toMatchObject({ valid: 1, repaired: [pro.keyId] });
    expect([await call(free.key), await call(pro.key)]).toEqual([401, 200]);
    await repair(owner);
    expect(await call(free.key)).toBe(200);
  });

  test('makes the same few calls to API Gateway, however many keys there are', async () => {
    const owner = newOwner();
    await Promise.all(Array.from({ length: 8 }, () => create(owner)));
    const { apiGateway, ...service } = await openLocal();
    const sent: string[] = [];
    apiGateway.middlewareStack.add(
      (next, { commandName = '' }) =>
        (args) => {
          sent.push(commandName);
          return next(args);
        },
      { step: 'initialize' },
    );
    expect(await findDrift({ ...service, apiGateway }, { owner })).toMatchObject({ valid: 8, drifted: [] });
    // Lists only: no call is about a single key.
    expect(new Set(sent)).toEqual(new Set(['GetApiKeysCommand', 'GetUsagePlanKeysCommand']));
    expect(sent.length).toBeLessThan(8);
  });

  test('leaves a key alone that is revoked, replaced or put on another plan meanwhile', async () => {
    const owner = newOwner();
    const service = await openLocal();
    const replaced = await create(owner);
    const revoked = await create(owner);
    const moved = await create(owner);
    const first = await create(owner);
    for (const issued of [first, moved, revoked, replaced])
      await unbind(service, await recordOf(service, issued));
    const run = await keysLocal(['repair', '--owner', owner, '--json'], {
      // After the survey, and before it gets to the others: newest first.
      afterStep: async (step) => {
        if (step !== 'CreateUsagePlanKey') return;
        await keysJson(['change-plan', moved.keyId, '--plan', 'pro']);
        await keysJson(['revoke', revoked.keyId]);
        await keysJson(['rotate', replaced.keyId, '--overlap', '0s']);
      },
    });
    const { drifted, repaired } = JSON.parse(run.stdout) as Repaired;
    expect(drifted).toHaveLength(4);
    expect(repaired).toEqual([first.keyId]);
    const records = await recordsOf(service, owner);
    expect(records.map(({ keyId, audit }) => [keyId, audit.map(({ did }) => did)])).toEqual([
      [records[0]?.keyId, ['created']],
      [first.keyId, ['created', 'repaired']],
      [moved.keyId, ['created', 'changed plan']],
      [revoked.keyId, ['created', 'revoked']],
      [replaced.keyId, ['created', 'replaced']],
    ]);
    expect(await plansOf(service, (await recordOf(service, moved)).gatewayKeyId ?? '')).toEqual([
      service.usagePlanIds.pro,
    ]);
    expect(await callEach([first, moved, revoked, replaced].map(({ key }) => key))).toEqual([
      200, 200, 401, 401,
    ]);
  });

  test('is not needed for a key that changes plans', async () => {
    const owner = newOwner();
    const service = await openLocal();
    const issued = await create(owner);
    await remove(service, await recordOf(service, issued));
    await keysJson(['change-plan', issued.keyId, '--plan', 'pro']);
    expect(await expectConsistent(service, owner, [issued.key])).toEqual([issued.keyId]);
  });
});
