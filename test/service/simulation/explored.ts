import { explore as exploreSchedules, type Fault, type Simulation, textOf } from 'dynamodb-interleavings';
import { newKey, hashOfKey } from '../../../functions/access/keys.ts';
import { type Evaluations, noteEvaluations } from '../evaluations.ts';
import { tableDefinitions } from '../../support/table-shapes.ts';
import type { Version } from './environments.ts';
import { Gateway, type Sent } from './gateway.ts';
import { check } from './model.ts';
import { type History, type Key, type Usage, Violation } from './seen.ts';
import { howToRepeat, tell } from './story.ts';

/** A few requests at the same time. */
export interface Scene {
  /** Unix seconds. */
  readonly now: number;
  readonly limits: { readonly perMinute: number; readonly perDay: number };
  readonly usage?: Usage;
  readonly requests: readonly (Omit<Sent, 'token'> & {
    /** Milliseconds until it is sent. In this order. */
    readonly after?: number;
  })[];
  /** Requests after all others, one after the other and without faults. */
  readonly afterwards?: readonly Omit<Sent, 'token'>[];
  /** Until when an operator suspends the key meanwhile. Unix seconds. */
  readonly suspendedUntil?: number;
  readonly maxFaults: number;
  /** How many calls at most are answered only after a timer has gone off. Default: any number */
  readonly delays?: number;
  /** So many schedules at random, instead of all of them. */
  readonly sample?: number;
  /** Leaves out schedules that differ only in the order of independent steps. Default: true */
  readonly reduce?: boolean;
  /** Gets all answers and what is stored, of each schedule. */
  readonly results?: Set<string>;
  /** What calls can meet. Default: everything. */
  readonly kinds?: readonly Fault[];
  /** Of the execution environment of each request. Default: the work tree's. */
  readonly versions?: readonly Version[];
}

const allKinds: readonly Fault[] = [
  'lostBefore',
  'lostAfter',
  'hungAfter',
  'unreadableAfter',
  'throttled',
  'conflict',
  'denied',
];

const token = newKey('test', () => 0);
const keyHash = hashOfKey(token);

/** What the requests of a schedule share. */
interface Shared {
  readonly gateway: Gateway;
  readonly key: Key;
  readonly evaluations: Evaluations;
}

/**
 * Runs the requests in every order of their calls, and with every fate of each call, up to a number of faults; or a sample of that.
 * @param only arguments of vitest that run this alone
 * @returns the number of schedules
 * @throws Error with the story of the shortest schedule that violates the interface
 */
export async function explore(scene: Scene, only: string): Promise<number> {
  const { suspendedUntil, usage, kinds = allKinds, delays = Infinity, sample, versions = [] } = scene;
  const { reduce = true, results } = scene;
  // No transaction writes the table of the limiter.
  const conflicts = scene.requests.some(({ method }) => method === 'POST');
  const send =
    ({ after, ...request }: Scene['requests'][number]) =>
    async ({ world, shared }: { readonly world: Simulation['world']; readonly shared: Shared }) => {
      if (after !== undefined) await world.sleep(after);
      return (await shared.gateway.send({ ...request, token })).answer.status;
    };
  // Equal requests of one version are one function, so that they can change places.
  const nameOf = (each: Scene['requests'][number], index: number) =>
    JSON.stringify([each, versions[index]?.commit]);
  const requests = new Map(scene.requests.map((each, index) => [nameOf(each, index), send(each)]));
  const report = await exploreSchedules<Shared>({
    tables: tableDefinitions.map((each) => ({ ...each, BillingMode: 'PAY_PER_REQUEST' as const })),
    ...(usage && { items: { RateLimits: [{ keyHash, ...usage }] } }),
    startsAt: scene.now * 1000,
    shared: (simulation) => {
      // Retries of the SDK do not wait.
      simulation.world.random = () => 0;
      const evaluations = noteEvaluations(simulation.tables);
      return { gateway: gatewayOf(scene, simulation), key: keyOf(scene), evaluations };
    },
    // Nothing but the idle environments of the gateway, which names them.
    namesShared: true,
    requests: scene.requests.map((each, index) => requests.get(nameOf(each, index))!),
    afterwards: (scene.afterwards ?? []).map((each) => send({ ...each, after: 1 })),
    ...(suspendedUntil !== undefined && {
      events: {
        'an operator suspends the key': (simulation) =>
          suspend(simulation.shared.key, suspendedUntil, simulation),
      },
    }),
    check: ({ tables, shared: { gateway, key, evaluations } }) => {
      const answers = gateway.exchanges.map(({ answer }) => ({ ...answer, body: undefined }));
      results?.add(JSON.stringify([answers, tables.contents]));
      return violationIn({
        exchanges: gateway.exchanges,
        keys: [key],
        tables,
        evaluations,
        lag: 0,
        shortQueries: false,
        events: [],
      });
    },
    reduce,
    faults: scene.maxFaults,
    kinds: kinds.filter((kind) => kind !== 'conflict' || conflicts),
    delays,
    ...(sample !== undefined && { budget: sample, seed: 1 }),
    ...(process.env['REPEAT'] !== undefined && { repeat: process.env['REPEAT'] }),
  });
  if (report.failure)
    throw new Error(`${textOf(report)}\n${howToRepeat(versions, `REPEAT=${report.failure.repeat} `, only)}`);
  if (!report.isComplete && sample === undefined && process.env['REPEAT'] === undefined)
    throw new Error(`Not all schedules were run: ${textOf(report)}`);
  return report.schedules;
}

function gatewayOf({ limits, versions = [] }: Scene, { world, network }: Simulation): Gateway {
  let environments = 0;
  return new Gateway({
    world,
    network,
    authorized: { [token]: { keyHash, keyId: 'key_1', plan: 'enterprise', ...limits, expiresAt: 0 } },
    machine: () => {
      const environment = (environments += 1);
      let drawn = 0;
      return {
        version: versions[environment - 1],
        // The first ID is the same for all.
        random: () => (drawn++ === 0 ? 0 : ((environment * 64 + drawn) % 4096) / 4096),
      };
    },
  });
}

function keyOf({ limits, usage }: Scene): Key {
  return {
    name: 'the key',
    plan: 'enterprise',
    token,
    keyHash,
    ...limits,
    expiresAt: 0,
    revokedAt: Infinity,
    suspensions: usage?.suspendedUntil === undefined ? [] : [{ from: 0, until: usage.suspendedUntil * 1000 }],
    ...(usage && { before: usage }),
  };
}

/** As the key tool does. */
function suspend(key: Key, until: number, { tables, world }: Simulation): void {
  const stored = tables.versions('RateLimits')[0]?.at(-1)?.item;
  tables.put('RateLimits', {
    ...stored,
    keyHash: { S: keyHash },
    suspendedUntil: { N: String(until) },
    rejections: { N: '0' },
  });
  key.suspensions.push({ from: world.now, until: until * 1000 });
}

function violationIn(history: History): string | undefined {
  try {
    check(history);
    return undefined;
  } catch (violation) {
    if (violation instanceof Violation) return tell(violation, history);
    throw violation;
  }
}
