import { describe, expect, test } from 'vitest';
import { issue, recordOf, resultOf, storedOf } from './issued-keys.ts';
import { World } from '../world.ts';

describe('a plan that is not deployed yet', () => {
  const withoutBusiness = (world: World) => {
    const { UsagePlanIdBusiness: _, ...others } = world.outputs;
    world.outputs = others;
  };

  test('stops no command about keys on other plans', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    withoutBusiness(world);
    const { keyId: next } = await resultOf(world.run(`keys rotate ${keyId} --json`));
    const ofNext = ['change-plan NEXT --plan pro', 'suspend NEXT', 'resume NEXT', 'show NEXT', 'usage NEXT'];
    const ofMany = ['list --owner Ada', 'list --plan business', 'repair --owner Ada', 'cleanup --owner Ada'];
    for (const text of [...ofNext, ...ofMany, 'revoke NEXT', 'create --owner Ada --plan free']) {
      const command = text.replace('NEXT', String(next));
      expect(await world.run(`keys ${command}`)).toMatchObject({ exitCode: 0 });
    }
  });

  test.each(['create --owner Ada --plan business', 'change-plan ID --plan business --stage prod'])(
    'is refused before a question, and nothing is changed: %s',
    async (command) => {
      const world = new World({ isChecked: false });
      const { keyId } = await issue(world);
      const stored = JSON.stringify(storedOf(world));
      withoutBusiness(world);
      const run = await world.run(`keys ${command.replace('ID', keyId)}`, { typed: ['y\n'] });
      expect(run).toMatchObject({ exitCode: 4, stdout: '' });
      expect(run.stderr).toMatch(/^Plan business is not deployed in stage \w+\. Deploy the stage first\.\n$/);
      expect(JSON.stringify(storedOf(world))).toBe(stored);
      expect(run.calls.filter(({ operation }) => operation.startsWith('POST'))).toEqual([]);
    },
  );
});

describe('a key of a plan that this version does not know', () => {
  const text =
    'This version of the tool does not know the limits of 1 plan: unheard. To see them, use a checkout that has the plan.\n';

  async function withGold({ deployed }: { readonly deployed: boolean }) {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { gatewayKeyId } = recordOf(world, keyId);
    world.put('apiKeys', { ...recordOf(world, keyId), plan: 'unheard' });
    if (deployed) {
      world.outputs = { ...world.outputs, UsagePlanIdUnheard: 'unheard' };
      const unheard = { ...world.apiKeys.plans[0]!, id: 'unheard', name: 'unheard' };
      world.apiKeys.plans = [...world.apiKeys.plans, unheard];
      world.apiKeys.unbind('free', gatewayKeyId);
      world.apiKeys.bind('unheard', gatewayKeyId);
    }
    return { world, keyId };
  }

  test.each([true, false])(
    'is listed, shown, suspended and revoked, deployed or not: %s',
    async (deployed) => {
      const { world, keyId } = await withGold({ deployed });
      const { keyId: other } = await issue(world, '--owner Ada --plan pro');
      for (const filter of ['', '--owner Ada', '--status active', '--limit 1']) {
        const { exitCode, stdout, stderr } = await world.run(`keys list ${filter} --json`);
        const { keys } = JSON.parse(stdout) as { keys: readonly object[] };
        const limits = { perMinute: null, perDay: null };
        if (filter !== '--limit 1')
          expect(keys).toContainEqual(expect.objectContaining({ keyId, plan: 'unheard', ...limits }));
        expect({ exitCode, count: keys.length }).toEqual({
          exitCode: 0,
          count: filter === '--limit 1' ? 1 : 2,
        });
        if (filter === '') expect(JSON.parse(stderr)).toEqual({ note: text.trim() });
      }
      const shown = await world.run(`keys show ${keyId}`);
      expect(shown).toMatchObject({ exitCode: 0, stderr: text });
      expect(shown.stdout).toMatch(/^plan +unheard\n(.*\n)?per minute +-\nper day +-$/m);
      for (const command of ['suspend', 'resume', 'cleanup', 'repair', 'revoke'])
        expect(await world.run(`keys ${command} ${/^(cl|rep)/.test(command) ? '' : keyId}`)).toMatchObject({
          exitCode: 0,
        });
      expect(recordOf(world, keyId).status).toBe('revoked');
      expect(recordOf(world, other).status).toBe('active');
    },
  );

  test('is rotated, repaired and put on another plan where its plan is deployed', async () => {
    const { world, keyId } = await withGold({ deployed: true });
    expect(await resultOf(world.run('keys repair --dry-run --json'))).toMatchObject({
      valid: 1,
      drifted: [],
    });
    expect((await world.run(`keys usage ${keyId}`)).exitCode).toBe(0);
    const rotated = await world.run(`keys rotate ${keyId}`);
    expect(rotated.stdout).toContain('Plan    unheard: limits that this version of the tool does not know\n');
    const next = /key_\w{16}/.exec(rotated.stdout)![0];
    expect(recordOf(world, next).plan).toBe('unheard');
    expect(await resultOf(world.run(`keys change-plan ${next} --plan pro --json`))).toMatchObject({
      changed: true,
    });
    expect(recordOf(world, next).audit.at(-1)).toMatchObject({ detail: 'unheard → pro' });
  });

  test('is left as it is by a repair where its plan is not deployed, and named, and the others are repaired', async () => {
    const { world, keyId } = await withGold({ deployed: false });
    const { keyId: other } = await issue(world, '--owner Ada --plan pro');
    world.apiKeys.unbind('pro', recordOf(world, other).gatewayKeyId);
    const { stdout, stderr } = await world.run('keys repair --json');
    expect(JSON.parse(stdout)).toMatchObject({ valid: 2, repaired: [other] });
    expect(stderr).toContain(
      `${keyId} was left as it is, because its plan unheard is not deployed in this stage.`,
    );
    const refused = await world.run(`keys rotate ${keyId}`);
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain('Plan unheard is not deployed in stage local.');
  });
});
