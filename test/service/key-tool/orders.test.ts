import { beforeAll, expect, test } from 'vitest';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { fixedPlans } from '../../../functions/access/plans.ts';
import { isFullRun } from '../../support/rounds.ts';
import { checkCompleted, checkEnd } from './keys.check.ts';
import { decides, exitCodeAfter, type KeyFault, keyFaults, leftOvers, type Stored } from './keys.model.ts';
import { issue, recordOf, storedOf } from './issued-keys.ts';
import type { Run } from '../commands.ts';
import { explore } from '../explore.ts';
import { World } from '../world.ts';

/**
 * Commands about a key beside each other, in every order of their calls of DynamoDB and API Gateway, and commands of which a call meets
 * a fault. What has to hold is in keys.check.ts.
 */

const quarter = 16 * 60;
const stateNames = [
  'new',
  'active',
  'suspended',
  'lost',
  'unbound',
  'misplaced',
  'made by hand',
  'left over',
] as const;
type StateName = (typeof stateNames)[number];
const states = {} as Record<StateName, World>;
/** The ID of Ada's key. */
let id: string;
/** The key of the other owner, and that of Ada. */
let shown: readonly [string, string];

/** The states in which commands find the key of Ada. Another owner has the same beside her. */
beforeAll(async () => {
  const world = new World({ isChecked: false, at: '2026-07-02T11:44:30Z' });
  const leaveOver = (owner: string) => {
    const description = `AnimalStore-local, owner ${owner}`;
    world.apiKeys.create({
      name: 'key_0000000000000000',
      description,
      value: hashOfKey(owner),
      enabled: true,
    });
  };
  const other = await issue(world, '--owner Ada-Lovelace --plan free --note a-note');
  leaveOver('Ada-Lovelace');
  const after = async (change: (changed: World) => unknown, from = world) => {
    const changed = new World({ isChecked: false, from });
    await change(changed);
    return changed;
  };
  states.new = await after(() => {});
  const { keyId, key } = await issue(world, '--owner Ada --plan free --note a-note');
  [id, shown] = [keyId, [other.key, key]];
  states.active = await after(() => {});
  leaveOver('Ada');
  world.wait(quarter);
  states['left over'] = await after(() => {});
  states.active.wait(quarter);
  const { gatewayKeyId } = recordOf(world, id);
  const from = (change: (changed: World) => unknown) => after(change, states.active);
  states.suspended = await from((changed) => changed.run(`keys suspend ${id}`));
  // Its API Gateway key has a value of its own.
  states.lost = await from(async (changed) => {
    await changed.run(`keys change-plan ${id} --plan pro`);
    changed.apiKeys.delete(recordOf(changed, id).gatewayKeyId);
  });
  states.unbound = await from(({ apiKeys }) => apiKeys.unbind('free', gatewayKeyId));
  states.misplaced = await from(({ apiKeys }) => {
    apiKeys.unbind('free', gatewayKeyId);
    apiKeys.bind('pro', gatewayKeyId);
  });
  states['made by hand'] = await from(({ apiKeys }) => {
    apiKeys.delete(gatewayKeyId);
    apiKeys.bind('free', apiKeys.create({ name: id, value: hashOfKey(key), enabled: true }).id);
  });
});

/** A command as a test names it, about the key of Ada. */
function commandOf(text: string): string {
  const [name = '', ...options] = text.split(' ');
  const about =
    name === 'create' ? '--owner Ada --note a-note' : /^(repair|cleanup)$/.test(name) ? '--owner Ada' : id;
  return ['keys', name, about, ...options, '--json'].join(' ');
}

const shownIn = (state: StateName) => (state === 'new' ? shown.slice(0, 1) : shown);

/** Runs the commands again that did not end well, and `cleanup`. */
async function complete(world: World, before: readonly string[], runs: readonly Run[]): Promise<void> {
  const all = [...runs];
  const again = async (command: string, ...codes: readonly number[]) => {
    const run = await world.run(command);
    all.push(run);
    expect([...codes, run.stderr]).toContain(run.exitCode);
    return run.stderr;
  };
  const failed = runs.filter(({ exitCode }) => exitCode === undefined || exitCode % 4 !== 0);
  for (const { command, stderr } of failed) {
    // The message of an unknown outcome says to do this.
    const [, unseen] = /Run \\"show (key_\w+)\\"\. If it exists, revoke it/.exec(stderr) ?? [];
    if (unseen !== undefined) await again(`keys revoke ${unseen} --json`, 0, 3);
    // What was done already is refused.
    const said = await again(command, 0, 4);
    const [, successor] = /replaced by (key_\w+)\. If it has leaked/.exec(said) ?? [];
    if (successor !== undefined) await again(`keys rotate ${successor} --overlap 0s --json`, 0);
    if (command.startsWith('keys revoke')) await checkCompleted(world, before, all);
  }
  if (failed.length === 0 && leftOvers(storedOf(world), 'Ada').length === 0) return;
  world.wait(quarter);
  await again('keys cleanup --owner Ada --json', 0);
  await checkCompleted(world, before, all);
}

/** Runs commands in every order of their calls. @param crashes whether one of them ends half way. @returns the number of orders */
function inEveryOrder(commands: readonly string[], state: StateName, crashes: boolean): Promise<number> {
  const from = states[state];
  const before = storedOf(from);
  return explore({
    from,
    isChecked: false,
    steps: commands.map(commandOf).map((command) => (world) => world.run(command)),
    ...(crashes && { faults: 1, kinds: ['crashedBefore'] as const }),
    afterwards: [
      async (world) => {
        const runs = [...world.runs];
        for (const { exitCode } of runs)
          if (!crashes) expect(commands.length > 1 ? [0, 4] : [0]).toContain(exitCode);
        await checkEnd(world, before, shownIn(state), runs);
        await complete(world, shownIn(state), runs);
      },
    ],
  });
}

type Single = readonly [command: string, state: StateName];
const singles: readonly Single[] = [
  ['create --plan pro', 'new'],
  ['rotate --overlap 0s', 'active'],
  ['change-plan --plan enterprise --per-minute 7 --per-day 70', 'active'],
  ['revoke', 'active'],
  ['suspend', 'active'],
  ['resume', 'suspended'],
  ['repair', 'lost'],
  ['repair', 'misplaced'],
  ['cleanup', 'left over'],
  ...(isFullRun
    ? ([
        ['repair', 'unbound'],
        ['repair', 'made by hand'],
      ] as const)
    : []),
];

test.each(singles)('%s of a key that is %s, whose process ends before any call', async (command, state) => {
  expect(await inEveryOrder([command], state, true)).toBeGreaterThan(4);
});

/** No transaction writes suspensions. */
const fates = (operation: string) =>
  ({
    lost: 'lostAfter',
    unreadable: 'unreadableAfter',
    conflict: operation === 'UpdateItem' ? 'throttled' : 'conflict',
    denied: 'denied',
  }) as const;

/** What calls meet if one of them meets a fault. @param number of that call */
function meeting(fault: KeyFault, number: number): World['meets'] {
  let stuck: string | undefined;
  return ({ operation }, count) => {
    if (count < number) return 'answered';
    if (fault === 'stuck') {
      stuck ??= operation;
      return stuck === operation ? 'lostBefore' : 'answered';
    }
    if (fault === 'last') return count === number ? 'lostAfter' : 'denied';
    if (count > number) return 'answered';
    return fates(operation)[fault];
  };
}

const isRead = (operation: string) => /^(GET |Query|GetItem|BatchGetItem|DescribeStacks)/.test(operation);

test.each(singles)('%s of a key that is %s, with every fault of each of its writes', async (text, state) => {
  const [command, from] = [commandOf(text), states[state]];
  const before: Stored = storedOf(from);
  const { calls } = await new World({ isChecked: false, from }).run(command);
  const writes = calls.flatMap(({ operation }, index) => (isRead(operation) ? [] : [index]));
  expect(writes.length).toBeGreaterThan(0);
  // The last two are much like others.
  const some = isFullRun || /^(create|rotate)/.test(text) ? keyFaults : keyFaults.slice(0, 4);
  for (const index of writes)
    for (const fault of some) {
      const world = new World({ isChecked: false, from });
      world.meets = meeting(fault, index + 1);
      const run = await world.run(command);
      world.meets = () => 'answered';
      const isDecided =
        !text.startsWith('repair') &&
        calls.slice(0, index).some(({ operation }) => decides(text.split(' ')[0]!, operation));
      const { operation } = calls[index]!;
      const story = `${fault} ${operation}\n${run.stderr}`;
      try {
        expect(run.exitCode).toBe(exitCodeAfter(fault, operation, isDecided));
        await checkEnd(world, before, shownIn(state), [run]);
        await complete(world, shownIn(state), [run]);
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${story}`, { cause: error });
      }
    }
});

type Pair = readonly [one: string, other: string, state: StateName];
const changes = ['rotate --overlap 1h', 'change-plan --plan business', 'revoke', 'suspend'];
const pairs: readonly Pair[] = [
  ['rotate --overlap 1h', 'rotate --overlap 1h', 'active'],
  ['rotate --overlap 1h', 'revoke', 'active'],
  ['change-plan --plan business', 'change-plan --plan business', 'active'],
  ['change-plan --plan business', 'revoke', 'active'],
  ['suspend', 'suspend --for 1h', 'active'],
  ['resume', 'suspend', 'suspended'],
  ['repair', 'repair', 'unbound'],
  ['cleanup', 'create --plan pro', 'left over'],
];
/** Those that differ less, and those of which each run takes seconds, as `repair` reads much. */
const more: readonly Pair[] = [
  ...changes.flatMap((one, index) => changes.slice(index).map((other) => [one, other, 'active'] as const)),
  ...changes.slice(0, 3).map((other) => ['rotate --overlap 0s', other, 'active'] as const),
  ['change-plan --plan business', 'change-plan --plan pro', 'active'],
  ...[...changes, 'resume'].map((other) => ['resume', other, 'suspended'] as const),
  ...[...changes, 'repair', 'create --plan pro'].map((other) => ['repair', other, 'lost'] as const),
  ...changes.map((other) => ['repair', other, 'unbound'] as const),
  ...changes.map((other) => ['cleanup', other, 'left over'] as const),
];

test.each(isFullRun ? [...pairs, ...more] : pairs)(
  '%s and %s of a key that is %s, in every order of their calls',
  async (one, other, state) => {
    // In a full run, one of two commands also ends half way.
    const crashes = isFullRun && /^(active|suspended)$/.test(state);
    expect(await inEveryOrder([one, other], state, crashes)).toBeGreaterThan(1);
  },
);

// A repair reads so much that most orders are found to be equal only late.
const harmless = [
  'change-plan KEY --plan pro',
  'rotate KEY --overlap 1h',
  'resume KEY',
  ...(isFullRun ? ['repair'] : []),
];

test.each(harmless)('a key works all the time beside %s, in every order', async (command) => {
  const from = new World({ isChecked: false });
  const { keyId, key } = await issue(from);
  const limits = new Set<string | undefined>();
  await explore({
    from,
    isChecked: false,
    steps: [(world) => world.run(`keys ${command.replace('KEY', keyId)} --json`), (world) => world.send(key)],
    check: ({ exchanges: [request], runs: [run] }) => {
      expect([request!.answer.status, run!.exitCode]).toEqual([404, 0]);
      limits.add(request!.answer.headers?.['X-RateLimit-Limit']);
    },
  });
  expect(limits).toEqual(
    new Set(
      (command.startsWith('change-plan') ? [fixedPlans.free, fixedPlans.pro] : [fixedPlans.free]).map(
        ({ perMinute }) => `${perMinute}`,
      ),
    ),
  );
});
