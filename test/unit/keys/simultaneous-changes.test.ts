import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteApiKeyCommand, DeleteUsagePlanKeyCommand } from '@aws-sdk/client-api-gateway';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { indefinitely, setSuspension } from '../../../tools/operators/keys/key-usage.ts';
import { keysIn, newOwner } from '../../support/key-tool.ts';
import type { RunOptions } from '../../support/run-in-process.ts';
import { type Fate, newAccount } from './account.ts';

/** Commands that run at the same time. */

let account: Awaited<ReturnType<typeof newAccount>>;
beforeAll(async () => {
  account = await newAccount();
});
afterAll(() => account.close());

/** Runs a command, and another change just before its first call of an operation. */
const overtaken = (
  args: readonly string[],
  operation: string,
  change: () => Promise<unknown>,
  options?: RunOptions,
) => {
  const fateOf = async (called: string): Promise<Fate> => {
    if (called !== operation) return 'passed';
    account.network.fateOf = () => 'passed';
    await change();
    return 'passed';
  };
  return account.overNetwork(args, fateOf, options);
};

test('commands at the same time all succeed, although API Gateway runs one call at a time', async () => {
  const owner = newOwner();
  const [rotated, moved, revoked] = [
    await account.create(owner),
    await account.create(owner),
    await account.create(owner),
  ];
  let busyUntil = 0;
  // One conflict even if the commands happen not to overlap.
  let isFirst = true;
  account.network.fateOf = (operation) => {
    if (!/^POST .*(apikeys|keys)$|^DELETE .*\/keys\//.test(operation)) return 'passed';
    if (isFirst || performance.now() < busyUntil) {
      isFirst = false;
      return 'conflict';
    }
    busyUntil = performance.now() + 20;
    return 'passed';
  };
  // A twentieth of the real delays.
  const shortSleep = (milliseconds: number) => sleep(milliseconds / 20);
  const runs = await Promise.all(
    [
      ['create', '--owner', owner, '--plan', 'free'],
      ['create', '--owner', owner, '--plan', 'pro'],
      ['rotate', rotated.keyId, '--overlap', '0s'],
      ['change-plan', moved.keyId, '--plan', 'business'],
      ['revoke', revoked.keyId],
    ].map((args) => account.keysLocal(args, { sleep: shortSleep })),
  );
  account.network.fateOf = () => 'passed';
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0]);
  expect(runs.some(({ stderr }) => stderr.includes('ConflictException'))).toBe(true);
  const shown = [rotated, moved, revoked].map(({ key }) => key);
  const issued = runs.flatMap(({ stdout }) => keysIn(stdout));
  expect(
    await account.expectConsistent(await account.openLocal(), owner, [...shown, ...issued]),
  ).toHaveLength(4);
});

describe('changes of one key at the same time', () => {
  test('a rotation of a key that is revoked meanwhile leaves no new one behind', async () => {
    const owner = newOwner();
    const { key, keyId } = await account.create(owner);
    const run = await account.keysLocal(['rotate', keyId], {
      afterStep: async (step) => {
        if (step === 'reveal') await account.keysJson(['revoke', keyId]);
      },
    });
    expect(run).toMatchObject({ exitCode: 4 });
    expect(run.stderr).toContain('was changed or removed by someone else');
    expect(await account.stateOf(owner)).toMatchObject({ keys: [{ status: 'revoked' }], orphans: [] });
    const revealed = [key, ...keysIn(run.stdout)];
    expect(await account.expectConsistent(await account.openLocal(), owner, revealed)).toEqual([]);
  });

  test('a revocation wins, however often the key is changed meanwhile', async () => {
    const owner = newOwner();
    const { key, keyId } = await account.create(owner);
    let changes = 0;
    // Before each write of the revocation.
    const fateOf = async (operation: string): Promise<Fate> => {
      if (operation !== 'TransactWriteItems' || changes === 4) return 'passed';
      changes += 1;
      account.network.fateOf = () => 'passed';
      // It gives the key another API Gateway key, which has to go with it.
      await account.keysJson(['change-plan', keyId, '--plan', changes % 2 === 1 ? 'pro' : 'free']);
      account.network.fateOf = fateOf;
      return 'passed';
    };
    expect(await account.overNetwork(['revoke', keyId], fateOf)).toMatchObject({ exitCode: 0 });
    expect(changes).toBe(4);
    expect(await account.stateOf(owner)).toMatchObject({ keys: [{ status: 'revoked' }], orphans: [] });
    expect(await account.call(key)).toBe(401);
  });

  test('a suspension that another change overtakes is made after it', async () => {
    const owner = newOwner();
    const { keyId } = await account.create(owner);
    const changePlan = () => account.keysJson(['change-plan', keyId, '--plan', 'pro']);
    const run = await overtaken(['suspend', keyId], 'TransactWriteItems', changePlan);
    expect(run).toMatchObject({ exitCode: 0 });
    expect(await account.stateOf(owner)).toMatchObject({ keys: [{ plan: 'pro', status: 'suspended' }] });
  });

  test('a suspension does not shorten the one that someone else begins meanwhile', async () => {
    const { keyId, key } = await account.create(newOwner());
    const { limitTable, now } = await account.openLocal();
    const run = await account.keysLocal(['suspend', keyId, '--for', '1h'], {
      afterStep: () => setSuspension(limitTable, hashOfKey(key), indefinitely, now()),
    });
    expect(run).toMatchObject({ exitCode: 4, stdout: '' });
    expect(run.stderr).toContain(`${keyId} is suspended until later, which is longer.`);
    expect(await account.keysJson(['show', keyId])).toMatchObject({ suspendedUntil: '9999-12-31T23:59:59Z' });
  });

  test('a revocation that was killed is completed by cleanup, without a wait', async () => {
    const owner = newOwner();
    const { keyId } = await account.create(owner);
    await account.crash(['revoke', keyId], 1);
    const removed = [{ keyId, reason: 'revoked key' }];
    expect(await account.keysJson(['cleanup', '--owner', owner])).toEqual({ removed });
  });

  const later = { clock: () => Date.now() + 16 * 60_000 };

  test('cleanup keeps the API Gateway key of a change of plan that ends while it looks', async () => {
    const owner = newOwner();
    const { key, keyId } = await account.create(owner);
    const changePlan = () => account.keysJson(['change-plan', keyId, '--plan', 'pro']);
    // After the records, and before API Gateway.
    const run = await overtaken(['cleanup', '--owner', owner], 'GET /apikeys', changePlan, later);
    expect(run).toMatchObject({ exitCode: 0, stdout: 'Nothing to clean up.\n' });
    expect(await account.expectConsistent(await account.openLocal(), owner, [key])).toEqual([keyId]);
  });

  test('cleanup leaves the former API Gateway key, however old, to the change of plan', async () => {
    const owner = newOwner();
    const { keyId } = await account.create(owner);
    const removed: unknown[] = [];
    const run = await account.keysLocal(['change-plan', keyId, '--plan', 'pro'], {
      ...later,
      afterStep: async (step) => {
        if (step === 'record') removed.push(await account.keysJson(['cleanup', '--owner', owner], later));
      },
    });
    expect(run).toMatchObject({ exitCode: 0 });
    expect(removed).toEqual([{ removed: [] }]);
  });

  test('a change of plan answers the key’s requests between all of its steps', async () => {
    const { key, keyId } = await account.create(newOwner());
    const answers: number[] = [];
    const run = await account.keysLocal(['change-plan', keyId, '--plan', 'pro'], {
      afterStep: async () => void answers.push(await account.call(key)),
    });
    expect(run.exitCode).toBe(0);
    expect(answers).toEqual([200, 200, 200, 200, 200]);
  });

  test.each(['CreateApiKey', 'CreateUsagePlanKey'])(
    'a change of plan that another one overtakes after “%s” is made after it',
    async (overtakenAfter) => {
      const owner = newOwner();
      const { key, keyId } = await account.create(owner);
      let isOvertaken = false;
      const run = await account.keysLocal(['change-plan', keyId, '--plan', 'business'], {
        afterStep: async (step) => {
          if (step !== overtakenAfter || isOvertaken) return;
          isOvertaken = true;
          await account.keysJson(['change-plan', keyId, '--plan', 'pro']);
        },
      });
      expect(run.exitCode).toBe(0);
      expect(await account.expectConsistent(await account.openLocal(), owner, [key])).toEqual([keyId]);
      expect(await account.stateOf(owner)).toMatchObject({ keys: [{ plan: 'business' }] });
    },
  );

  test.each(['CreateApiKey', 'CreateUsagePlanKey'])(
    'a repair that another one overtakes after “%s” leaves the API Gateway key that the other has recorded',
    async (overtakenAfter) => {
      const owner = newOwner();
      const { key, keyId } = await account.create(owner);
      const service = await account.openLocal();
      const [lost] = await account.recordsOf(service, owner);
      await service.apiGateway.send(new DeleteApiKeyCommand({ apiKey: lost?.gatewayKeyId }));
      const repair = ['repair', '--owner', owner];
      const run = await account.keysLocal(repair, {
        afterStep: async (step) => {
          if (step === overtakenAfter) await account.keysJson(repair);
        },
      });
      expect(run).toMatchObject({ exitCode: 0 });
      expect(await account.expectConsistent(service, owner, [key])).toEqual([keyId]);
      const [record] = await account.recordsOf(service, owner);
      expect(record?.audit.map(({ did }) => did)).toEqual(['created', 'repaired']);
    },
  );

  test('a repair that another one overtakes before its write repairs nothing, and does not fail', async () => {
    const owner = newOwner();
    const { key, keyId } = await account.create(owner);
    const service = await account.openLocal();
    const [lost] = await account.recordsOf(service, owner);
    const place = { usagePlanId: service.usagePlanIds.free, keyId: lost?.gatewayKeyId };
    await service.apiGateway.send(new DeleteUsagePlanKeyCommand(place));
    const repair = ['repair', '--owner', owner];
    const run = await overtaken(repair, 'TransactWriteItems', () => account.keysJson(repair));
    expect(run).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 1. Repaired: 0.\n' });
    expect(await account.expectConsistent(service, owner, [key])).toEqual([keyId]);
  });

  test('a repair sees no drift in a key that is created while it looks', async () => {
    const owner = newOwner();
    const looked = new Set<string>();
    // Between what it reads of the records and of API Gateway.
    const fateOf = async (operation: string): Promise<Fate> => {
      if (!/^(Query|GET \/apikeys)$/.test(operation)) return 'passed';
      looked.add(operation);
      if (looked.size < 2) return 'passed';
      account.network.fateOf = () => 'passed';
      await account.create(owner);
      return 'passed';
    };
    const run = await account.overNetwork(['repair', '--owner', owner], fateOf);
    expect(run).toMatchObject({ exitCode: 0, stdout: 'Valid keys: 0. Repaired: 0.\n' });
    expect(await account.stateOf(owner)).toMatchObject({ keys: [{ isInGateway: true }], orphans: [] });
  });
});
