import type { Item } from 'dynamodb-interleavings';
import { type Network, Random, type World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { customPlan } from '../../../functions/access/plans.ts';
import type { Aim } from './aims.ts';
import { statuses } from './animals.ts';
import { type KeyFormat, keyFormat, type PlanList, planList, type Version } from './environments.ts';
import type { Key } from './seen.ts';

/** The keys and animals that are there when a simulation begins. */

interface Start {
  readonly seed: number;
  readonly random: Random;
  readonly world: SimulatedWorld;
  readonly network: Network;
  readonly aim: Aim;
  readonly versions: readonly Version[];
}

export function addKeys({ seed, random, world, network, aim, versions }: Start): Key[] {
  // The operator issues a key of a plan when it is deployed, so there are keys of the plans of the earlier version.
  const issuing = versions.find(({ commit }) => commit) ?? versions[0]!;
  const plans = partOf(planList, issuing, world, network) as PlanList;
  const keys = Array.from({ length: aim.keys ?? 1 + random.below(2) }, (_, index) =>
    withPlan(
      newKeyOf(random, world, network, index + 1, aim, random.pick(versions)),
      Random.of(seed, `plan ${index}`),
      aim,
      plans,
    ),
  );
  for (const key of keys) network.tables.put('ApiKeys', keyItem(key));
  return keys;
}

function newKeyOf(
  random: Random,
  world: SimulatedWorld,
  network: Network,
  number: number,
  { limits, expiresWithin }: Aim,
  version: Version,
): Key {
  const format = keyFormatOf(version, world, network);
  const token = format.newKey('test', (below) => random.below(below));
  const keyHash = format.hashOfKey(token);
  const perMinute = random.pick(limits === 'wide' ? [50, 200] : limits === 'narrow' ? [3] : [2, 5, 20]);
  const perDay = random.pick(limits === 'wide' ? [1000] : [3, 10, 1000]);
  const [expires, after] = [random.chance(0.25), random.below(expiresWithin ?? 300)];
  const expiresAt =
    expiresWithin !== undefined || (limits === undefined && expires)
      ? Math.floor(world.now / 1000 + after) * 1000
      : 0;
  return {
    name: `key ${number}`,
    token,
    keyHash,
    plan: customPlan,
    perMinute,
    perDay,
    expiresAt,
    revokedAt: Infinity,
    suspensions: [],
  };
}

/** A third of the keys that need no small limits are on one of all plans. */
function withPlan(key: Key, random: Random, { limits, flood }: Aim, { planNames, limitsOf }: PlanList): Key {
  if (limits === 'narrow' || flood || random.chance(2 / 3)) return key;
  const plan = random.pick(planNames);
  return { ...key, plan, ...limitsOf(plan) };
}

/** Keys of each version are in use. */
function keyFormatOf(version: Version, world: SimulatedWorld, network: Network): KeyFormat {
  if (!version.entries.has(keyFormat)) return { newKey, hashOfKey };
  return partOf(keyFormat, version, world, network) as KeyFormat;
}

/** What a module of a version exports. */
function partOf(entry: string, { bundle }: Version, world: SimulatedWorld, network: Network): unknown {
  const requestHandler = network.handlerFor('key tool', () => {}, Infinity);
  const { random } = world;
  return bundle.start(entry, { world, clockOffset: 0, random, variables: {}, requestHandler });
}

export function keyItem({ keyHash, plan, perMinute, perDay, expiresAt }: Key, status = 'active'): Item {
  return {
    keyHash: { S: keyHash },
    keyId: { S: 'key_1' },
    plan: { S: plan },
    status: { S: status },
    ...(plan === customPlan && { perMinute: { N: String(perMinute) }, perDay: { N: String(perDay) } }),
    ...(expiresAt > 0 && { expiresAt: { N: String(expiresAt / 1000) } }),
  };
}

/** Animals of former times, some of them malformed. Returns their IDs. */
export function addPets(random: Random, world: SimulatedWorld, network: Network, most: number): string[] {
  const ids = Array.from({ length: random.below(most) }, (_, index) => String(1000 + index));
  before(world, () => {
    for (const id of ids) {
      network.tables.put('Pets', {
        id: { N: id },
        ...(random.chance(0.95) && { name: { S: `seed ${id}` } }),
        categoryId: { N: '7' },
        status: { S: random.pick(statuses) },
      });
    }
  });
  return ids;
}

/** Ten seconds before the simulation starts. */
function before(world: SimulatedWorld, work: () => void): void {
  const { now } = world;
  world.now -= 10_000;
  work();
  world.now = now;
}
