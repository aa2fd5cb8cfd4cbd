import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { rounds } from '../../support/rounds.ts';
import { good, issue, recordOf, resultOf, timeText, usageOf } from './keys.ts';
import { World } from '../world.ts';

// `list`, `show`, `usage` and `identify`: docs/keys.md.

describe('show', () => {
  test('has the plan, the use, the suspension and the audit trail of a key', async () => {
    const world = new World({ isChecked: false, at: '2026-07-01T12:00:12Z' });
    const { keyId, key } = await issue(world, '--owner Ada --plan enterprise --per-minute 2 --per-day 1000');
    const show = () => resultOf(world.run(`keys show ${keyId} --json`));
    const created = '2026-07-01T12:00:12Z';
    const unused = { usedThisMinute: 0, usedToday: 0, rejectedThisMinute: 0, deprecatedCalls: 0 };
    const by = expect.stringMatching(/@/) as string;
    const is = { keyId, status: 'active', owner: 'Ada', plan: 'enterprise', perMinute: 2, perDay: 1_000 };
    const isNot = { note: null, expiresAt: null, lastUsedAt: null, replaces: null, replacedBy: null };
    const audit = [{ at: created, by, did: 'created', detail: 'enterprise (2 a minute, 1000 a day)' }];
    expect(await show()).toEqual({
      ...is,
      ...isNot,
      ...unused,
      createdAt: created,
      suspendedUntil: null,
      audit,
    });
    await world.send(key, 'GET /pets/1');
    await world.sendAll(2, key);
    world.wait(10);
    await world.sendAll(3, key);
    // The limiter stores the minute only, which began before the key was created.
    const used = { lastUsedAt: created, usedThisMinute: 2, usedToday: 2, deprecatedCalls: 1 };
    expect(await show()).toMatchObject({ ...used, rejectedThisMinute: 3 });
    world.wait(60);
    expect(await show()).toMatchObject({ usedThisMinute: 0, usedToday: 2, rejectedThisMinute: 0 });
    await world.run(`keys suspend ${keyId} --for 1h`);
    expect(await show()).toMatchObject({ status: 'suspended', suspendedUntil: timeText(world.now + 3_600) });
    world.wait(3_600);
    expect(await show()).toMatchObject({
      status: 'active',
      suspendedUntil: null,
      ...unused,
      usedToday: 2,
      deprecatedCalls: 1,
    });
    world.wait(86_400);
    expect(await show()).toMatchObject({ usedToday: 0, lastUsedAt: created });
    await world.send(key);
    expect(await show()).toMatchObject({ lastUsedAt: '2026-07-02T13:01:00Z' });
  });

  test('of rotated and revoked keys has their states, which go before a suspension', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    await world.run(`keys suspend ${keyId}`);
    const { keyId: next } = await resultOf(world.run(`keys rotate ${keyId} --overlap 1h --json`));
    const statusOf = async (id: unknown) =>
      (await resultOf(world.run(`keys show ${id as string} --json`)))['status'];
    world.wait(3_599);
    expect([await statusOf(keyId), await statusOf(next)]).toEqual(['suspended', 'active']);
    world.wait(1);
    expect([await statusOf(keyId), await statusOf(next)]).toEqual(['expired', 'active']);
    await world.run(`keys revoke ${keyId}`);
    expect(await statusOf(keyId)).toBe('revoked');
  });

  test('prints a line for each value with its label, then who did what and when', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { stdout } = await world.run(`keys show ${keyId}`);
    expect(stdout).toMatch(new RegExp(`^key id +${keyId}$`, 'm'));
    expect(stdout).toMatch(/^used this minute +0$/m);
    expect(stdout).toMatch(/^per day +1,000$/m);
    expect(stdout).toMatch(/^note +-$/m);
    expect(stdout).toMatch(/\n\nWHEN +WHO +WHAT\n2026-07-01T12:00:00Z +\S+ +created free\n$/);
  });
});

describe('usage', () => {
  test('has the requests of each day, today included, of the days that are asked for', async () => {
    const world = new World({ isChecked: false });
    const { keyId, key } = await issue(world);
    await world.sendAll(3, key);
    world.wait(86_400);
    await world.send(key);
    const days = [
      { date: '2026-06-30', requests: 0 },
      { date: '2026-07-01', requests: 3 },
      { date: '2026-07-02', requests: 1 },
    ];
    const usage = (options: string) => world.run(`keys usage ${keyId} ${options}`);
    expect(await resultOf(usage('--days 3 --json'))).toEqual({ keyId, days });
    expect((await resultOf(usage('--json')))['days']).toHaveLength(7);
    expect((await usage('--days 2')).stdout).toBe('DAY (UTC)   REQUESTS\n2026-07-01  3\n2026-07-02  1\n');
  });

  test('says if API Gateway has no counts', async () => {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { gatewayKeyId } = recordOf(world, keyId);
    const none = { exitCode: 0, stdout: `API Gateway has no counts for ${keyId}.\n` };
    world.apiKeys.unbind('free', gatewayKeyId);
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject(none);
    world.meets = ({ operation }) => (operation.endsWith('/usage') ? 'denied' : 'answered');
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject({ exitCode: 1, stdout: '' });
    world.meets = () => 'answered';
    world.apiKeys.setPlans(world.apiKeys.plans().filter(({ id }) => id !== 'free'));
    expect(await world.run(`keys usage ${keyId}`)).toMatchObject(none);
  });
});

test('identify names the owner and the status of a key, and says what is wrong with a text that is none', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  const identify = (piped: string, options = '') => world.run(`keys identify ${options}`, { piped });
  expect(await identify(`  ${key}\n`)).toMatchObject({ exitCode: 0, stdout: `${keyId} of Ada, active\n` });
  expect(await resultOf(identify(`Bearer ${key}\n`, '--json'))).toEqual({
    keyId,
    owner: 'Ada',
    status: 'active',
  });
  for (const [text, exitCode, said] of [
    ['', 2, 'Standard input is empty. Paste the API key, or pipe it in.'],
    [`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`, 2, 'its form or its checksum is wrong.'],
    [newKey('prod'), 2, 'The API key is one of stage prod. Use --stage prod.'],
    [newKey('local'), 3, 'Stage local never issued this API key.'],
  ] as const) {
    const run = await identify(text);
    expect([run.exitCode, run.stdout]).toEqual([exitCode, '']);
    expect(run.stderr).toContain(said);
  }
  const asked = await world.run('keys identify', { piped: key, typed: [] });
  expect(asked).toMatchObject({ exitCode: 0, stderr: 'Paste the API key, then press Enter and Ctrl-D.\n' });
});

describe('list', () => {
  const statuses = ['active', 'suspended', 'expired', 'revoked'] as const;
  const owners = ['owner-0', 'owner-6'] as const;
  type Filter = { readonly owner?: string; readonly plan?: string; readonly status?: string };
  let stored: World;
  /** What the keys are, newest first. */
  let all: readonly Required<Filter & { readonly keyId: string }>[];

  /** Of every plan, owner and status, a second apart. */
  beforeAll(() => {
    stored = new World({ isChecked: false });
    all = Array.from({ length: 150 }, (_, index) => {
      const keyId = `key_06fz1m4tq${String(index).padStart(7, '0')}`;
      const keyHash = hashOfKey(keyId);
      const status = index % 13 === 5 ? 'revoked' : 'active';
      const ends = index % 17 === 2 ? -10 : index % 17 === 4 ? 0 : index % 17 === 6 ? 10 : undefined;
      const plan = planNames[(index * 5 + Math.floor(index / 11)) % planNames.length]!;
      const owner = `owner-${index % 7}`;
      const createdAt = stored.now - 150 + index;
      const record = { keyHash, keyId, owner, plan, status, createdAt, gatewayKeyId: 'g', audit: [] };
      stored.put('apiKeys', { ...record, ...(ends !== undefined && { expiresAt: stored.now + ends }) });
      const isSuspended = index % 6 === 1;
      if (index % 6 < 3)
        stored.put('rateLimits', { keyHash, suspendedUntil: stored.now + (isSuspended ? 60 : 0) });
      const isExpired = ends !== undefined && ends <= 0;
      const is = isExpired ? 'expired' : isSuspended ? 'suspended' : 'active';
      return { keyId, owner, plan, status: status === 'revoked' ? 'revoked' : is };
    }).toReversed();
  });
  const newWorld = () => new World({ isChecked: false, from: stored });
  const list = (world: World, filter: Filter, limit: number, options = '') => {
    const given = Object.entries(filter).map(([name, value]) => `--${name} ${value}`);
    return world.run(['keys list', ...given, `--limit ${limit}`, options].join(' '));
  };

  test('has the newest keys that match the filter, and says whether there are more', async () => {
    const world = newWorld();
    const filter = fc.record(
      {
        owner: fc.constantFrom(...owners, 'nobody'),
        plan: fc.constantFrom(...planNames),
        status: fc.constantFrom(...statuses),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(filter, fc.integer({ min: 1, max: 100 }), async (wanted, limit) => {
        const { keys, hasMore } = await resultOf(list(world, wanted, limit, '--json'));
        const matching = all.filter((key) =>
          Object.entries(wanted).every(([name, value]) => key[name as keyof Filter] === value),
        );
        expect((keys as typeof all).map(({ keyId, status }) => [keyId, status])).toEqual(
          matching.slice(0, limit).map(({ keyId, status }) => [keyId, status]),
        );
        expect(hasMore).toBe(matching.length > limit);
      }),
      { numRuns: rounds({ full: 50, sample: 20 }), examples: [[{ owner: 'owner-0', plan: 'pro' }, 3]] },
    );
  });

  test.each([
    // A page from each plan.
    [{}, planNames.length, planNames.length * 6],
    [{ owner: 'owner-1' }, 1, 6],
    [{ plan: 'pro' }, 1, 6],
    [{ status: 'revoked' }, planNames.length, 150],
  ] as const)('of %o reads no more than it needs', async (filter, queries, items) => {
    const world = newWorld();
    const { calls } = await list(world, filter, 5);
    const reads = calls.filter(({ service }) => service === 'DynamoDB');
    expect(new Set(reads.map(({ operation }) => operation))).toEqual(new Set(['Query', 'BatchGetItem']));
    const counts = reads.flatMap(({ outcome = '' }) => /"ScannedCount":(\d+)/.exec(outcome)?.[1] ?? []);
    expect(counts).toHaveLength(queries);
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBeLessThanOrEqual(items);
    const batches = reads.filter(({ operation }) => operation === 'BatchGetItem');
    expect(batches.length).toBe(filter === undefined || !('status' in filter) ? 1 : 2);
    for (const { input } of batches)
      expect(input).toMatchObject({ RequestItems: { RateLimits: { ConsistentRead: true } } });
  });

  test('has the state of each of more keys than DynamoDB reads at once', async () => {
    const world = newWorld();
    const { keys, hasMore } = await resultOf(list(world, { status: 'suspended' }, 100, '--json'));
    const suspended = all.filter(({ status }) => status === 'suspended').map(({ keyId }) => keyId);
    expect([(keys as typeof all).map(({ keyId }) => keyId), hasMore]).toEqual([suspended, false]);
    // The first that is read by the second call.
    expect(suspended).toContain(all[100]!.keyId);
  });

  test('says that there are more also when as many as wanted end a page of DynamoDB', async () => {
    const world = new World({ isChecked: false });
    for (let index = 0; index <= 1_000; index += 1) {
      const keyId = `key_06fz1m4tq${String(index).padStart(7, '0')}`;
      const record = { keyHash: hashOfKey(keyId), keyId, owner: 'Ada', plan: 'pro', status: 'active' };
      world.put('apiKeys', { ...record, createdAt: world.now, gatewayKeyId: 'g', audit: [] });
    }
    const { keys, hasMore } = await resultOf(list(world, { plan: 'pro' }, 1_000, '--json'));
    expect([(keys as typeof all).length, hasMore]).toEqual([1_000, true]);
  });

  test('reads what DynamoDB leaves out of a batch again', async () => {
    const world = newWorld();
    const wanted = await resultOf(list(world, {}, 5, '--json'));
    world.meets = ({ operation }, number) =>
      operation === 'BatchGetItem' && number < 7 ? 'unprocessed' : 'answered';
    expect(await resultOf(list(world, {}, 5, '--json'))).toEqual(wanted);
    expect(
      world.runs.at(-1)!.calls.filter(({ operation }) => operation === 'BatchGetItem').length,
    ).toBeGreaterThan(1);
  });

  test('prints a table, and a note if there are more', async () => {
    const world = newWorld();
    const { stdout, stderr } = await list(world, { owner: 'owner-3' }, 2);
    const [head, first, second, end] = stdout.split('\n');
    expect(head).toMatch(/^KEY ID +STATUS +PLAN +CREATED AT +LAST USED AT +OWNER +NOTE$/);
    for (const [index, line] of [first, second].entries())
      expect(line).toMatch(
        new RegExp(`^${all.filter(({ owner }) => owner === 'owner-3')[index]!.keyId} +\\w+ .* owner-3 +-$`),
      );
    expect(end).toBe('');
    expect(stderr).toBe('There are more. To see them, use --limit or a filter.\n');
    const { length } = all.filter(({ owner }) => owner === 'owner-3');
    expect(await list(world, { owner: 'owner-3' }, length)).toMatchObject({ stderr: '' });
    expect((await list(world, { owner: 'owner-3' }, 2, '--json')).stderr).toBe('');
    expect(await list(world, { owner: 'nobody' }, 5)).toMatchObject({
      exitCode: 0,
      stdout: 'No keys.\n',
      stderr: '',
    });
  });
});

test('a malformed record is named by its ID and left out, and one with an unknown plan asks for another version', async () => {
  const world = new World({ isChecked: false });
  const [good1, damaged, unknown] = [await issue(world), await issue(world), await issue(world)];
  const record = recordOf(world, damaged.keyId);
  world.put('apiKeys', { ...record, audit: 'gone' });
  world.put('apiKeys', { ...recordOf(world, unknown.keyId), plan: 'gold' });
  const listed = await world.run('keys list --owner Ada --json');
  expect(JSON.parse(listed.stdout)).toMatchObject({ keys: [{ keyId: good1.keyId }], hasMore: false });
  expect(listed.stderr).toContain(`The record of key ${damaged.keyId} is malformed: audit:`);
  expect(listed.stderr).not.toContain(record.keyHash);
  const shown = await world.run(`keys show ${unknown.keyId}`);
  expect(shown).toMatchObject({ exitCode: 1, stdout: '' });
  expect(shown.stderr).toBe(
    `The plan "gold" of key ${unknown.keyId} is unknown to this version of the tool. Run the command in a checkout that has the plan.\n`,
  );
  const missing = await world.run('keys show key_06fz1m4tqabcdefg --json');
  const message = 'Key key_06fz1m4tqabcdefg does not exist in stage local. "list" shows all.';
  expect([missing.exitCode, JSON.parse(missing.stderr)]).toEqual([
    3,
    { error: { code: 'not_found', message } },
  ]);
});

test('one key is found by one query and read once, consistently', async () => {
  const world = new World({ isChecked: false });
  const { keyId, key } = await issue(world);
  await world.run(`keys suspend ${keyId}`);
  expect(usageOf(world, key)['suspendedUntil']).toBe(good);
  const { calls } = await world.run(`keys show ${keyId}`);
  expect(
    calls.map(({ operation, input }) => [operation, JSON.stringify(input).includes('"ConsistentRead":true')]),
  ).toEqual([
    ['DescribeStacks', false],
    ['Query', false],
    ['GetItem', true],
    ['BatchGetItem', true],
  ]);
});
