import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { isFullRun, isLocal } from '../support.ts';
import {
  call,
  cleanUpLater,
  crash,
  crashPoints,
  create,
  expectConsistent,
  keysIn,
  keysJson,
  keysLocal,
  newOwner,
  openLocal,
  recordsOf,
  stepsOf,
} from './support.ts';

/** A crash after a single step of a command, the same command again, and `cleanup`. The last test kills a process. */

const issuing = ['CreateApiKey', 'CreateUsagePlanKey', 'reveal', 'record'];

describe.runIf(isLocal)('create', () => {
  const command = (owner: string) => ['create', '--owner', owner, '--plan', 'pro'];

  test('has these steps', async () => {
    expect(await stepsOf(command(newOwner()))).toEqual(issuing);
  });

  test.each(crashPoints(issuing))(
    'that crashes after “%s” leaves a key that lets nobody in, which cleanup removes',
    async (_step, count) => {
      const owner = newOwner();
      const revealed = await crash(command(owner), count);
      const isDone = count === issuing.length;
      for (const key of revealed) expect(await call(key)).toBe(isDone ? 200 : 401);
      const service = await openLocal();
      expect(await recordsOf(service, owner)).toHaveLength(isDone ? 1 : 0);

      const { stdout, exitCode } = await keysLocal(command(owner));
      expect(exitCode).toBe(0);
      // Not yet: another run might be making it.
      expect(await keysJson(['cleanup', '--owner', owner])).toEqual({ removed: [] });
      expect((await cleanUpLater(owner)).map(({ reason }) => reason)).toEqual(
        isDone ? [] : ['half-made key'],
      );
      const valid = await expectConsistent(service, owner, [...revealed, ...keysIn(stdout)]);
      expect(valid).toHaveLength(isDone ? 2 : 1);
    },
  );

  test.each(isFullRun ? issuing.slice(0, -1) : ['reveal'])(
    'that fails after “%s” leaves nothing behind',
    async (failing) => {
      const owner = newOwner();
      const run = await keysLocal(command(owner), {
        afterStep: (step) => {
          if (step === failing) throw new Error('Something broke');
        },
      });
      expect(run).toMatchObject({ exitCode: 1, stderr: 'Something broke\n' });
      // The response with the ID of the API Gateway key is lost.
      if (failing === 'CreateApiKey') expect(await cleanUpLater(owner)).toHaveLength(1);
      expect(await expectConsistent(await openLocal(), owner, keysIn(run.stdout))).toEqual([]);
      expect(await recordsOf(await openLocal(), owner)).toEqual([]);
    },
  );

  test('that takes longer than cleanup waits never becomes valid', async () => {
    const owner = newOwner();
    let minutes = 0;
    const run = await keysLocal(command(owner), {
      clock: () => Date.now() + minutes * 60_000,
      afterStep: () => void (minutes = 11),
    });
    expect(run).toMatchObject({ exitCode: 1, stdout: '' });
    expect(run.stderr).toContain('Run the command again');
    expect(await expectConsistent(await openLocal(), owner, [])).toEqual([]);
  });
});

describe.runIf(isLocal)('rotate', () => {
  const variants = {
    // The steps of the other, except the last.
    ...(isFullRun && { '1h': [...issuing, 'FlushStageAuthorizersCache'] }),
    '0s': [...issuing, 'FlushStageAuthorizersCache', 'DeleteApiKey'],
  };

  describe.each(Object.entries(variants))('with an overlap of %s', (overlap, steps) => {
    const command = (keyId: string) => ['rotate', keyId, '--overlap', overlap];

    test('has these steps', async () => {
      expect(await stepsOf(command((await create(newOwner())).keyId))).toEqual(steps);
    });

    test.each(crashPoints(steps))(
      'that crashes after “%s” (step %d) leaves both keys as they were, or both changed',
      async (_step, count) => {
        const owner = newOwner();
        const old = await create(owner, 'business');
        const revealed = await crash(command(old.keyId), count);
        const isDone = count >= issuing.length;
        const service = await openLocal();
        expect(await recordsOf(service, owner)).toHaveLength(isDone ? 2 : 1);
        if (!isDone) expect(await call(old.key)).toBe(200);

        const again = await keysLocal(command(old.keyId));
        expect(again.exitCode).toBe(isDone ? 4 : 0);
        await cleanUpLater(owner);
        const valid = await expectConsistent(service, owner, [old.key, ...revealed, ...keysIn(again.stdout)]);
        const [newest, oldest, ...more] = await recordsOf(service, owner);
        expect(more).toEqual([]);
        expect(oldest).toMatchObject({
          keyId: old.keyId,
          replacedBy: newest?.keyId,
          expiresAt: expect.any(Number),
        });
        expect(newest).toMatchObject({ replaces: old.keyId, plan: 'business', status: 'active' });
        expect(valid).toEqual(overlap === '0s' ? [newest?.keyId] : [newest?.keyId, old.keyId]);
      },
    );
  });

  test('that fails leaves the old key as it was', async () => {
    const owner = newOwner();
    const old = await create(owner);
    const run = await keysLocal(['rotate', old.keyId], {
      afterStep: (step) => {
        if (step === 'reveal') throw new Error('Something broke');
      },
    });
    expect(run.exitCode).toBe(1);
    const service = await openLocal();
    expect(await expectConsistent(service, owner, [old.key, ...keysIn(run.stdout)])).toEqual([old.keyId]);
    const [record] = await recordsOf(service, owner);
    expect(record).not.toHaveProperty('expiresAt');
    expect(record).not.toHaveProperty('replacedBy');
  });

  test('of a key that is revoked meanwhile leaves no new one behind', async () => {
    const owner = newOwner();
    const old = await create(owner);
    const run = await keysLocal(['rotate', old.keyId], {
      afterStep: async (step) => {
        if (step === 'reveal') await keysJson(['revoke', old.keyId]);
      },
    });
    expect(run).toMatchObject({ exitCode: 4 });
    expect(run.stderr).toContain('changed by someone else');
    const service = await openLocal();
    expect(await expectConsistent(service, owner, [old.key, ...keysIn(run.stdout)])).toEqual([]);
    expect(await recordsOf(service, owner)).toHaveLength(1);
  });
});

describe.runIf(isLocal)('revoke', () => {
  const command = (keyId: string) => ['revoke', keyId];
  const steps = ['record', 'FlushStageAuthorizersCache', 'DeleteApiKey'];

  test('has these steps', async () => {
    expect(await stepsOf(command((await create(newOwner())).keyId))).toEqual(steps);
  });

  test.each(crashPoints(steps))('that crashes after “%s” is completed by the next', async (_step, count) => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    expect(await call(key)).toBe(200);
    await crash(command(keyId), count);
    expect(await keysJson(command(keyId))).toEqual({ keyId, changed: false });
    expect(await expectConsistent(await openLocal(), owner, [key])).toEqual([]);
    expect(await recordsOf(await openLocal(), owner)).toMatchObject([{ keyId, status: 'revoked' }]);
  });

  test('that crashes and is not repeated is completed by cleanup, without a wait', async () => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    await crash(command(keyId), 1);
    expect(await keysJson(['cleanup', '--owner', owner])).toEqual({
      removed: [{ keyId, reason: 'revoked key' }],
    });
    expect(await expectConsistent(await openLocal(), owner, [key])).toEqual([]);
  });

  test('wins against a change of the same key at the same time', async () => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    const others = ['suspend', 'revoke', 'rotate', 'suspend'].map((other) => keysLocal([other, keyId]));
    const [revoked, ...runs] = await Promise.all([keysLocal(command(keyId)), ...others]);
    expect(revoked?.exitCode).toBe(0);
    const service = await openLocal();
    const records = await recordsOf(service, owner);
    expect(records.find((record) => record.keyId === keyId)).toMatchObject({ status: 'revoked' });
    expect(await call(key)).toBe(401);
    const rotated = runs.flatMap(({ stdout }) => keysIn(stdout));
    expect((await expectConsistent(service, owner, [key, ...rotated])).length).toBeLessThanOrEqual(1);
  });
});

describe.runIf(isLocal)('change-plan', () => {
  const command = (keyId: string) => ['change-plan', keyId, '--plan', 'business'];
  const steps = [
    'CreateApiKey',
    'CreateUsagePlanKey',
    'record',
    'FlushStageAuthorizersCache',
    'DeleteApiKey',
  ];
  const recordAt = 3;

  test('answers the key’s requests between all of its steps', async () => {
    const { key, keyId } = await create(newOwner());
    expect(await call(key)).toBe(200);
    const answers: [string, number][] = [];
    const run = await keysLocal(command(keyId), {
      afterStep: async (step) => void answers.push([step, await call(key)]),
    });
    expect(run.exitCode).toBe(0);
    expect(answers).toEqual(steps.map((step) => [step, 200]));
  });

  test.each(crashPoints(steps))('that crashes after “%s” leaves the key usable', async (_step, count) => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    await crash(command(keyId), count);
    expect(await call(key)).toBe(200);
    expect(await keysJson(command(keyId))).toMatchObject({ keyId, changed: count < recordAt });
    expect((await cleanUpLater(owner)).map(({ reason }) => reason)).toEqual(
      count === steps.length ? [] : ['earlier plan'],
    );
    const service = await openLocal();
    expect(await expectConsistent(service, owner, [key])).toEqual([keyId]);
    expect(await recordsOf(service, owner)).toMatchObject([{ keyId, plan: 'business' }]);
  });

  test.each(['CreateApiKey', 'CreateUsagePlanKey'])(
    'that another change overtakes after “%s” leaves the other change',
    async (overtakenAfter) => {
      const owner = newOwner();
      const { key, keyId } = await create(owner);
      const run = await keysLocal(command(keyId), {
        afterStep: async (step) => {
          if (step === overtakenAfter) await keysJson(['change-plan', keyId, '--plan', 'pro']);
        },
      });
      expect(run.exitCode).toBe(4);
      const service = await openLocal();
      expect(await expectConsistent(service, owner, [key])).toEqual([keyId]);
      expect(await recordsOf(service, owner)).toMatchObject([{ plan: 'pro' }]);
    },
  );
});

describe.runIf(isLocal)('a process that is killed', () => {
  const projectDirectory = join(import.meta.dirname, '..', '..', '..');
  const command = (owner: string) => ['create', '--owner', owner, '--plan', 'free'];

  test('while it makes a key leaves no record', async () => {
    const owner = newOwner();
    const port = new URL(inject('local')?.endpoint ?? '').port;
    const args = [...command(owner), '--stage', 'local', '--port', port];
    const killedAfter = 'CreateUsagePlanKey';
    const program = `
      import { runKeys } from './tools/keys/cli.ts';
      const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, interactive: false };
      const afterStep = (step) => { if (step === '${killedAfter}') process.kill(process.pid, 'SIGKILL'); };
      await runKeys(${JSON.stringify(args)}, io, { afterStep });`;
    const run = promisify(execFile);
    await expect(
      run(process.execPath, ['--input-type=module', '--eval', program], { cwd: projectDirectory }),
    ).rejects.toMatchObject({ signal: 'SIGKILL' });
    const service = await openLocal();
    expect(await recordsOf(service, owner)).toEqual([]);

    const { stdout } = await keysLocal(command(owner));
    expect(await cleanUpLater(owner)).toMatchObject([{ reason: 'half-made key' }]);
    expect(await expectConsistent(service, owner, keysIn(stdout))).toHaveLength(1);
    expect(await recordsOf(service, owner)).toHaveLength(1);
  });
});
