import { beforeAll, expect, test, vi } from 'vitest';
import { Footprint, Search } from 'dynamodb-interleavings/simulation';
import { hashOfKey } from '../../../functions/access/keys.ts';
import { isFullRun } from '../../support/rounds.ts';
import { checkCompleted, checkEnd, checkNow, leftOvers } from './invariants.ts';
import { type Fate, isRead, keysIn, nothing, type Process, type State, useWorlds, World } from './world.ts';

/**
 * Commands of the key tool in every order of their calls to DynamoDB and API Gateway, and with every fate of each call: what has
 * to hold is in invariants.ts. Orders that differ only in calls that do not affect each other are run once.
 */

interface Scene {
  readonly start: State;
  readonly commands: readonly (readonly string[])[];
  /** What calls can meet, one of them in a run. */
  readonly faults?: readonly Fate[];
}

const noon = Date.parse('2026-07-02T12:00:30Z');
const quarter = 16 * 60_000;

useWorlds(noon);
beforeAll(prepare);

/** Runs a scene in every way. Returns how many there are. */
async function explore({ start, commands, faults = [] }: Scene): Promise<number> {
  const search = new Search(true);
  const before = new World(start);
  let count = 0;
  do {
    const world = new World(start);
    // A minute later, so that `cleanup` does not find that everything is of this moment.
    const later = { clock: () => noon + 60_000 };
    for (const args of commands) await world.start(args, args[0] === 'cleanup' ? later : {});
    try {
      if (!(await runOnce(world, before, search, faults))) continue;
      count += 1;
      checkEnd(world, before);
      await complete(world);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${storyOf(world)}`, { cause: error });
    }
  } while (search.advance());
  return count;
}

/** Lets the commands run as the search chooses. False if they have run like that before. */
async function runOnce(
  world: World,
  before: World,
  search: Search,
  faults: readonly Fate[],
): Promise<boolean> {
  for (;;) {
    const choices = world.processes.flatMap((process) => choicesOf(process, world, faults));
    if (choices.length === 0) return true;
    const taken = search.choose(choices);
    if (taken === undefined) return false;
    const footprint = (world.tables.footprint = new Footprint());
    const { step, changes } = choices[taken]!;
    await step();
    world.tables.footprint = new Footprint();
    search.stepped({ footprint, timers: [], started: [] });
    if (changes) checkNow(world, before);
  }
}

function choicesOf(process: Process, world: World, faults: readonly Fate[]) {
  const { pending, name, calls } = process;
  if (pending === undefined) return [];
  const isCalm = world.processes.every((each) => each.calls.every(([, fate]) => fate === 'passed'));
  const fates = [
    'passed',
    ...(isCalm ? faults.filter((fate) => canMeet(pending.operation, fate)) : []),
  ] as const;
  return fates.map((fate) => ({
    id: `${name} ${calls.length} ${fate}`,
    process: name,
    subject: `${name} ${calls.length}`,
    kind: 'step' as const,
    until: Infinity,
    needsTime: false,
    isUseful: true,
    footprint: new Footprint(),
    isPatient: false,
    take: () => {},
    changes: !isRead(pending.operation),
    step: () => world.meet(process, fate),
  }));
}

function canMeet(operation: string, fate: Fate): boolean {
  if (fate === 'not found') return /^POST .*\/keys$/.test(operation);
  // A process that ends before a read leaves what it leaves if it ends before the next write.
  return fate === 'lost' || fate === 'replaced' || !isRead(operation);
}

/** Runs the commands again that did not end well, and `cleanup`. */
async function complete(world: World): Promise<void> {
  const failed = world.processes.filter(({ run }) => run === undefined || run.exitCode % 4 !== 0);
  if (failed.length === 0 && leftOvers(world).length === 0) return;
  for (const process of failed) {
    const { args } = process;
    // As the message of an unknown outcome says.
    const [, unseen] = /Run \\"show (key_\w+)\\"\. If it exists, revoke it/.exec(process.stderr()) ?? [];
    if (unseen !== undefined) expect([0, 3]).toContain((await world.run(['revoke', unseen])).exitCode);
    const { exitCode, stderr } = await world.run(args);
    // What was done already is refused.
    expect([exitCode % 4, stderr]).toEqual([0, stderr]);
    const [, successor] = /replaced by (key_\w+)\. Rotate that one/.exec(stderr) ?? [];
    if (successor !== undefined)
      expect(await world.run(['rotate', successor, '--overlap', '0s'])).toMatchObject({ exitCode: 0 });
    if (args[0] === 'revoke') checkCompleted(world);
  }
  const later = { clock: () => Date.now() + quarter };
  expect(await world.run(['cleanup', '--owner', 'Ada'], later)).toMatchObject({ exitCode: 0 });
  checkCompleted(world);
}

function storyOf({ processes }: World): string {
  return processes
    .map(
      ({ name, calls, stderr }) => `${name}: ${calls.map((call) => call.join(' ')).join(', ')}\n${stderr()}`,
    )
    .join('\n');
}

let id: string;
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
const states = {} as Record<StateName, State>;

/** The states in which commands find the key of Ada. Another owner has the same beside her. */
async function prepare(): Promise<void> {
  vi.setSystemTime(noon - quarter);
  const world = new World(nothing);
  const start = async (owner: string) => {
    const { stdout } = await world.run(['create', '--owner', owner, '--plan', 'free', '--note', 'a note']);
    leaveOver(world, owner);
    return keysIn(stdout)[0]!;
  };
  await start('Ada Lovelace');
  states.new = world.state;
  const shown = await start('Ada');
  // The authorizer caches it.
  expect(world.call(shown)).toBe(200);
  const made = world.records.find(({ owner }) => owner === 'Ada')!;
  id = made.keyId;
  const key = { ...made, gatewayKeyId: '0'.repeat(10) };
  // First in the lists of API Gateway, so that what looks for another key by its name finds this one.
  const text = JSON.stringify(world.state).replaceAll(made.gatewayKeyId, key.gatewayKeyId);
  states['left over'] = JSON.parse(text) as State;
  vi.setSystemTime(noon);
  const after = async (change: (world: World) => unknown) => {
    const changed = new World(states['left over']);
    await changed.run(['cleanup', '--owner', 'Ada']);
    await change(changed);
    return changed.state;
  };
  states.active = await after(() => {});
  states.suspended = await after((changed) => changed.run(['suspend', id]));
  // Its API Gateway key has a value of its own.
  states.lost = await after(async (changed) => {
    await changed.run(['change-plan', id, '--plan', 'pro']);
    changed.gateway.delete(changed.records.find(({ keyId }) => keyId === id)!.gatewayKeyId);
  });
  states.unbound = await after(({ gateway }) => gateway.unbind('free', key.gatewayKeyId));
  states.misplaced = await after(({ gateway }) => {
    gateway.unbind('free', key.gatewayKeyId);
    gateway.bind('pro', key.gatewayKeyId);
  });
  states['made by hand'] = await after(({ gateway }) => {
    gateway.delete(key.gatewayKeyId);
    const copy = gateway.create({ name: id, value: key.keyHash, enabled: true }, noon);
    gateway.bind('free', copy.id);
  });
}

function leaveOver({ gateway }: World, owner: string): void {
  const description = `AnimalStore-local, owner ${owner}`;
  const value = hashOfKey(owner);
  gateway.create({ name: 'key_0000000000000000', description, value, enabled: true }, Date.now());
}

/** A command as written, and the state in which it finds the key. */
type Command = readonly [command: string, state: StateName];
const commandOf = (command: string): string[] => {
  const [name = '', ...options] = command.split(' ');
  if (name === 'create') return [name, '--owner', 'Ada', '--note', 'a note', ...options];
  return /^(repair|cleanup)$/.test(name) ? [name, '--owner', 'Ada', ...options] : [name, id, ...options];
};
const exploreAll = (commands: readonly string[], state: StateName, faults: readonly Fate[] = []) =>
  explore({ start: states[state], commands: commands.map(commandOf), faults });

const singles: readonly Command[] = [
  ['create --plan pro', 'new'],
  ['rotate --overlap 0s', 'active'],
  ['change-plan --plan enterprise --per-minute 7 --per-day 70', 'active'],
  ['revoke', 'active'],
  ['suspend', 'active'],
  ['resume', 'suspended'],
  ['repair', 'lost'],
  ['repair', 'unbound'],
  ['repair', 'misplaced'],
  ['repair', 'made by hand'],
  ['cleanup', 'left over'],
];
const faults: readonly Fate[] = [
  'lost',
  'replaced',
  'last',
  'stuck',
  'killed',
  'refused',
  'denied',
  'not found',
];

test.each(singles)('%s of a key that is %s, with every fate of each of its calls', async (command, state) => {
  expect(await exploreAll([command], state, faults)).toBeGreaterThan(10);
});

const changes = ['rotate --overlap 1h', 'change-plan --plan business', 'revoke', 'suspend'];
/** `repair` reads so much that the others take some seconds. */
const during = isFullRun ? changes : ['revoke', 'suspend'];
const pairs: readonly (readonly [one: string, other: string, state: StateName])[] = [
  ...changes.flatMap((one, index) => changes.slice(index).map((other) => [one, other, 'active'] as const)),
  ...changes.slice(0, 3).map((other) => ['rotate --overlap 0s', other, 'active'] as const),
  ['change-plan --plan business', 'change-plan --plan pro', 'active'],
  ['suspend', 'suspend --for 1h', 'active'],
  ...[...changes, 'resume'].map((other) => ['resume', other, 'suspended'] as const),
  ...[...during, 'repair', 'create --plan pro'].map((other) => ['repair', other, 'lost'] as const),
  ...[...during, 'repair'].map((other) => ['repair', other, 'unbound'] as const),
  ...[...changes, 'create --plan pro'].map((other) => ['cleanup', other, 'left over'] as const),
];

test.each(pairs)(
  '%s and %s of a key that is %s, in every order of their calls',
  async (one, other, state) => {
    // In a full run, one of two commands also ends half way.
    const ends = isFullRun && /^(active|suspended)$/.test(state) ? (['killed'] as const) : [];
    expect(await exploreAll([one, other], state, ends)).toBeGreaterThan(1);
  },
);
