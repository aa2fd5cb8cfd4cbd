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
    // All records, because no index has those of plans whose names are not known.
    [{}, 'Scan', 150],
    [{ owner: 'owner-1' }, 'Query', 6],
    [{ plan: 'pro' }, 'Query', 6],
    [{ status: 'revoked' }, 'Scan', 150],
  ] as const)('of %o reads no more than it needs', async (filter, operation, items) => {
    const world = newWorld();
    const { calls } = await list(world, filter, 5);
    const reads = calls.filter(({ service }) => service === 'DynamoDB');
    expect(new Set(reads.map((call) => call.operation))).toEqual(new Set([operation, 'BatchGetItem']));
    const counts = reads.flatMap(({ outcome = '' }) => /"ScannedCount":(\d+)/.exec(outcome)?.[1] ?? []);
    expect(counts).toHaveLength(1);
    expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBeLessThanOrEqual(items);
    const batches = reads.filter((call) => call.operation === 'BatchGetItem');
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

test('a malformed record is named by its ID and left out', async () => {
  const world = new World({ isChecked: false });
  const [good1, damaged, withoutPlan] = [await issue(world), await issue(world), await issue(world)];
  const record = recordOf(world, damaged.keyId);
  world.put('apiKeys', { ...record, audit: 'gone' });
  world.put('apiKeys', { ...recordOf(world, withoutPlan.keyId), plan: undefined });
  const listed = await world.run('keys list --json');
  expect(JSON.parse(listed.stdout)).toMatchObject({ keys: [{ keyId: good1.keyId }], hasMore: false });
  expect(listed.stderr).toContain(`The record of key ${damaged.keyId} is malformed: audit:`);
  // No index has it.
  expect(listed.stderr).toContain(`The record of key ${withoutPlan.keyId} is malformed: plan: is required`);
  expect(listed.stderr).not.toContain(record.keyHash);
  const missing = await world.run('keys show key_06fz1m4tqabcdefg --json');
  const message = 'Key key_06fz1m4tqabcdefg does not exist in stage local. "list" shows all.';
  expect([missing.exitCode, JSON.parse(missing.stderr)]).toEqual([
    3,
    { error: { code: 'not_found', message } },
  ]);
});

describe('a key of a plan that this version does not know', () => {
  const text =
    'This version of the tool does not know the limits of 1 plan: gold. To see them, use a checkout that has the plan.\n';

  async function withGold({ deployed }: { readonly deployed: boolean }) {
    const world = new World({ isChecked: false });
    const { keyId } = await issue(world);
    const { gatewayKeyId } = recordOf(world, keyId);
    world.put('apiKeys', { ...recordOf(world, keyId), plan: 'gold' });
    if (deployed) {
      world.outputs = { ...world.outputs, UsagePlanIdGold: 'gold' };
      const gold = { ...world.apiKeys.plans()[0]!, id: 'gold', name: 'gold' };
      world.apiKeys.setPlans([...world.apiKeys.plans(), gold]);
      world.apiKeys.unbind('free', gatewayKeyId);
      world.apiKeys.bind('gold', gatewayKeyId);
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
          expect(keys).toContainEqual(expect.objectContaining({ keyId, plan: 'gold', ...limits }));
        expect({ exitCode, count: keys.length }).toEqual({
          exitCode: 0,
          count: filter === '--limit 1' ? 1 : 2,
        });
        if (filter === '') expect(JSON.parse(stderr)).toEqual({ note: text.trim() });
      }
      const shown = await world.run(`keys show ${keyId}`);
      expect(shown).toMatchObject({ exitCode: 0, stderr: text });
      expect(shown.stdout).toMatch(/^plan +gold\n(.*\n)?per minute +-\nper day +-$/m);
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
    expect(rotated.stdout).toContain('Plan    gold: limits that this version of the tool does not know\n');
    const next = /key_\w{16}/.exec(rotated.stdout)![0];
    expect(recordOf(world, next).plan).toBe('gold');
    expect(await resultOf(world.run(`keys change-plan ${next} --plan pro --json`))).toMatchObject({
      changed: true,
    });
    expect(recordOf(world, next).audit.at(-1)).toMatchObject({ detail: 'gold → pro' });
  });

  test('is left as it is by a repair where its plan is not deployed, and named, and the others are repaired', async () => {
    const { world, keyId } = await withGold({ deployed: false });
    const { keyId: other } = await issue(world, '--owner Ada --plan pro');
    world.apiKeys.unbind('pro', recordOf(world, other).gatewayKeyId);
    const { stdout, stderr } = await world.run('keys repair --json');
    expect(JSON.parse(stdout)).toMatchObject({ valid: 2, repaired: [other] });
    expect(stderr).toContain(
      `${keyId} was left as it is, because its plan gold is not deployed in this stage.`,
    );
    const refused = await world.run(`keys rotate ${keyId}`);
    expect(refused).toMatchObject({ exitCode: 4, stdout: '' });
    expect(refused.stderr).toContain('Plan gold is not deployed in stage local.');
  });
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
