import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { changePlan } from '../../../tools/keys/operations.ts';
import { isLocal } from '../support.ts';
import {
  call,
  crash,
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

/**
 * A crash after each single step of a command, then the same command again. The crash is a run that never gets
 * beyond the step, made by a process that has ended; the last tests kill a real one.
 */

describe.runIf(isLocal)('create', () => {
  const command = (owner: string) => ['create', '--owner', owner, '--plan', 'pro'];
  const steps = ['record', 'gateway key', 'usage plan', 'reveal', 'activate'];

  test('has these steps', async () => {
    expect(await stepsOf(command(newOwner()))).toEqual(steps);
  });

  test.each(steps.map((step, index) => [step, index + 1] as const))(
    'that crashes after “%s” is healed by the next',
    async (_step, count) => {
      const owner = newOwner();
      const revealed = await crash(command(owner), count);
      const { stdout, exitCode } = await keysLocal(command(owner));
      expect(exitCode).toBe(0);
      const valid = await expectConsistent(await openLocal(), owner, [...revealed, ...keysIn(stdout)]);
      // A crash after the last step was none: that key was shown, and is valid beside the new one.
      expect(valid).toHaveLength(count === steps.length ? 2 : 1);
      expect(await recordsOf(await openLocal(), owner)).toHaveLength(valid.length);
    },
  );

  test.each(steps.slice(0, -1))('that fails after “%s” leaves nothing behind', async (failing) => {
    const owner = newOwner();
    const run = await keysLocal(command(owner), {
      afterStep: (step) => {
        if (step === failing) throw new Error('Something broke');
      },
    });
    expect(run).toMatchObject({ exitCode: 1, stderr: 'Something broke\n' });
    expect(await expectConsistent(await openLocal(), owner, keysIn(run.stdout))).toEqual([]);
    expect(await recordsOf(await openLocal(), owner)).toEqual([]);
  });

  test('that nobody repeats is cleaned up by tidy', async () => {
    const owner = newOwner();
    const revealed = await crash(command(owner), 4);
    const { tidied } = await keysJson<{ tidied: { did: string }[] }>(['tidy']);
    expect(tidied.map(({ did }) => did)).toContain('removed a half-made key');
    expect(await expectConsistent(await openLocal(), owner, revealed)).toEqual([]);
  });

  test('that someone else took for crashed gives its key up, and leaves nothing behind', async () => {
    const owner = newOwner();
    // For one an hour ahead it has been made for too long.
    const later = { clock: () => Date.now() + 3_600_000 };
    const byOther: string[] = [];
    const run = await keysLocal(command(owner), {
      afterStep: async (step) => {
        if (step === 'usage plan') byOther.push(...keysIn((await keysLocal(command(owner), later)).stdout));
      },
    });
    expect(run).toMatchObject({ exitCode: 4 });
    expect(run.stderr).toContain('changed by someone else meanwhile');
    const revealed = [...keysIn(run.stdout), ...byOther];
    expect(revealed).toHaveLength(2);
    expect(await expectConsistent(await openLocal(), owner, revealed)).toHaveLength(1);
  });
});

describe.runIf(isLocal)('rotate', () => {
  const issuing = ['record', 'gateway key', 'usage plan', 'reveal', 'activate'];
  const variants = {
    '1h': [...issuing, 'authorizer cache', 'settle'],
    '0s': [...issuing, 'gateway key', 'authorizer cache', 'settle'],
  };

  describe.each(Object.entries(variants))('with an overlap of %s', (overlap, steps) => {
    const command = (keyId: string) => ['rotate', keyId, '--overlap', overlap];

    test('has these steps', async () => {
      expect(await stepsOf(command((await create(newOwner())).keyId))).toEqual(steps);
    });

    test.each(steps.map((step, index) => [step, index + 1] as const))(
      'that crashes after “%s” (step %d) is healed by the next',
      async (_step, count) => {
        const owner = newOwner();
        const old = await create(owner, 'business');
        const revealed = await crash(command(old.keyId), count);
        const again = await keysLocal(command(old.keyId));
        // Once the new key is valid it was shown: what is left to do is done, and a second one is refused.
        const isDone = count >= issuing.length;
        expect(again.exitCode).toBe(isDone ? 4 : 0);
        const service = await openLocal();
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
    const service = await openLocal();
    expect(await expectConsistent(service, owner, [old.key, ...keysIn(run.stdout)])).toEqual([]);
    expect(await recordsOf(service, owner)).toHaveLength(1);
  });
});

describe.runIf(isLocal)('revoke', () => {
  const command = (keyId: string) => ['revoke', keyId];
  const steps = ['record', 'gateway key', 'authorizer cache', 'settle'];

  test('has these steps', async () => {
    expect(await stepsOf(command((await create(newOwner())).keyId))).toEqual(steps);
  });

  test.each(steps.map((step, index) => [step, index + 1] as const))(
    'that crashes after “%s” is healed by the next',
    async (_step, count) => {
      const owner = newOwner();
      const { key, keyId } = await create(owner);
      expect(await call(key)).toBe(200);
      await crash(command(keyId), count);
      expect(await keysJson(command(keyId))).toEqual({ keyId, changed: false });
      expect(await expectConsistent(await openLocal(), owner, [key])).toEqual([]);
      expect(await recordsOf(await openLocal(), owner)).toMatchObject([{ keyId, status: 'revoked' }]);
    },
  );
});

describe.runIf(isLocal)('change-plan', () => {
  const command = (keyId: string) => ['change-plan', keyId, '--plan', 'business'];
  const steps = ['record', 'unbind', 'bind', 'authorizer cache', 'settle'];

  test('has these steps', async () => {
    expect(await stepsOf(command((await create(newOwner())).keyId))).toEqual(steps);
  });

  const crashes = steps.map((step, index) => [step, index + 1] as const);

  test.each(crashes)('that crashes after “%s” is healed by the next', async (_step, count) => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    await crash(command(keyId), count);
    expect(await keysJson(command(keyId))).toMatchObject({ keyId, changed: false });
    const service = await openLocal();
    expect(await expectConsistent(service, owner, [key])).toEqual([keyId]);
    expect(await recordsOf(service, owner)).toMatchObject([{ keyId, plan: 'business' }]);
  });

  test.each(crashes)(
    'to one plan that crashes after “%s”, then to another, ends on that',
    async (_step, count) => {
      const owner = newOwner();
      const { key, keyId } = await create(owner);
      await crash(command(keyId), count);
      expect(await keysJson(['change-plan', keyId, '--plan', 'pro'])).toMatchObject({ changed: true });
      const service = await openLocal();
      expect(await expectConsistent(service, owner, [key])).toEqual([keyId]);
      expect(await recordsOf(service, owner)).toMatchObject([{ keyId, plan: 'pro' }]);
    },
  );

  test.each(['GetUsagePlansCommand', 'DeleteUsagePlanKeyCommand', 'CreateUsagePlanKeyCommand'])(
    'that another change overtakes just before its %s ends on the plan of the later one',
    async (overtakenBefore) => {
      const owner = newOwner();
      const { key, keyId } = await create(owner);
      const service = await openLocal();
      let overtaken = 0;
      service.apiGateway.middlewareStack.add(
        (next, { commandName }) =>
          async (args) => {
            if (commandName === overtakenBefore && (overtaken += 1) === 1)
              await keysJson(['change-plan', keyId, '--plan', 'pro']);
            return next(args);
          },
        { step: 'initialize' },
      );
      await changePlan(service, keyId, { plan: 'business' });
      expect(overtaken).toBeGreaterThan(0);
      expect(await expectConsistent(service, owner, [key])).toEqual([keyId]);
      expect(await recordsOf(service, owner)).toMatchObject([{ keyId, plan: 'pro' }]);
    },
  );

  test('shows as unfinished until it is healed', async () => {
    const { keyId } = await create(newOwner());
    await crash(command(keyId), 2);
    expect(await keysJson(['show', keyId])).toMatchObject({ unfinished: true, status: 'active' });
    expect((await keysLocal(['show', keyId])).stdout).toContain(
      'a change is unfinished: run it again, or "tidy"',
    );
    await keysJson(['tidy']);
    expect(await keysJson(['show', keyId])).toMatchObject({ unfinished: false, plan: 'business' });
  });
});

describe.runIf(isLocal)('a process that is killed', () => {
  const projectDirectory = join(import.meta.dirname, '..', '..', '..');

  test('while it makes a key leaves nothing that the next one does not clean up', async () => {
    const owner = newOwner();
    const args = ['create', '--owner', owner, '--plan', 'free', '--stage', 'local'];
    const options = ['--port', new URL(inject('local')?.endpoint ?? '').port];
    const killedAfter = 'usage plan';
    const program = `
      import { runKeys } from './tools/keys/cli.ts';
      const io = { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr, interactive: false };
      const afterStep = (step) => { if (step === '${killedAfter}') process.kill(process.pid, 'SIGKILL'); };
      await runKeys(${JSON.stringify([...args, ...options])}, io, { afterStep });`;
    const run = promisify(execFile);
    await expect(
      run(process.execPath, ['--input-type=module', '--eval', program], { cwd: projectDirectory }),
    ).rejects.toMatchObject({ signal: 'SIGKILL' });
    const service = await openLocal();
    expect(await recordsOf(service, owner)).toMatchObject([{ status: 'pending' }]);

    const { stdout } = await run(process.execPath, ['tools/keys.ts', ...args, ...options], {
      cwd: projectDirectory,
    });
    expect(await expectConsistent(service, owner, keysIn(stdout))).toHaveLength(1);
    expect(await recordsOf(service, owner)).toHaveLength(1);
  });
});
