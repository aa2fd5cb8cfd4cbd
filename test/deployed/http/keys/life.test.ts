import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { stageOfKey } from '../../../../functions/access/keys.ts';
import { isFullRun, isLocal, sameDay } from '../support.ts';
import { call, create, type Issued, keysJson, keysLocal, newOwner, validKeys } from './support.ts';

interface Shown {
  readonly status: string;
  readonly audit: readonly Readonly<Record<'at' | 'by' | 'did' | 'detail', string>>[];
}
const show = (keyId: string) => keysJson<Shown>(['show', keyId]);

describe.runIf(isLocal)('the life of a key', () => {
  test('create, call, see the use, rotate, let the overlap end, revoke', async () => {
    await sameDay(60);
    const owner = newOwner();
    const first = await create(owner);
    expect(stageOfKey(first.key)).toBe('local');
    for (let calls = 0; calls < 3; calls += 1) expect(await call(first.key)).toBe(200);

    const { days } = await keysJson<{ days: object[] }>(['usage', first.keyId, '--days', '2']);
    expect(days).toHaveLength(2);
    expect(days).toContainEqual(expect.objectContaining({ requests: 3 }));
    expect(await show(first.keyId)).toMatchObject({
      status: 'active',
      usedToday: 3,
      lastUsedAt: expect.any(String),
    });

    const second = await keysJson<Issued>(['rotate', first.keyId, '--overlap', '1h']);
    expect(second.keyId).not.toBe(first.keyId);
    expect([await call(first.key), await call(second.key)]).toEqual([200, 200]);
    expect(await show(first.keyId)).toMatchObject({ status: 'active', replacedBy: second.keyId });
    expect(await show(second.keyId)).toMatchObject({ replaces: first.keyId, plan: 'free' });

    // Two hours ago, so that the overlap has ended.
    const clock = () => Date.now() - 2 * 3_600_000;
    const third = await keysJson<Issued>(['rotate', second.keyId, '--overlap', '1h'], { clock });
    expect([await call(second.key), await call(third.key)]).toEqual([401, 200]);
    expect((await show(second.keyId)).status).toBe('expired');

    expect(await keysJson(['revoke', third.keyId])).toEqual({ keyId: third.keyId, changed: true });
    expect(await call(third.key)).toBe(401);
    const { status, audit } = await show(third.keyId);
    expect(status).toBe('revoked');
    expect(audit.map(({ did }) => did)).toEqual(['created', 'revoked']);
    expect(audit.every(({ at, by }) => at.endsWith('Z') && by !== '')).toBe(true);

    await keysJson(['revoke', second.keyId]);
    const revealed = [first, second, third].map(({ key }) => key);
    expect(await validKeys(owner, revealed)).toEqual([first.keyId]);
  });

  test('another plan applies from the next request on, and so do new limits of a key', async () => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    const limit = async () => {
      const response = await fetch(`${inject('service').url}/pets?limit=1`, {
        headers: { Authorization: `Bearer ${key}` },
      });
      return response.headers.get('RateLimit-Policy');
    };
    expect(await limit()).toContain('q=60;w=60');
    const custom = (perMinute: number) => ['enterprise', '--per-minute', `${perMinute}`, '--per-day', '700'];
    for (const [perMinute, plan] of [
      [1000, ['business']],
      [70, custom(70)],
      [80, custom(80)],
    ] as const) {
      expect(await keysJson(['change-plan', keyId, '--plan', ...plan])).toMatchObject({ changed: true });
      expect(await limit()).toContain(`q=${perMinute};w=60`);
    }
    const again = await keysJson(['change-plan', keyId, '--plan', ...custom(80)]);
    expect(again).toMatchObject({ changed: false });
    await keysJson(['change-plan', keyId, '--plan', 'free']);
    expect(await limit()).toContain('q=60;w=60');
    expect((await show(keyId)).audit.map(({ detail }) => detail)).toEqual([
      'free',
      'free → business',
      'business → enterprise (70 a minute, 700 a day)',
      'enterprise (70 a minute, 700 a day) → enterprise (80 a minute, 700 a day)',
      'enterprise (80 a minute, 700 a day) → free',
    ]);
    expect(await validKeys(owner, [key])).toEqual([keyId]);
  });

  test('calls to the deprecated operation are counted', async () => {
    const { key, keyId } = await create(newOwner());
    await fetch(`${inject('service').url}/pets/1`, { headers: { Authorization: `Bearer ${key}` } });
    expect(await show(keyId)).toMatchObject({ deprecatedCalls: 1, usedToday: 1 });
  });
});

test.runIf(isLocal)('create and rotate show the limits of a key as JSON and as text', async () => {
  const owner = newOwner();
  const limits = ['--per-minute', '7', '--per-day', '7000'];
  const command = ['create', '--owner', owner, '--plan', 'enterprise', ...limits];
  const created = await keysJson<Issued>(command);
  const { keyId, key } = created;
  const common = { stage: 'local', owner, plan: 'enterprise', perMinute: 7, perDay: 7_000 };
  expect(created).toEqual({ keyId, key, ...common });
  const rotated = await keysJson<Issued>(['rotate', keyId]);
  const own = { keyId: rotated.keyId, key: rotated.key, replaces: keyId, overlapSeconds: 86_400 };
  expect(rotated).toEqual({ ...common, ...own });
  const { stdout } = await keysLocal(command);
  expect(stdout).toContain('Plan    enterprise: 7 a minute, 7,000 a day\n');
});

describe.runIf(isLocal)('output', () => {
  test('identify reads a key from standard input, and reports a typo', async () => {
    const owner = newOwner();
    const { key, keyId } = await create(owner);
    const identify = (input: string) => keysLocal(['identify', '--json'], { input });
    expect(JSON.parse((await identify(`  ${key}\n`)).stdout)).toEqual({ keyId, owner, status: 'active' });
    expect(await identify(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`)).toMatchObject({
      exitCode: 2,
    });
    expect(await identify('')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Standard input is empty'),
    });
    const asked = await keysLocal(['identify'], { input: key, interactive: true });
    expect(asked).toMatchObject({ exitCode: 0, stderr: 'Paste the API key, then press Enter and Ctrl-D.\n' });
  });

  test('an owner’s keys are listed newest first, by their current status', async () => {
    const owner = newOwner();
    const made: string[] = [];
    for (let count = 0; count < 3; count += 1) made.unshift((await create(owner)).keyId);
    const list = (...options: string[]) => keysJson(['list', '--owner', owner, ...options]);
    await keysJson(['revoke', made[1] ?? '']);
    await keysJson(['suspend', made[2] ?? '']);
    expect(await list('--limit', '2')).toMatchObject({
      keys: [
        { keyId: made[0], status: 'active' },
        { keyId: made[1], status: 'revoked' },
      ],
      hasMore: true,
    });
    expect(await list('--status', 'suspended')).toMatchObject({
      keys: [{ keyId: made[2], status: 'suspended' }],
      hasMore: false,
    });
    expect(await list('--plan', 'pro')).toMatchObject({ keys: [] });
  });
});

describe.runIf(isLocal)('a reader that goes away', () => {
  /** Runs the program in a shell: `true` reads nothing and ends at once. */
  async function inShell(redirection: string, ...args: string[]) {
    const program = join(import.meta.dirname, '..', '..', '..', 'tools', 'operators', 'keys', 'keys.ts');
    const port = new URL(inject('local')?.endpoint ?? '').port;
    const script = `"$0" "$@" ${redirection}; exit "\${PIPESTATUS[0]}"`;
    const all = [program, ...args, '--stage', 'local', '--port', port];
    return promisify(execFile)('bash', ['-c', script, process.execPath, ...all]);
  }

  test('of standard output withdraws a key that nobody can have read, and is no failure of the network', async () => {
    const owner = newOwner();
    await expect(inShell('| true', 'create', '--owner', owner, '--plan', 'free')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^[^\n]+: created free\n[^\n]+: revoked as it could not be shown\nThe result could not be written to standard output \(write EPIPE\)\. key_\w{16} was revoked\.\n$/,
      ),
    });
    expect(await validKeys(owner, [])).toEqual([]);
    if (isFullRun) expect(await inShell('| true', 'list', '--owner', owner)).toMatchObject({ stderr: '' });
  });

  test('of standard error does not end a change half way', async () => {
    const owner = newOwner();
    const { keyId, key } = await create(owner);
    expect(await inShell('2> >(true)', 'revoke', keyId)).toMatchObject({ stdout: `${keyId} is revoked.\n` });
    expect(await validKeys(owner, [key])).toEqual([]);
  });
});
