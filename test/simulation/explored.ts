import {
  atTheEnd,
  type Call,
  type Fate,
  Network,
  nextOf,
  settled,
  type Step,
  World,
} from 'dynamodb-interleavings';
import { newKey, hashOfKey } from '../../functions/access/keys.ts';
import { serviceTables } from '../support/table-shapes.ts';
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
  /** What calls can meet. Default: everything. */
  readonly fates?: readonly Fate[];
}

/** `again`: the timer of a delayed retry ends before anything else happens. `suspend`: the operator does it now. */
type Choice = { readonly call: Call; readonly fate: Fate } | 'again' | 'suspend';

const allFates: readonly Fate[] = [
  'answered',
  'lostBefore',
  'lostAfter',
  'hungAfter',
  'unreadableAfter',
  'throttled',
  'conflict',
  'denied',
];

function canMeet(fate: Fate, { operation }: Call): boolean {
  return fate !== 'conflict' || operation === 'PutItem' || operation === 'TransactWriteItems';
}

/** Longest delay before a retry, in milliseconds. */
const longestDelay = 400;
/** No request makes more calls than this in a schedule with few faults. */
const maxSteps = 80;

const token = newKey('test', () => 0);
const keyHash = hashOfKey(token);

/**
 * Runs the requests in every order of their calls, and with every fate of each call, up to a number of faults. A schedule that
 * reaches a state that another one has reached is not run to its end: all continuations have been run.
 * @param repeat arguments of vitest that run this again
 * @returns the number of schedules
 * @throws Violation with the story of the smallest scene that still has it
 */
export async function explore(scene: Scene, repeat: string): Promise<number> {
  const found = await firstFailure(scene);
  if (typeof found === 'number') return found;
  const { violation, history, schedule } = await smallest(scene, found);
  throw new Violation(
    [tell(violation, history, ['In this order:', ...schedule]), howToRepeat(repeat)].join('\n'),
  );
}

interface Failure {
  readonly violation: Violation;
  readonly history: History;
  readonly schedule: readonly string[];
}

/** The failure of a scene with fewer requests and faults that violates the same. */
async function smallest(scene: Scene, failure: Failure): Promise<Failure> {
  const smaller = [
    ...(scene.maxFaults > 0 ? [{ ...scene, maxFaults: scene.maxFaults - 1 }] : []),
    ...(['requests', 'afterwards'] as const).flatMap((list) =>
      (scene[list] ?? []).map((_, index) => ({ ...scene, [list]: scene[list]!.toSpliced(index, 1) })),
    ),
  ].filter(({ requests }) => requests.length > 0);
  for (const each of smaller) {
    const found = await firstFailure(each);
    if (typeof found !== 'number' && found.violation.kind === failure.violation.kind)
      return smallest(each, found);
  }
  return failure;
}

/** The first schedule that fails, or the number of schedules. */
async function firstFailure(scene: Scene): Promise<Failure | number> {
  const known = new Set<string>();
  let schedules = 0;
  let path: readonly Step[] = [];
  do {
    const { steps, failure } = await runSchedule(scene, path, known);
    if (failure !== undefined) return failure;
    schedules += 1;
    path = nextOf(steps);
  } while (path.length > 0);
  return schedules;
}

/** Follows `path`, then always the first option. Returns all choices. */
async function runSchedule(
  scene: Scene,
  path: readonly Step[],
  known: Set<string>,
): Promise<{ readonly steps: Step[]; readonly failure?: Failure }> {
  const world = new World(scene.now * 1000, () => 0);
  const pending: Call[] = [];
  const network = new Network(
    world,
    serviceTables(() => world.now),
    (call) => {
      pending.push(call);
    },
  );
  let environments = 0;
  const gateway = new Gateway({
    world,
    network,
    authorized: {
      [token]: { keyHash, keyId: 'key_1', plan: 'enterprise', ...scene.limits, expiresAt: 0 },
    },
    machine: () => {
      const environment = (environments += 1);
      let drawn = 0;
      return {
        // The first ID is the same for all.
        random: () => (drawn++ === 0 ? 0 : ((environment * 64 + drawn) % 4096) / 4096),
      };
    },
  });
  const key = storeUsage(scene, network);
  const kinds = scene.requests.map((request) => JSON.stringify(request));
  const done = scene.requests.map(async ({ after, ...request }) => {
    if (after !== undefined) await world.sleep(after);
    await gateway.send({ ...request, token });
  });
  await settled();

  const steps: Step[] = [];
  const schedule: string[] = [];
  let faults = 0;
  let suspends = scene.suspendedUntil !== undefined;
  for (;;) {
    const open = pending.filter(({ ended }) => !ended);
    const [timer] = world.timers;
    const options: Choice[] = open.flatMap((call) =>
      (scene.fates ?? allFates)
        .filter((fate) => canMeet(fate, call) && (fate === 'answered' || faults < scene.maxFaults))
        .map((fate) => ({ call, fate })),
    );
    if (open.length > 0 && timer !== undefined && timer.at <= world.now + longestDelay) options.push('again');
    if (open.length > 0 && suspends) options.push('suspend');
    if (options.length === 0) {
      if (!world.step()) break;
      await settled();
      continue;
    }
    if (steps.length >= path.length) {
      const processes = gateway.exchanges.map(({ operation, answer, endedAt }, index) => [
        kinds[index],
        operation?.calls.map(({ operation: name, outcome, fate, ended }) => [
          name,
          outcome,
          fate === 'answered',
          ended,
        ]),
        endedAt < Infinity && answer.status,
      ]);
      const state = JSON.stringify([
        world.now,
        world.timers.map(({ at }) => at),
        network.tables.contents,
        faults,
        suspends,
        processes.map((process) => JSON.stringify(process)).toSorted(),
      ]);
      if (known.has(state)) return { steps };
      known.add(state);
    }
    if (steps.length > maxSteps) throw new Error('A request is stuck');
    const taken = path[steps.length]?.taken ?? 0;
    steps.push({ taken, options: options.length });
    const choice = options[taken]!;
    if (choice === 'again') {
      schedule.push('  a delay ends');
      world.step();
    } else if (choice === 'suspend') {
      schedule.push('  an operator suspends the key');
      suspends = false;
      suspend(key, scene.suspendedUntil!, network, world);
    } else {
      const { call, fate } = choice;
      schedule.push(`  ${call.name} ${call.operation} of ${call.table}: ${fate}`);
      if (fate !== 'answered') faults += 1;
      call.fate = fate;
      pending.splice(pending.indexOf(call), 1);
      network.meet(call)();
    }
    await settled();
  }
  await atTheEnd(done);
  for (const request of scene.afterwards ?? []) {
    world.now += 1;
    const last = gateway.send({ ...request, token });
    do {
      await settled();
      for (const call of pending.splice(0)) {
        call.fate = 'answered';
        network.meet(call)();
      }
      await settled();
    } while (pending.length > 0 || world.step());
    await atTheEnd([last]);
  }
  const history: History = {
    exchanges: gateway.exchanges,
    keys: [key],
    tables: network.tables,
    old: [],
    lag: 0,
    shortQueries: false,
    events: [],
  };
  try {
    check(history);
    return { steps };
  } catch (violation) {
    if (!(violation instanceof Violation)) throw violation;
    return { steps, failure: { violation, history, schedule } };
  }
}

function storeUsage({ limits, usage }: Scene, { tables }: Network): Key {
  if (usage !== undefined) {
    const counts = Object.entries(usage).map(([name, count]) => [name, { N: String(count) }] as const);
    tables.put('RateLimits', {
      keyHash: { S: keyHash },
      ...(Object.fromEntries(counts) as Record<string, { N: string }>),
    });
  }
  return {
    name: 'the key',
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
function suspend(key: Key, until: number, { tables }: Network, world: World): void {
  const stored = tables.versions('RateLimits')[0]?.at(-1)?.item;
  tables.put('RateLimits', {
    ...stored,
    keyHash: { S: keyHash },
    suspendedUntil: { N: String(until) },
    rejections: { N: '0' },
  });
  key.suspensions.push({ from: world.now, until: until * 1000 });
}
