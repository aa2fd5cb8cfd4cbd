import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { rounds } from '../../support/rounds.ts';
import { resultOf } from './issued-keys.ts';
import { World } from '../world.ts';

describe('list', () => {
  const statuses = ['active', 'suspended', 'expired', 'revoked'] as const;
  const owners = ['owner-0', 'owner-6'] as const;
  type Filter = { readonly owner?: string; readonly plan?: string; readonly status?: string };
  let stored: World;
  /** What the keys are, newest first. */
  let all: readonly Required<Filter & { readonly keyId: string }>[];

  /** Stores keys of every plan, owner and status, a second apart. */
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
    // It reads all records, because no index has those of plans whose names are not known.
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
    // The second call reads this one first.
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
    });
  });
});
