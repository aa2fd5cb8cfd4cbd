import { describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { answer, didsOf, issue, keysIn, recordOf, recordsOf, timeText } from './issued-keys.ts';
import { World } from '../world.ts';

describe('rotate', () => {
  test('gives a new key at once, and the old one ends with its overlap', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world, '--owner Ada --plan pro --note for-the-shop');
    const rotated = await world.run(`keys rotate ${keyId} --overlap 1h`);
    const [next = ''] = keysIn(rotated.stdout);
    expect(rotated.stderr).toContain('The new key is valid. API Gateway can need minutes');
    expect(rotated.stderr).not.toContain('With an overlap below');
    expect(rotated.stderr).toContain(`\nThe old one is valid until ${timeText(world.now + 3_600)}.\n`);
    const made = recordsOf(world).find((record) => record.keyId !== keyId)!;
    expect(made).toMatchObject({ owner: 'Ada', plan: 'pro', note: 'for-the-shop', replaces: keyId });
    expect(recordOf(world, keyId)).toMatchObject({ replacedBy: made.keyId, expiresAt: world.now + 3_600 });
    world.wait(3_599);
    expect([await answer(world, key), await answer(world, next)]).toEqual(['admitted', 'admitted']);
    world.wait(1);
    expect([await answer(world, key), await answer(world, next)]).toEqual(['unauthorized', 'admitted']);
  });

  test('warns of an overlap that can end before API Gateway accepts the new key', async () => {
    const world = new World({ isChecked: false });
    const stderr = async (overlap: string) => {
      const { keyId } = await issue(world);
      return (await world.run(`keys rotate ${keyId} --overlap ${overlap}`)).stderr;
    };
    for (const overlap of ['0s', '60s', '179s'])
      expect(await stderr(overlap)).toMatch(
        /^With an overlap below 3m, the old key can end before API Gateway accepts the new one\. .+ 401 in between\.\n/,
      );
    expect(await stderr('3m')).not.toContain('With an overlap below');
  });

  test('gives a key that ends sooner than the overlap no more time', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    world.put('apiKeys', { ...recordOf(world, keyId), expiresAt: world.now + 60 });
    const { stderr } = await world.run(`keys rotate ${keyId} --overlap 24h`);
    expect(stderr).toContain(`\nThe old one is valid until ${timeText(world.now + 60)}.\n`);
    world.wait(60);
    expect(await answer(world, key)).toBe('unauthorized');
  });

  test('ends what the authorizer has let in with the overlap, too', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    expect(await answer(world, key)).toBe('admitted');
    await world.run(`keys rotate ${keyId} --overlap 30s`);
    world.wait(29);
    expect(await answer(world, key)).toBe('admitted');
    world.wait(1);
    expect(await answer(world, key)).toBe('unauthorized');
  });

  test('without an overlap ends a key at once, also one that the authorizer has let in, and its API Gateway key', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    expect(await answer(world, key)).toBe('admitted');
    const { stdout, stderr } = await world.run(`keys rotate ${keyId} --overlap 0s`);
    expect(stderr).toMatch(/\nThe old one is not valid any more\.\n$/);
    expect(await answer(world, key)).toBe('unauthorized');
    expect(world.apiKeys.keys().map(({ value }) => value)).toEqual([hashOfKey(keysIn(stdout)[0]!)]);
  });

  test('by three people at once shows one key, and the others are told which key has replaced theirs', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    const all = Promise.withResolvers<'answered'>();
    let waiting = 0;
    world.meets = ({ operation }) => {
      if (operation !== 'TransactWriteItems') return 'answered';
      waiting += 1;
      if (waiting === 3) all.resolve('answered');
      return all.promise;
    };
    const runs = await Promise.all([1, 2, 3].map(() => world.run(`keys rotate ${keyId} --overlap 0s`)));
    const [next, ...others] = runs.flatMap(({ stdout }) => keysIn(stdout));
    expect(others).toEqual([]);
    expect(runs.map(({ exitCode }) => Number(exitCode)).toSorted((a, b) => a - b)).toEqual([0, 4, 4]);
    for (const { exitCode, stderr } of runs)
      if (exitCode === 4)
        expect(stderr).toMatch(
          new RegExp(`${keyId} was replaced by key_\\w{16}\\. If it has leaked, revoke it`),
        );
    expect([await answer(world, key), await answer(world, next!)]).toEqual(['unauthorized', 'admitted']);
  });

  test('of a key that was replaced before changes nothing, and says to revoke it if it has leaked', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    const [next = ''] = keysIn((await world.run(`keys rotate ${keyId} --overlap 7d`)).stdout);
    const { keyId: nextId } = recordsOf(world).find((record) => record.keyId !== keyId)!;
    expect(await world.run(`keys rotate ${keyId} --overlap 0s`)).toMatchObject({
      exitCode: 4,
      stdout: '',
      stderr: `${keyId} was replaced by ${nextId}. If it has leaked, revoke it: ${nextId} stays as it is. Otherwise rotate ${nextId}.\n`,
    });
    expect([await answer(world, key), await answer(world, next)]).toEqual(['admitted', 'admitted']);
    await world.run(`keys revoke ${keyId}`);
    expect([await answer(world, key), await answer(world, next)]).toEqual(['unauthorized', 'admitted']);
  });

  test.each(['0s', '1h'])(
    'whose key cannot be written to standard output ends no key, with an overlap of %s',
    async (overlap) => {
      const world = new World({ isChecked: false });
      const { keyId, key } = await issue(world);
      const before = recordOf(world, keyId);
      const { exitCode, stderr } = await world.run(`keys rotate ${keyId} --overlap ${overlap}`, {
        failsToWrite: true,
      });
      const next = recordsOf(world).find((record) => record.keyId !== keyId);
      expect([exitCode, next?.status]).toEqual([1, 'revoked']);
      expect(stderr).toContain(`${next?.keyId} was revoked, and ${keyId} stays as it was.`);
      const after = recordOf(world, keyId);
      expect({ ...after, audit: before.audit }).toEqual(before);
      expect(didsOf(world, keyId)).toEqual(['created', 'replaced', 'restored']);
      expect([await answer(world, key), world.apiKeys.keys().length]).toEqual(['admitted', 1]);
      expect((await world.run(`keys rotate ${keyId}`)).exitCode).toBe(0);
    },
  );
});
