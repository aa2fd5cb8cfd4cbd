import { Network, Random, settled, World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { serviceTables } from '../../support/table-shapes.ts';
import { noteEvaluations } from '../evaluations.ts';
import { aimOf, conditionsOf } from './aims.ts';
import { animals } from './animals.ts';
import type { Version } from './environments.ts';
import { arrangement, strangers } from './fault-schedule.ts';
import { type Sent, SimulatedGateway } from './gateway.ts';
import { eventsOf } from './other-events.ts';
import { RandomClient } from './random-client.ts';
import type { History } from './seen.ts';
import { addKeys, addPets } from './stored-before.ts';
import { Writes } from './writes.ts';

/** Which of the things that happen in a simulation happen, to find the few that matter. */
export interface Part {
  /** Numbers of requests. */
  readonly requests: ReadonlySet<number>;
  /** Numbers of what else happens. */
  readonly events: ReadonlySet<number>;
  /** Names of the calls that meet a fault. */
  readonly faults: ReadonlySet<string>;
}

/** Everything that happened in a simulation, to repeat parts of it. */
export interface Recording {
  readonly history: History;
  readonly sent: readonly { readonly number: number; readonly at: number; readonly sent: Sent }[];
  readonly whole: Part;
}

/**
 * A few minutes of the service, which its seed determines.
 * @param versions that execution environments are of
 * @param part if only these happen, of what happened without
 */
export async function record(
  seed: number,
  versions: readonly Version[],
  part?: { readonly of: Recording; readonly only: Part },
): Promise<Recording> {
  const random = Random.of(seed, 'start');
  const aim = aimOf(seed);
  const startsAt = random.pick(
    aim.startsAt ?? [
      '2026-07-01T12:00:00Z',
      '2026-07-01T12:00:58Z',
      '2026-07-01T23:59:50Z',
      '2026-07-01T23:58:59Z',
    ],
  );
  const world = new SimulatedWorld(
    Date.parse(startsAt) + random.below(1000),
    Random.of(seed, 'packages').next,
  );
  const conditions = conditionsOf(random, aim);
  const met = new Set<string>();
  const tables = serviceTables(() => world.now);
  const writes = new Writes(tables);
  const arrange = arrangement(seed, world, writes, conditions, met, part?.only.faults);
  const network = new Network(world, tables, arrange, strangers);
  const evaluations = noteEvaluations(tables);
  const gateway = new SimulatedGateway({
    world,
    network,
    machine: (environment) => {
      const own = Random.of(seed, environment);
      // Few values, so that IDs collide.
      return { random: conditions.collisions ? () => own.pick([0, 0.999]) : own.next };
    },
    versionFor: (invocation) => Random.of(seed, `version ${invocation}`).pick(versions),
  });
  const keys = addKeys({ seed, random, world, network, aim, versions });
  const pets = addPets(random, world, network, aim.pets ?? 12);
  const events = eventsOf(random, world, tables, writes, gateway, keys, conditions);
  const happened: History['events'][number][] = [];
  const eventNumbers = new Set<number>();
  for (const [index, { at, run }] of events.entries()) {
    if (part !== undefined && !part.only.events.has(index)) continue;
    world.after(at - world.now, () => {
      const text = run();
      if (text === undefined) return;
      eventNumbers.add(index);
      happened.push({ at: world.now, text });
    });
  }
  let work: Promise<unknown>[];
  if (part === undefined) {
    const shared = {
      seed,
      world,
      gateway,
      versions,
      aim,
      flood: conditions.flood,
      ids: new Map([[animals.path, pets]]),
      used: { names: 0, mistakes: Math.abs(seed) },
    };
    const count = aim.clients ?? 1 + random.below(4);
    work = Array.from({ length: count }, (_, index) => {
      const number = index % keys.length;
      return new RandomClient(shared, Random.of(seed, `client ${index}`), keys[number]!).run();
    });
  } else {
    const sent = part.of.sent.filter(({ number }) => part.only.requests.has(number));
    work = sent.map(async ({ number, at, sent: each }) => {
      await world.sleep(at - world.now);
      await gateway.send(each, number);
    });
  }
  do await settled();
  while (world.step());
  const stuck = settled().then(() => Promise.reject(new Error('A request is never answered')));
  await Promise.race([Promise.all(work), stuck]);
  const history: History = {
    evaluations,
    exchanges: gateway.exchanges,
    keys,
    tables,
    lag: conditions.lag,
    shortQueries: conditions.fit < Infinity,
    events: happened,
  };
  return {
    history,
    sent: gateway.exchanges.map(({ number, startedAt: at, sent }) => ({ number, at, sent })),
    whole: {
      requests: new Set(gateway.exchanges.map(({ number }) => number)),
      events: eventNumbers,
      faults: met,
    },
  };
}
