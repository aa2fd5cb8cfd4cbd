import type { Tables } from 'dynamodb-interleavings';
import type { Random, World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { type Conditions, floodAfter, floodStart } from './aims.ts';
import { statuses } from './animals.ts';
import type { SimulatedGateway } from './gateway.ts';
import type { Key } from './seen.ts';
import { keyItem } from './stored-before.ts';
import type { Writes } from './writes.ts';

/** Something that happens beside the requests. `run` says what it was, if it was anything. */
interface Event {
  readonly at: number;
  readonly run: () => string | undefined;
}

export function eventsOf(
  random: Random,
  world: SimulatedWorld,
  tables: Tables,
  writes: Writes,
  gateway: SimulatedGateway,
  keys: readonly Key[],
  { operator, flood, status: changesStatus }: Conditions,
): Event[] {
  const start = world.now;
  const ending: Event = {
    at: start + random.below(100_000),
    run: () => {
      gateway.endIdle();
      return 'Lambda ends all environments that wait';
    },
  };
  const expiring = [random.below(200_000), 86_400_000 + random.below(10_000)].map((after): Event => ({
    at: start + after,
    run: () => {
      tables.expire();
      return 'DynamoDB deletes what has expired';
    },
  }));
  const actions = Array.from({ length: operator ? 4 : 0 }, (_, index): Event => {
    const key = random.pick(keys);
    const [kind, value] = [random.pick(['suspend', 'revoke', 'status', 'status'] as const), random.next()];
    const during = random.below(60_000);
    // This happens beside the requests that suspend the key.
    if (flood && index === 0)
      return { at: floodStart(start) + floodAfter + random.below(60), run: () => suspend(key, value) };
    const run = () =>
      kind === 'suspend' ? suspend(key, value) : kind === 'revoke' ? revoke(key, value) : change(value);
    return { at: start + during, run: flood ? () => undefined : run };
  });
  const changes = Array.from({ length: changesStatus ? 20 : 0 }, (): Event => {
    const value = random.next();
    return { at: start + random.below(20_000), run: () => change(value) };
  });
  return [ending, ...expiring, ...actions, ...changes];

  function revoke(key: Key, value: number): string | undefined {
    if (value > 0.3) return undefined;
    key.revokedAt = Math.min(key.revokedAt, world.now);
    // Only an active key is valid.
    const status = value < 0.15 ? 'revoked' : 'being issued';
    tables.put('ApiKeys', keyItem(key, status));
    return `an operator makes ${key.name} "${status}"`;
  }
  /** Suspends a key as the key tool does, for seconds, hours or days. */
  function suspend(key: Key, value: number): string | undefined {
    if (key.suspensions.length > 0) return undefined;
    const now = Math.floor(world.now / 1000);
    const until =
      now + Math.floor([5 + value * 40, 20_000 * value, 400_000 * value][Math.floor(value * 3000) % 3]!);
    const stored = tables
      .versions('RateLimits')
      .find((versions) => versions[0]!.item!['keyHash']!.S === key.keyHash)
      ?.at(-1)?.item;
    tables.put('RateLimits', {
      ...stored,
      keyHash: { S: key.keyHash },
      suspendedUntil: { N: String(until) },
      rejections: { N: '0' },
      expiresAt: { N: String(until + 90 * 86_400) },
    });
    key.suspensions.push({ from: world.now, until: until * 1000 });
    return `an operator suspends ${key.name} until ${new Date(until * 1000).toISOString()}`;
  }
  function change(value: number): string | undefined {
    const pets = tables.versions('Pets').map((versions) => versions.at(-1)!.item!);
    const pet = pets[Math.floor(value * pets.length)];
    if (pet === undefined) return undefined;
    if (writes.refusalOf({ operation: 'PutItem', input: { TableName: 'Pets', Item: pet } })) return undefined;
    const status = statuses[Math.floor(value * 1e6) % 3]!;
    tables.put('Pets', { ...pet, status: { S: status } });
    return `an operator makes animal ${pet['id']!.N} ${status}`;
  }
}
