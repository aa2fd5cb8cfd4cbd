import { newKey, hashOfKey } from '../../functions/access/keys.ts';
import { Gateway, type Sent } from './gateway.ts';
import { check, type Key, type Usage } from './model.ts';
import { type Call, type Fate, Network } from './network.ts';
import { atTheEnd, settled, World } from './world.ts';

/** A few requests at the same time. */
export interface Scene {
  /** Unix seconds. */
  readonly now: number;
  readonly limits: { readonly perMinute: number; readonly perDay: number };
  readonly usage?: Usage;
  readonly requests: readonly (Omit<Sent, 'token'> & {
    /** Milliseconds by which the clock of its environment is ahead. */
    readonly clockOffset?: number;
  })[];
  readonly maxFaults: number;
}

/** `again`: the timer of a delayed retry ends before anything else happens. */
type Choice = { readonly call: Call; readonly fate: Fate } | 'again';

const fates: readonly Fate[] = [
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
 * @returns the number of schedules
 */
export async function explore(scene: Scene): Promise<number> {
  const known = new Set<string>();
  let schedules = 0;
  let path: Step[] = [];
  do {
    path = await runSchedule(scene, path, known);
    schedules += 1;
    // The next path in depth-first order.
    while (path.length > 0 && path.at(-1)!.taken + 1 === path.at(-1)!.options) path.pop();
    if (path.length > 0) path[path.length - 1] = { ...path.at(-1)!, taken: path.at(-1)!.taken + 1 };
  } while (path.length > 0);
  return schedules;
}

interface Step {
  readonly taken: number;
  readonly options: number;
}

/** Follows `path`, then always the first option. Returns all choices. */
async function runSchedule(scene: Scene, path: readonly Step[], known: Set<string>): Promise<Step[]> {
  const world = new World(scene.now * 1000, () => 0);
  const pending: Call[] = [];
  const network = new Network(world, (call) => {
    pending.push(call);
  });
  let environments = 0;
  const gateway = new Gateway({
    world,
    network,
    authorized: {
      [token]: { keyHash, keyId: 'key_1', plan: 'enterprise', ...scene.limits, expiresAt: 0 },
    },
    machine: (exchange) => {
      const environment = (environments += 1);
      let drawn = 0;
      return {
        clockOffset: (exchange.sent as Scene['requests'][number]).clockOffset ?? 0,
        // The first ID is the same for all.
        random: () => (drawn++ === 0 ? 0 : ((environment * 64 + drawn) % 4096) / 4096),
      };
    },
  });
  const key = storeUsage(scene, network);
  const kinds = scene.requests.map((request) => JSON.stringify(request));
  const done = scene.requests.map((request) => gateway.send({ ...request, token }));
  await settled();

  const steps: Step[] = [];
  let faults = 0;
  for (;;) {
    const open = pending.filter(({ ended }) => !ended);
    const [timer] = world.timers;
    const options: Choice[] = open.flatMap((call) =>
      fates
        .filter((fate) => canMeet(fate, call) && (fate === 'answered' || faults < scene.maxFaults))
        .map((fate) => ({ call, fate })),
    );
    if (open.length > 0 && timer !== undefined && timer.at <= world.now + longestDelay) options.push('again');
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
        processes.map((process) => JSON.stringify(process)).toSorted(),
      ]);
      if (known.has(state)) return steps;
      known.add(state);
    }
    if (steps.length > maxSteps) throw new Error('A request is stuck');
    const taken = path[steps.length]?.taken ?? 0;
    steps.push({ taken, options: options.length });
    const choice = options[taken]!;
    if (choice === 'again') world.step();
    else {
      if (choice.fate !== 'answered') faults += 1;
      choice.call.fate = choice.fate;
      pending.splice(pending.indexOf(choice.call), 1);
      network.meet(choice.call)();
    }
    await settled();
  }
  await atTheEnd(done);
  check({
    exchanges: gateway.exchanges,
    keys: [key],
    tables: network.tables,
    lag: 0,
    worstClock: Math.max(...scene.requests.map(({ clockOffset = 0 }) => Math.abs(clockOffset))),
  });
  return steps;
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
    token,
    keyHash,
    ...limits,
    expiresAt: 0,
    revokedAt: Infinity,
    suspensions: usage?.suspendedUntil === undefined ? [] : [{ from: 0, until: usage.suspendedUntil * 1000 }],
    ...(usage && { before: usage }),
  };
}
