import { beforeEach, describe, expect, test } from 'vitest';
import type { RunOptions } from '../../support/run-in-process.ts';
import { keysIn, nothing, useWorlds, World } from './world.ts';

/** What exploration.test.ts does not have: more than one key, and what is rare. */

const noon = Date.parse('2026-07-02T12:00:30Z');
useWorlds(noon);

let world: World;
beforeEach(() => {
  world = new World(nothing);
});

/** The result and the notes of a command. */
async function run(args: string, options?: RunOptions) {
  const { stdout, stderr } = await world.run(args.split(' '), options);
  return { ...(JSON.parse(stdout) as Record<string, unknown>), stderr };
}

async function issue(plan = 'free') {
  const { keyId, key } = (await run(`create --owner Ada --plan ${plan}`)) as unknown as Record<
    'keyId' | 'key',
    string
  >;
  const { gatewayKeyId } = world.records.find((record) => record.keyId === keyId)!;
  return { keyId, key, plan, gatewayKeyId };
}
type Issued = Awaited<ReturnType<typeof issue>>;

const lose = ({ gatewayKeyId }: Issued) => world.gateway.delete(gatewayKeyId);
const unbind = ({ plan, gatewayKeyId }: Issued) => world.gateway.unbind(plan, gatewayKeyId);
/** As in a list. IDs of the same time are in a random order. */
const byId = (one: { keyId: string }, other: { keyId: string }) => (one.keyId > other.keyId ? -1 : 1);
const later = { clock: () => noon + 16 * 60_000 };

describe('repair', () => {
  test('shows and repairs keys that API Gateway has lost, misplaced or replaced, and no others', async () => {
    const healthy = await issue();
    const [lost, unbound, misplaced, replaced] = [await issue(), await issue(), await issue(), await issue()];
    lose(lost);
    unbind(unbound);
    unbind(misplaced);
    world.gateway.bind('enterprise', misplaced.gatewayKeyId);
    const { value } = world.gateway.key(replaced.gatewayKeyId);
    lose(replaced);
    world.gateway.bind('free', world.gateway.create({ value, enabled: true }, noon).id);
    const drifted = [
      { keyId: lost.keyId, drift: 'gateway key' },
      { keyId: unbound.keyId, drift: 'usage plan' },
      { keyId: misplaced.keyId, drift: 'usage plan' },
      { keyId: replaced.keyId, drift: 'record' },
    ].toSorted(byId);
    const before = world.state.items;
    expect(await run('repair --owner Ada --dry-run')).toMatchObject({
      dryRun: true,
      valid: 5,
      drifted,
      repaired: [],
    });
    expect(world.state.items).toEqual(before);
    const repaired = drifted.map(({ keyId }) => keyId);
    expect(await run('repair --owner Ada')).toMatchObject({
      dryRun: false,
      valid: 5,
      drifted,
      repaired,
      disabled: [],
    });
    expect(await run('repair --owner Ada')).toMatchObject({ valid: 5, drifted: [], repaired: [] });
    for (const { key } of [healthy, lost, unbound, misplaced, replaced]) expect(world.call(key)).toBe(200);
  });

  test('leaves revoked, expired and disabled keys as they are, and says which are disabled', async () => {
    const [revoked, expired, disabled] = [await issue(), await issue(), await issue()];
    await run(`revoke ${revoked.keyId}`);
    const next = keysIn((await world.run(['rotate', expired.keyId, '--overlap', '0s'])).stdout)[0]!;
    world.gateway.update(disabled.gatewayKeyId, { enabled: false }, noon);
    const { stderr, ...result } = await run('repair --owner Ada');
    expect(result).toMatchObject({ valid: 2, drifted: [], repaired: [], disabled: [disabled.keyId] });
    expect(stderr).toContain(
      `${disabled.keyId} is disabled in API Gateway: its requests get 401. It was left disabled.`,
    );
    expect([revoked.key, expired.key, disabled.key, next].map((key) => world.call(key))).toEqual([
      401, 401, 401, 200,
    ]);
  });

  test('of one plan leaves the keys on others as they are', async () => {
    const [free, pro] = [await issue(), await issue('pro')];
    for (const issued of [free, pro]) unbind(issued);
    expect(await run('repair --owner Ada --plan pro')).toMatchObject({ valid: 1, repaired: [pro.keyId] });
    expect([world.call(free.key), world.call(pro.key)]).toEqual([401, 200]);
  });

  test('makes the same few calls, however many keys there are', async () => {
    for (let count = 0; count < 8; count += 1) await issue();
    await run('repair --owner Ada');
    expect(world.processes.at(-1)!.calls.length).toBeLessThan(8);
  });
});

describe('cleanup', () => {
  test('says why it deletes API Gateway keys, and leaves those of valid and malformed records', async () => {
    const [revoked, expired, moved, malformed] = [await issue(), await issue(), await issue(), await issue()];
    const copies = world.state.gateway;
    await run(`revoke ${revoked.keyId}`);
    await run(`rotate ${expired.keyId} --overlap 0s`);
    await run(`change-plan ${moved.keyId} --plan pro`);
    const record = world.records.find(({ keyId }) => keyId === malformed.keyId)!;
    world.put('ApiKeys', { ...record, audit: 'gone' });
    for (const key of copies.keys)
      if (!world.gateway.keys().some(({ id }) => id === key.id)) world.gateway.create(key, noon);
    const half = 'key_06fz1m4tqabcdefg';
    world.gateway.create({ name: half, description: 'AnimalStore-local, owner Ada', enabled: true }, noon);
    const atOnce = [
      { keyId: revoked.keyId, reason: 'revoked key' },
      { keyId: expired.keyId, reason: 'expired key' },
    ];
    const found = await run('cleanup --owner Ada');
    expect((found as unknown as { removed: (typeof atOnce)[number][] }).removed.toSorted(byId)).toEqual(
      atOnce.toSorted(byId),
    );
    expect(found.stderr).toContain(`The record of key ${malformed.keyId} is malformed: audit:`);
    const afterwards = [
      { keyId: moved.keyId, reason: 'earlier plan' },
      { keyId: half, reason: 'half-made key' },
    ];
    const { removed } = (await run('cleanup --owner Ada', later)) as unknown as { removed: typeof atOnce };
    expect(removed.toSorted(byId)).toEqual(afterwards.toSorted(byId));
    expect(world.call(moved.key)).toBe(200);
  });
});

test('cleanup keeps the API Gateway key of a change of plan that ends while it looks', async () => {
  const { keyId, key } = await issue();
  const cleanup = await world.start(['cleanup', '--owner', 'Ada'], later);
  await world.meet(cleanup, 'passed');
  expect(cleanup.pending?.operation).toBe('GET /apikeys');
  await run(`change-plan ${keyId} --plan pro`);
  while (cleanup.pending !== undefined) await world.meet(cleanup, 'passed');
  expect(JSON.parse(cleanup.stdout())).toEqual({ removed: [] });
  expect(world.call(key)).toBe(200);
});

test('a creation that takes longer than cleanup waits makes no key valid, and none is shown', async () => {
  let minutes = 0;
  const clock = () => noon + minutes * 60_000;
  const creation = await world.start(['create', '--owner', 'Ada', '--plan', 'free'], { clock });
  expect(creation.pending?.operation).toBe('POST /apikeys');
  minutes = 11;
  while (creation.pending !== undefined) await world.meet(creation, 'passed');
  expect(creation.run).toMatchObject({ exitCode: 1, stdout: '' });
  expect(creation.stderr()).toContain('Run the command again');
  expect([world.records, world.gateway.keys()]).toEqual([[], []]);
});

test('of three rotations at once one shows a key, and the others name the key that they were given', async () => {
  const { keyId, key } = await issue();
  const before = world.shown.length;
  const rotations = await Promise.all([1, 2, 3].map(() => world.start(['rotate', keyId, '--overlap', '0s'])));
  for (const each of rotations)
    while (each.pending !== undefined && each.pending.operation !== 'TransactWriteItems')
      await world.meet(each, 'passed');
  for (const each of rotations) while (each.pending !== undefined) await world.meet(each, 'passed');
  expect(rotations.map(({ run: ended }) => ended?.exitCode)).toEqual([0, 4, 4]);
  const [winner, ...losers] = rotations;
  const [next] = keysIn(winner!.stdout());
  for (const { stdout, stderr } of losers) {
    expect(stdout()).toBe('');
    expect(stderr()).toMatch(new RegExp(`"${keyId} was replaced by key_\\w{16}\\. Rotate that one\\."`));
  }
  expect(world.shown.slice(before)).toEqual([next]);
  expect([world.call(key), world.call(next!)]).toEqual([401, 200]);
});

describe('a key that cannot be written to standard output', () => {
  const closed = { failsToWrite: true };

  test('is revoked again', async () => {
    const { exitCode, stderr } = await world.run(['create', '--owner', 'Ada', '--plan', 'free'], closed);
    const [{ keyId, status, audit } = {}] = world.records;
    expect([exitCode, status, audit?.map(({ did }) => did)]).toEqual([1, 'revoked', ['created', 'revoked']]);
    expect(stderr).toContain(`could not be written to standard output (EPIPE). ${keyId} was revoked.`);
    expect(world.gateway.keys()).toEqual([]);
  });

  test.each(['0s', '1h'])('ends no key that it was to replace, after %s', async (overlap) => {
    const { keyId, key } = await issue();
    const before = world.records[0];
    const { exitCode, stderr } = await world.run(['rotate', keyId, '--overlap', overlap], closed);
    const next = world.records.find((record) => record.keyId !== keyId);
    expect([exitCode, next?.status]).toEqual([1, 'revoked']);
    expect(stderr).toContain(`${next?.keyId} was revoked, and ${keyId} stays as it was.`);
    const { audit, ...after } = world.records.find((record) => record.keyId === keyId)!;
    expect(after).toEqual({ ...before, audit: undefined });
    expect(audit.map(({ did }) => did)).toEqual(['created', 'replaced', 'restored']);
    expect([world.call(key), world.gateway.keys().length]).toEqual([200, 1]);
    expect((await world.run(['rotate', keyId])).exitCode).toBe(0);
  });

  test('is named when it cannot be revoked', async () => {
    const creation = await world.start(['create', '--owner', 'Ada', '--plan', 'free'], closed);
    while (creation.pending !== undefined)
      await world.meet(creation, creation.pending.operation === 'GetItem' ? 'denied' : 'passed');
    expect(creation.run?.exitCode).toBe(5);
    expect(creation.stderr()).toContain(
      `${world.records[0]?.keyId} is valid, but nobody has seen the key. Rotate or revoke it.`,
    );
  });
});

test.each([
  [4, 0],
  [5, 4],
])('a revocation that is overtaken %d times ends with %d', async (times, exitCode) => {
  const { keyId, key } = await issue();
  const revocation = await world.start(['revoke', keyId]);
  let left = times;
  while (revocation.pending !== undefined) {
    if (revocation.pending.operation === 'TransactWriteItems' && (left -= 1) >= 0)
      await run(`change-plan ${keyId} --plan ${left % 2 === 0 ? 'pro' : 'free'}`);
    await world.meet(revocation, 'passed');
  }
  expect(revocation.run).toMatchObject({ exitCode });
  if (exitCode === 0) expect(world.gateway.keys()).toEqual([]);
  else
    expect(revocation.stderr()).toContain(
      `${keyId} was changed or removed by someone else. Look at it and try again.`,
    );
  expect(world.call(key)).toBe(exitCode === 0 ? 401 : 200);
});

test.each([
  [['--shorten'], 0, '"suspendedUntil": "2026-07-02T13:00:30Z"'],
  [[], 4, 'is suspended indefinitely, which is longer. To end that earlier, add --shorten.'],
])('a suspension %j that a longer one overtakes ends with %d', async (options, exitCode, said) => {
  const { keyId } = await issue();
  const suspension = await world.start(['suspend', keyId, '--for', '1h', ...options]);
  while (suspension.pending !== undefined) {
    const isFirst = suspension.calls.every(([name]) => name !== 'UpdateItem');
    if (isFirst && suspension.pending.operation === 'UpdateItem') await run(`suspend ${keyId}`);
    await world.meet(suspension, 'passed');
  }
  expect(suspension.run).toMatchObject({ exitCode });
  expect(suspension.stdout() + suspension.stderr()).toContain(said);
  const until = exitCode === 0 ? noon / 1000 + 3_600 : 253_402_300_799;
  expect(world.suspensionOf(world.records[0]!)).toBe(until);
});

describe('forget', () => {
  const everything = () => JSON.stringify(world.state);

  test('deletes the name and the notes of an owner, and keeps the keys by their IDs', async () => {
    const [revoked, expired] = [await issue('free --note ring-Ada'), await issue()];
    const other = (await run('create --owner Grace --plan free')) as unknown as Issued;
    const { keyId: next } = (await run(`rotate ${expired.keyId} --overlap 0s`)) as unknown as Issued;
    for (const keyId of [revoked.keyId, next]) await run(`revoke ${keyId}`);
    // Left over by a command that ended half way.
    const description = 'AnimalStore-local, owner Ada';
    world.gateway.create({ name: 'key_06fz1m4tqabcdefg', description, enabled: true }, noon - 3_600_000);
    const ids = [revoked.keyId, expired.keyId, next].toSorted().toReversed();
    const before = everything();
    const dry = (await run('forget --owner Ada --dry-run')) as unknown as { keys: string[] };
    expect(dry.keys.toSorted().toReversed()).toEqual(ids);
    expect(everything()).toBe(before);
    const { stderr } = await run('forget --owner Ada');
    expect(everything()).not.toContain('Ada');
    for (const keyId of ids) {
      expect(stderr).toContain(`"did":"forgot the owner","detail":null,"keyId":"${keyId}"`);
      expect(world.records.find((record) => record.keyId === keyId)).toMatchObject({ owner: '(deleted)' });
    }
    expect(world.call(revoked.key)).toBe(401);
    expect(world.call(other.key)).toBe(200);
    expect((await world.run(['forget', '--owner', 'Ada'])).exitCode).toBe(3);
  });

  test('is refused while a key is valid, and changes nothing', async () => {
    const [valid, revoked] = [await issue(), await issue()];
    await run(`revoke ${revoked.keyId}`);
    const before = everything();
    const { exitCode, stderr } = await world.run(['forget', '--owner', 'Ada']);
    expect([exitCode, everything()]).toEqual([4, before]);
    expect(stderr).toContain(`The owner has 1 valid key. Revoke first: ${valid.keyId}.`);
  });

  test('says that a key which may be on its way still has the name', async () => {
    const { keyId } = await issue();
    await run(`revoke ${keyId}`);
    const description = 'AnimalStore-local, owner Ada';
    world.gateway.create({ name: 'key_06fz1m4tqabcdefg', description, enabled: true }, noon);
    const { exitCode, stdout, stderr } = await world.run(['forget', '--owner', 'Ada']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(stderr).toContain('Run the same command again in 15 minutes.');
    expect(await run('forget --owner Ada', later)).toMatchObject({ keys: [] });
    expect(everything()).not.toContain('Ada');
  });
});

describe('a plan that is not deployed yet', () => {
  const notYet = 'Plan business is not deployed in stage local. Deploy the stage first.';
  const withoutBusiness = () => {
    const { UsagePlanIdBusiness: _, ...others } = world.outputs;
    world.outputs = others;
  };

  test('stops no command about keys on other plans', async () => {
    const { keyId } = await issue();
    withoutBusiness();
    const { keyId: next } = (await run(`rotate ${keyId}`)) as unknown as { keyId: string };
    for (const command of [
      `change-plan ${next} --plan pro`,
      `suspend ${next}`,
      `resume ${next}`,
      `show ${next}`,
      `usage ${next}`,
      'list --owner Ada',
      'list --plan business',
      'repair --owner Ada',
      'cleanup --owner Ada',
      `revoke ${next}`,
      'create --owner Ada --plan free',
    ])
      expect(await world.run(command.split(' '))).toMatchObject({ exitCode: 0 });
  });

  test.each(['create --owner Ada --plan business', 'change-plan ID --plan business'])(
    'is refused, and nothing is changed: %s',
    async (command) => {
      const { keyId } = await issue();
      const before = world.state;
      withoutBusiness();
      const { exitCode, stdout, stderr } = await world.run(command.replace('ID', keyId).split(' '));
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
      expect(stderr).toContain(notYet);
      expect({ ...world.state, granted: [] }).toEqual({ ...before, granted: [] });
      expect(world.processes.at(-1)!.calls.some(([operation]) => operation.startsWith('POST'))).toBe(false);
    },
  );
});

test('a key can be revoked without the output for the authorizer, whose cache then ends by itself', async () => {
  const { keyId, key } = await issue();
  const { RestApiId: _, ...others } = world.outputs;
  world.outputs = others;
  const { stderr } = await run(`revoke ${keyId}`);
  expect(stderr).toContain('It applies within 60 s, when the cache of the authorizer expires.');
  expect(world.call(key)).toBe(401);
});

test('a full audit trail takes only a change that ends the key, or a repair', async () => {
  const full = await issue();
  const [record] = world.records;
  world.put('ApiKeys', { ...record, audit: Array.from({ length: 1_000 }, () => record!.audit[0]) });
  unbind(full);
  const refused = await world.run(['change-plan', full.keyId, '--plan', 'pro']);
  expect(refused.exitCode).toBe(4);
  expect(refused.stderr).toContain(
    `The audit trail of ${full.keyId} is full (1000 lines). Rotate or revoke the key.`,
  );
  expect(await run('repair --owner Ada')).toMatchObject({ repaired: [full.keyId] });
  expect((await world.run(['rotate', full.keyId])).exitCode).toBe(0);
  expect(await run(`revoke ${full.keyId}`)).toMatchObject({ changed: true });
});

test('the limits of a key are in its audit trail, and end with the custom plan', async () => {
  const { keyId } = await issue('enterprise --per-minute 7 --per-day 70');
  expect(world.records).toMatchObject([
    { perMinute: 7, audit: [{ detail: 'enterprise (7 a minute, 70 a day)' }] },
  ]);
  await run(`change-plan ${keyId} --plan pro`);
  expect(world.records[0]).not.toHaveProperty('perMinute');
});

test('a change keeps attributes that this version does not know', async () => {
  const { keyId } = await issue();
  world.put('ApiKeys', { ...world.records[0], future: 7 });
  await run(`change-plan ${keyId} --plan pro`);
  expect(world.records).toMatchObject([{ plan: 'pro', future: 7 }]);
});

test('a command about a key that does not exist ends with 3', async () => {
  const message = 'Key key_06fz1m4tqabcdefg does not exist in stage local. "list" shows all.';
  const { exitCode, stderr: said } = await world.run(['show', 'key_06fz1m4tqabcdefg']);
  expect([exitCode, JSON.parse(said)]).toEqual([3, { error: { code: 'not_found', message } }]);
});

/** A key, a hash, or what had to be redacted. */
const secret = /as_local_|[0-9a-f]{64}|\[redacted\]/i;

test.each([[[]], [['--json']]])(
  'no key and no hash is in any output but the line of a new key: %j',
  async (format) => {
    world = new World(nothing, format);
    const secrets: string[] = [];
    /** The ID of the key that a command shows. */
    const reveal = async (args: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await world.run(args);
      const [key = ''] = keysIn(stdout);
      secrets.push(key);
      expect(stdout.split('\n').filter((line) => line.includes(key))).toHaveLength(1);
      expect(stdout.replace(key, '') + stderr).not.toMatch(secret);
      expect(stderr).toContain('API Gateway can need some seconds');
      return /key_[0-9a-z]{16}/.exec(stdout)![0];
    };
    const old = await reveal(['create', '--owner', 'Ada', '--plan', 'free', '--note', 'a note']);
    const next = await reveal(['rotate', old, '--overlap', '1h']);
    for (const command of [
      ...['show', 'usage', 'suspend', 'rotate', 'resume', 'revoke', 'revoke'].map((name) => `${name} ${old}`),
      `change-plan ${next} --plan pro`,
      'list --owner Ada',
      'identify',
      'repair --owner Ada',
      'cleanup --owner Ada',
    ]) {
      const { stdout, stderr } = await world.run(command.split(' '), { input: `Bearer ${secrets[0]}\n` });
      expect(stdout + stderr).not.toBe('');
      // Nothing had to be redacted.
      expect(stdout + stderr).not.toMatch(secret);
    }
  },
);
