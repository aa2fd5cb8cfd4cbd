import { hashOfKey, newKey } from '../../../functions/access/keys.ts';
import { customPlan } from '../../../functions/access/plans.ts';
import { operations } from '../../../functions/operations.ts';
import { descriptions } from '../../../tools/contributors/openapi/operations.ts';
import { type Call, type Fault, faults as allFaults, type Item, type Tables } from 'dynamodb-interleavings';
import { Network, Random, settled, type Stranger, World } from 'dynamodb-interleavings/simulation';
import { queryOf } from '../../support/used-operations.ts';
import { serviceTables } from '../../support/table-shapes.ts';
import { type KeyFormat, keyFormat, type PlanList, planList, type Version } from './environments.ts';
import { Gateway, type Exchange, type Sent } from './gateway.ts';
import { noteEvaluations } from '../evaluations.ts';
import { rejectionsThatSuspend } from '../limits.model.ts';
import { animals, statuses } from './animals.ts';
import { check, resourceOf, resources } from './model.ts';
import { type History, type Key, Violation } from './seen.ts';
import { fewest } from './smallest.ts';
import { howToRepeat, tell } from './story.ts';
import { Writes } from './writes.ts';

const others = new Set<Fault>([
  // No call arrives after its client has given it up: the model takes a call that is lost for ended.
  'late',
  // Reads lag, and pages are short, by the conditions below.
  'stale',
  'shortPage',
  'unprocessed',
  // The seeds stay what they were without it.
  'failedAfter',
  // Only a schedule of dynamodb-interleavings ends a process.
  'crashedBefore',
  'crashedAfter',
  'paused',
]);
const faults = allFaults.filter((fault) => !others.has(fault));
/** What answers instead of DynamoDB: what cannot be read, what is empty, and what looks like an answer. */
const strangers: readonly Stranger[] = [
  { statusCode: 200, text: '<html></html>' },
  { statusCode: 200, text: '' },
  { statusCode: 503, text: '<html></html>' },
  { statusCode: 400, text: '{"__type":"SomethingNew"}' },
  { statusCode: 200, text: '{"Item":' },
  { statusCode: 200, text: 'null' },
  { statusCode: 200, text: ' []' },
  { statusCode: 200, text: '"{}"' },
  { statusCode: 204, text: '' },
  { statusCode: 302, text: '<html></html>' },
  { statusCode: 400, text: '<html></html>' },
  { statusCode: 400, text: '{"message":"No."}' },
  { statusCode: 301, text: '{"__type":"ResourceNotFoundException"}' },
  { statusCode: 503, text: '{"message":"No."}' },
];

/** Which of the things that happen in a simulation happen, to find the few that matter. */
interface Part {
  /** Numbers of requests. */
  readonly requests: ReadonlySet<number>;
  /** Numbers of what else happens. */
  readonly events: ReadonlySet<number>;
  /** Names of the calls that meet a fault. */
  readonly faults: ReadonlySet<string>;
}

/** Everything that happened in a simulation, to repeat parts of it. */
interface Recording {
  readonly history: History;
  readonly sent: readonly { readonly number: number; readonly at: number; readonly sent: Sent }[];
  readonly whole: Part;
}

/** What a seed is aimed at, one after the other: what is rare when everything happens at once. */
const aims = [
  {},
  {},
  // A read of an animal that was just created, by an index and replicas that lag.
  { lag: 1000, actions: ['createAndRead', 'createAndRead', 'list'], limits: 'wide' },
  // Few texts for the idempotency keys of many clients.
  { keys: 2, clients: 4, actions: ['createOnce'], texts: 2, limits: 'wide' },
  // Nothing answers.
  {
    kinds: ['hungBefore', 'hungAfter'],
    probability: 0.9,
    actions: ['list', 'other', 'create', 'createOnce'],
  },
  // A creation conflicts until its time is over.
  { kinds: ['conflict'], probability: 1, table: 'Pets', actions: ['createOnce'] },
  // Every write meets a transaction, or another write.
  { kinds: ['conflict', 'throttled'], probability: 0.9, table: 'Pets', actions: ['create', 'createOnce'] },
  // Only the limiter is throttled: an environment counts by itself.
  {
    kinds: ['throttled', 'lostBefore'],
    probability: 0.7,
    table: 'RateLimits',
    clients: 1,
    actions: ['wave'],
    limits: 'narrow',
  },
  // A flood, in which an operator suspends the key, or in which a write is refused.
  { keys: 1, clients: 1, actions: ['other'], flood: true, limits: 'narrow' },
  // A full store.
  { pets: 60, actions: ['list', 'list', 'turnPages', 'create'], limits: 'wide', status: true },
  // Mistakes, with a key that expires.
  { keys: 1, actions: ['mistake', 'mistake', 'other'], pace: 10_000, expiresWithin: 60 },
  // Requests at the end of a minute and of a day.
  {
    startsAt: ['2026-07-01T12:00:58Z', '2026-07-01T23:59:58Z'],
    clients: 4,
    actions: ['wave', 'other'],
    pace: 300,
  },
] as const satisfies readonly Aim[];

interface Aim {
  readonly startsAt?: readonly string[];
  readonly keys?: number;
  readonly clients?: number;
  readonly pets?: number;
  readonly lag?: number;
  readonly kinds?: readonly Fault[];
  readonly probability?: number;
  /** The only table whose calls meet faults. */
  readonly table?: string;
  readonly actions?: readonly ActionName[];
  readonly texts?: number;
  readonly limits?: 'narrow' | 'wide';
  readonly flood?: boolean;
  readonly status?: boolean;
  /** Seconds. */
  readonly expiresWithin?: number;
  /** Milliseconds between two actions at most. */
  readonly pace?: number;
}

/** Aims that every run of a few seeds has. */
export const aimCount = aims.length;

/**
 * A few minutes of the service, which its seed determines.
 * @param versions that execution environments are of
 * @param part if only these happen, of what happened without
 */
async function record(
  seed: number,
  versions: readonly Version[],
  part?: { readonly of: Recording; readonly only: Part },
): Promise<Recording> {
  const random = Random.of(seed, 'start');
  const aim: Aim = aims[Math.abs(seed) % aims.length]!;
  const startsAt = random.pick(
    aim.startsAt ?? [
      '2026-07-01T12:00:00Z',
      '2026-07-01T12:00:58Z',
      '2026-07-01T23:59:50Z',
      '2026-07-01T23:58:59Z',
    ],
  );
  const world = new World(Date.parse(startsAt) + random.below(1000), Random.of(seed, 'packages').next);
  const conditions = conditionsOf(random, aim);
  const met = new Set<string>();
  const tables = serviceTables(() => world.now);
  const writes = new Writes(tables);
  const arrange = arrangement(seed, world, writes, conditions, met, part?.only.faults);
  const network = new Network(world, tables, arrange, strangers);
  const evaluations = noteEvaluations(tables);
  const gateway = new Gateway({
    world,
    network,
    machine: (environment) => {
      const own = Random.of(seed, environment);
      // Few values, so that IDs collide.
      return {
        random: conditions.collisions ? () => own.pick([0, 0.999]) : own.next,
        version: Random.of(seed, `version of ${environment}`).pick(versions),
      };
    },
  });
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
      return new Client(shared, Random.of(seed, `client ${index}`), keys[number]!).run();
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

/** @throws Violation with the story of the fewest requests, events and faults that still have it */
export async function simulate(seed: number, versions: readonly Version[]): Promise<History> {
  const recording = await record(seed, versions);
  const violation = violationOf(recording.history);
  if (violation === undefined) return recording.history;
  const only = await smallestPart(seed, versions, recording, violation);
  const { history } = await record(seed, versions, { of: recording, only });
  const found = violationOf(history);
  const [story, variables] =
    found === undefined
      ? [tell(violation, recording.history), `SEED=${seed} `]
      : [tell(found, history), `SEED=${seed} ONLY=${partAsText(only)} `];
  throw new Violation(`${story}\n${howToRepeat(versions, variables, ` -t '${titleOf(versions)}'`)}`);
}

/** Of the test, to repeat it alone. */
export function titleOf(versions: readonly Version[]): string {
  return versions.length > 1 ? 'from seeds, with two versions' : 'from seeds, with one version';
}

/** @param text of a part that failed. @throws Violation */
export async function simulatePart(
  seed: number,
  versions: readonly Version[],
  text: string,
): Promise<History> {
  const recording = await record(seed, versions);
  const { history } = await record(seed, versions, { of: recording, only: partOfText(text) });
  const violation = violationOf(history);
  if (violation !== undefined) throw new Violation(tell(violation, history));
  return history;
}

function violationOf(history: History): Violation | undefined {
  try {
    check(history);
    return undefined;
  } catch (error) {
    if (error instanceof Violation) return error;
    throw error;
  }
}

async function smallestPart(
  seed: number,
  versions: readonly Version[],
  recording: Recording,
  { kind }: Violation,
): Promise<Part> {
  const part = { ...recording.whole };
  for (const list of ['requests', 'events', 'faults'] as const) {
    const things: readonly (number | string)[] = [...part[list]];
    const left = await fewest(things, async (only) => {
      const { history } = await record(seed, versions, {
        of: recording,
        only: { ...part, [list]: new Set(only) },
      });
      return violationOf(history)?.kind === kind;
    });
    Object.assign(part, { [list]: new Set(left) });
  }
  return part;
}

/** Such as `3,7/0/7.2`. */
function partAsText({ requests, events, faults: met }: Part): string {
  return [requests, events, met].map((each) => [...each].join(',')).join('/');
}

function partOfText(text: string): Part {
  const [requests = [], events = [], met = []] = text
    .split('/')
    .map((list) => list.split(',').filter((each) => each !== ''));
  return {
    requests: new Set(requests.map(Number)),
    events: new Set(events.map(Number)),
    faults: new Set(met),
  };
}

interface Conditions {
  readonly kinds: readonly Fault[];
  /** Of a call. */
  readonly probability: number;
  readonly table: string | undefined;
  readonly lag: number;
  readonly collisions: boolean;
  readonly flood: boolean;
  /** Writes that an item gets in a second. */
  readonly hot: number;
  /** Items in the answer of a query. */
  readonly fit: number;
  readonly operator: boolean;
  readonly status: boolean;
}

function conditionsOf(random: Random, aim: Aim): Conditions {
  const faulty = random.chance(0.6);
  const some = faults.filter(() => random.chance(0.5));
  return {
    kinds: aim.kinds ?? (faulty ? some : []),
    probability: aim.probability ?? random.pick([0.02, 0.1, 0.4]),
    table: aim.table,
    lag: aim.lag ?? random.pick([0, 0, 1000]),
    collisions: random.chance(0.15),
    flood: aim.flood ?? false,
    hot: random.chance(0.15) ? 3 + random.below(5) : Infinity,
    fit: random.chance(0.2) ? 1 + random.below(3) : Infinity,
    operator: random.chance(0.3) || aim.flood === true,
    status: aim.status ?? false,
  };
}

/**
 * When a call arrives, what it meets, and when its answer does. It depends on nothing but the seed and the call's name, so that
 * it stays the same if other requests are left out.
 * @param met names of the calls that meet a fault
 * @param only those that may
 */
function arrangement(
  seed: number,
  world: World,
  writes: Writes,
  { kinds, probability, table, lag, hot, fit }: Conditions,
  met: Set<string>,
  only?: ReadonlySet<string>,
) {
  return (call: Call, network: Network): void => {
    const random = Random.of(seed, `call ${call.name}`);
    call.variant = random.next();
    const isFaulty = kinds.length > 0 && (table === undefined || table === call.table);
    const [isSlow, hasFault] = [isFaulty && random.chance(0.02), isFaulty && random.chance(probability)];
    const fault = random.pick(faults.filter((each) => kinds.length === 0 || kinds.includes(each)));
    const isCalm = only?.has(call.name) === false;
    const slow = isSlow && !isCalm;
    if (isSlow || hasFault) met.add(call.name);
    const delay = () => (slow ? 100 + random.below(600) : 1 + random.below(random.pick([3, 20])));
    call.latency = [delay(), delay()];
    call.fate = hasFault && !isCalm ? fault : 'answered';
    const asOf = () => (random.chance(0.5) ? world.now - random.below(lag + 1) : Infinity);
    const [there, back] = call.latency;
    const arriving = random.below(there);
    world.after(arriving, () => {
      if (call.fate === 'answered' && writes.isHot(call, hot, world.now)) call.fate = 'throttled';
      // A call that meets a transaction is refused at once.
      const conflict = call.fate === 'answered' ? writes.refusalOf(call) : undefined;
      if (conflict) call.fate = 'conflict';
      const refused = conflict && network.meet(call, {}, conflict);
      const end = call.fate === 'answered' ? writes.begin(call) : () => {};
      world.after(there - arriving, () => {
        end();
        const respond =
          refused ??
          network.meet(
            call,
            {
              asOf,
              fit: 1 + random.below(fit === Infinity ? 1 : fit) + (fit === Infinity ? Infinity : 0),
            },
            writes.refusalOf(call),
          );
        world.after(back, respond);
      });
    });
  };
}

function newKeyOf(
  random: Random,
  world: World,
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
function keyFormatOf(version: Version, world: World, network: Network): KeyFormat {
  if (!version.entries.has(keyFormat)) return { newKey, hashOfKey };
  return partOf(keyFormat, version, world, network) as KeyFormat;
}

/** What a module of a version exports. */
function partOf(entry: string, { bundle }: Version, world: World, network: Network): unknown {
  const requestHandler = network.handlerFor('key tool', () => {}, Infinity);
  const { random } = world;
  return bundle.start(entry, { world, clockOffset: 0, random, variables: {}, requestHandler });
}

function keyItem({ keyHash, plan, perMinute, perDay, expiresAt }: Key, status = 'active'): Item {
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
function addPets(random: Random, world: World, network: Network, most: number): string[] {
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
function before(world: World, work: () => void): void {
  const { now } = world;
  world.now -= 10_000;
  work();
  world.now = now;
}

/** Something that happens beside the requests. `run` says what it was, if it was anything. */
interface Event {
  readonly at: number;
  readonly run: () => string | undefined;
}

/** When a flood starts to be rejected for good, in milliseconds after its first requests. */
const floodAfter = 12_500;

function eventsOf(
  random: Random,
  world: World,
  tables: Tables,
  writes: Writes,
  gateway: Gateway,
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
    // Beside the requests that suspend the key.
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
  /** As the key tool does: for seconds, hours or days. */
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

/** At the start of a minute, so that it stays in it. */
function floodStart(start: number): number {
  return Math.ceil(start / 60_000) * 60_000 + 5_000;
}

type ActionName =
  'list' | 'create' | 'createOnce' | 'createAndRead' | 'other' | 'mistake' | 'wave' | 'turnPages';

const usual = ['list', 'list', 'create', 'createOnce', 'createOnce', 'other', 'mistake', 'burst'] as const;

/** Operations with an action of their own. */
const withAction: ReadonlySet<string> = new Set(['list-pets', 'create-pet']);
const otherOperations = operations.filter(({ entry }) => !withAction.has(entry));

/** What clients of one simulation share. */
interface Shared {
  readonly seed: number;
  readonly world: World;
  readonly gateway: Gateway;
  readonly versions: readonly Version[];
  readonly aim: Aim;
  readonly flood: boolean;
  /** IDs of items, by the path of their collection. */
  readonly ids: Map<string, string[]>;
  readonly used: { names: number; mistakes: number };
}

/** A client of the API, which does this and that, and waits now and then. */
class Client {
  readonly #shared: Shared;
  readonly #random: Random;
  readonly #key: Key;
  #last: Exchange | undefined;

  constructor(shared: Shared, random: Random, key: Key) {
    this.#shared = shared;
    this.#random = random;
    this.#key = key;
  }

  async run(): Promise<void> {
    const { world, aim, flood } = this.#shared;
    const random = this.#random;
    if (flood) return this.#flood(world.now);
    const actions = {
      list: () => this.#list(),
      create: () => this.#create(),
      createOnce: () => this.#createOnce(),
      createAndRead: () => this.#createAndRead(),
      other: () => this.#other(),
      mistake: () => this.#mistake(),
      burst: () => this.#requests(2 + random.below(5)),
      wave: () => this.#wave(),
      turnPages: () => this.#list(0),
    };
    for (let step = 3 + random.below(10); step > 0; step -= 1) {
      await actions[random.pick<ActionName | 'burst'>(aim.actions ?? usual)]();
      await world.sleep(aim.pace === undefined ? this.#pause() : random.below(aim.pace));
    }
  }

  #pause(): number {
    const retryAfter = Number(this.#last?.answer.headers?.['Retry-After'] ?? 0);
    return this.#random.pick([
      0,
      this.#random.below(50),
      this.#random.below(5_000),
      Math.min(retryAfter, 90_000) * 1000,
      this.#random.below(70_000),
    ]);
  }

  async #send(sent: Omit<Sent, 'token'>, token = this.#key.token): Promise<Exchange> {
    const { gateway, versions } = this.#shared;
    // No client knows yet what only the newer version has.
    const query = sent.query?.filter(([name]) =>
      versions.every(({ queries }) => queries.has(queryOf(sent.method, sent.path, name))),
    );
    const exchange = await gateway.send({ ...sent, ...(query && { query }), token });
    this.#last = exchange;
    const { status, headers } = exchange.answer;
    if (status === 201 && headers !== undefined) this.#idsOf(sent.path).push(idOf(exchange));
    return exchange;
  }

  #idsOf(collection: string): string[] {
    const { ids } = this.#shared;
    const known = ids.get(collection) ?? [];
    ids.set(collection, known);
    return known;
  }

  /** @param mistakes probability of a cursor with another filter */
  async #list(mistakes = 0.1): Promise<void> {
    const random = this.#random;
    const { path, filters } = random.pick(resources);
    let next: (readonly [string, string])[] | undefined = [
      ...(random.chance(0.7) ? [['limit', String(1 + random.below(5))] as const] : []),
      ...filters(random),
    ];
    for (let page = 0; page < 6 && next !== undefined; page += 1) {
      const { answer } = await this.#send({ method: 'GET', path, query: next });
      if (answer.status !== 200) break;
      const link = /^<[^?]+\?([^>]+)>; rel="next"$/.exec(answer.headers?.['Link'] ?? '')?.[1];
      next = link === undefined ? undefined : [...new URLSearchParams(link)];
      if (next !== undefined && random.chance(mistakes))
        next = [...next.filter(([name]) => name === 'limit' || name === 'cursor'), ...filters(random)];
      await this.#shared.world.sleep(random.below(200));
    }
  }

  /** @param name in tools/contributors/openapi/bodies.ts */
  #body(path: string, name: string): string {
    const { used } = this.#shared;
    const body = resourceOf(path)?.bodies[name];
    if (body === undefined)
      throw new Error(`Add ${name} to "bodies" of the resource ${path} in test/service/simulation/`);
    return body(this.#random, (used.names += 1));
  }

  #newPet(): string {
    return this.#body(animals.path, 'NewPet');
  }

  async #create(): Promise<string | undefined> {
    const exchange = await this.#send({ method: 'POST', path: animals.path, body: this.#newPet() });
    return exchange.answer.status === 201 ? idOf(exchange) : undefined;
  }

  async #createAndRead(): Promise<void> {
    const id = await this.#create();
    if (id !== undefined) await this.#send({ method: 'GET', path: `/pets/${id}` });
  }

  /** A creation that is repeated: at once, later, with another body, or all at the same time. */
  async #createOnce(): Promise<void> {
    const random = this.#random;
    const { world, aim } = this.#shared;
    const [body, other] = [this.#newPet(), this.#newPet()];
    const number = aim.texts === undefined ? this.#shared.used.names : random.below(aim.texts);
    const sent = {
      method: 'POST',
      path: '/pets',
      idempotencyKey: `${random.pick(['order', 'Order'])} ${number}`,
    } as const;
    const one = () => this.#send({ ...sent, body: respelled(random, random.chance(0.15) ? other : body) });
    if (random.chance(0.4)) await Promise.all(Array.from({ length: 2 + random.below(3) }, one));
    else await one();
    for (let retry = random.below(4); retry > 0; retry -= 1) {
      await world.sleep(random.pick([0, random.below(2_000), random.below(200_000)]));
      await one();
    }
    if (random.chance(0.05)) {
      await world.sleep(86_400_000 - 3_000 + random.below(10_000));
      await one();
    }
  }

  /** A request to any operation that has no action of its own. */
  async #other(): Promise<void> {
    const random = this.#random;
    const { method, path, entry } = random.pick(otherOperations);
    const { request } = descriptions[entry];
    const ids = this.#idsOf(path.replace(/\/\{.*/, ''));
    const id = ids.length > 0 && random.chance(0.8) ? random.pick(ids) : '12345';
    const body = request && this.#body(path, request);
    await this.#send({ method, path: path.replaceAll(/\{\w+\}/g, id), ...(body !== undefined && { body }) });
  }

  async #mistake(): Promise<void> {
    const random = this.#random;
    const { used } = this.#shared;
    const wrong: Omit<Sent, 'token'>[] = [
      { method: 'GET', path: '/nowhere' },
      { method: 'DELETE', path: '/pets' },
      { method: 'GET', path: '/pets', query: [['limit', '0']] },
      { method: 'GET', path: '/pets', query: [['status', 'lost']] },
      { method: 'GET', path: '/pets/abc' },
      { method: 'POST', path: '/pets', body: `{"name":"invalid"}` },
      { method: 'POST', path: '/pets', body: ' '.repeat(65_537) },
      { method: 'POST', path: '/pets', body: '{"name":"invalid","categoryId":1}', contentType: 'text/plain' },
      { method: 'POST', path: '/pets', body: `{"name":"invalid","categoryId":7.5}` },
    ];
    await this.#send(
      // In turn, so that a few seeds have all.
      wrong[(used.mistakes += 1) % wrong.length]!,
      random.chance(0.2) ? newKey('test', (below) => random.below(below)) : undefined,
    );
  }

  /** Requests at the same time, of one function. */
  async #requests(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        await this.#shared.world.sleep(this.#random.below(50));
        await this.#send({ method: 'GET', path: '/nowhere' });
      }),
    );
  }

  /** Requests one after the other, which one environment serves. */
  async #wave(): Promise<void> {
    for (let count = 3 + this.#random.below(5); count > 0; count -= 1)
      await this.#send({ method: 'GET', path: '/nowhere' });
  }

  /** After the time in which rejections do not count, before the minute ends. */
  async #flood(start: number): Promise<void> {
    const { world } = this.#shared;
    await this.#other();
    await world.sleep(floodStart(start) - world.now);
    await this.#requests(22);
    await world.sleep(floodStart(start) + floodAfter - world.now);
    await this.#requests(rejectionsThatSuspend(this.#key.perMinute, floodStart(start) / 1000) + 25);
    await this.#requests(3);
    await world.sleep(700_000);
    await this.#other();
  }
}

/** Of what was created. */
function idOf({ answer }: Exchange): string {
  return String((answer as { readonly body: { readonly id: unknown } }).body.id);
}

/** The same JSON in another spelling; seldom with a field that the service does not know, which makes it another body. */
function respelled(random: Random, body: string): string {
  const members = body.slice(1, -1).split(',');
  return random.pick([
    body,
    body,
    `{ ${members.toReversed().join(' ,\n ')} }`,
    body.replace(/:"(\w)/, (_, letter: string) => `:"\\u00${letter.codePointAt(0)!.toString(16)}`),
    ...(random.chance(0.2) ? [`{"note":1,${body.slice(1)}`] : []),
  ]);
}
