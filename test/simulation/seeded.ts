import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import type { Item } from '../support/memory-tables.ts';
import { Gateway, type Exchange, type Sent } from './gateway.ts';
import { check, type History, type Key } from './model.ts';
import { type Call, faults, type Fault, Network } from './network.ts';
import { atTheEnd, Random, World } from './world.ts';

/** A few minutes of the service, which its seed determines. @throws Violation */
export async function simulate(seed: number): Promise<History> {
  const random = new Random(seed);
  const startsAt = random.pick([
    '2026-07-01T12:00:00Z',
    '2026-07-01T12:00:58Z',
    '2026-07-01T23:59:50Z',
    '2026-07-01T23:58:59Z',
  ]);
  const world = new World(Date.parse(startsAt) + random.below(1000), random.next);
  const conditions = conditionsOf(random);
  const network = new Network(world, arrangement(world, random, conditions));
  const gateway = new Gateway({
    world,
    network,
    machine: () => ({
      clockOffset: random.pick(conditions.clocks),
      // Few values, so that IDs collide.
      random: conditions.collisions ? () => random.pick([0, 0.999]) : random.next,
    }),
  });
  const keys = Array.from({ length: 1 + random.below(2) }, () => newKeyOf(random, world, network));
  const pets = addPets(random, world, network);
  let names = 0;
  const clients = Array.from({ length: 1 + random.below(4) }, () =>
    new Client(random, world, gateway, random.pick(keys), pets, conditions.flood, () => (names += 1)).run(),
  );
  operate(random, world, network, gateway, keys, conditions);
  await world.run();
  await atTheEnd(clients);
  const history = {
    exchanges: gateway.exchanges,
    keys,
    tables: network.tables,
    lag: conditions.lag,
    worstClock: Math.max(...conditions.clocks.map(Math.abs)),
  };
  check(history);
  return history;
}

interface Conditions {
  readonly kinds: readonly Fault[];
  /** Of a call. */
  readonly probability: number;
  /** Milliseconds by which the clocks of new environments are ahead. */
  readonly clocks: readonly number[];
  readonly lag: number;
  readonly collisions: boolean;
  readonly flood: boolean;
  /** Writes that an item gets in a second. */
  readonly hot: number;
  /** Items in the answer of a query. */
  readonly fit: number;
  readonly operator: boolean;
}

function conditionsOf(random: Random): Conditions {
  const faulty = random.chance(0.6);
  return {
    kinds: faulty ? faults.filter(() => random.chance(0.5)) : [],
    probability: random.pick([0.02, 0.1, 0.4]),
    clocks: random.chance(0.3) ? [0, random.pick(wrongClocks), random.pick(wrongClocks)] : [0],
    lag: random.pick([0, 0, 1000]),
    collisions: random.chance(0.15),
    flood: random.chance(0.04),
    hot: random.chance(0.15) ? 3 + random.below(5) : Infinity,
    fit: random.chance(0.2) ? 1 + random.below(3) : Infinity,
    operator: random.chance(0.3),
  };
}

/**
 * None is between a second and five minutes behind: DynamoDB accepts its signature, so the first request of the environment can
 * be counted in a minute that has ended, before the answer corrects the clock.
 */
const wrongClocks = [
  400, -400, 90_000, 270_000, 306_000, -306_000, 3_600_000, -3_600_000, 86_400_000, -86_400_000,
];

/** When a call arrives, what it meets, and when its answer does. */
function arrangement(world: World, random: Random, { kinds, probability, lag, hot, fit }: Conditions) {
  return (call: Call, network: Network): void => {
    const slow = random.chance(0.02) && kinds.length > 0;
    const delay = () => (slow ? 100 + random.below(600) : 1 + random.below(random.pick([3, 20])));
    call.latency = [delay(), delay()];
    call.fate = kinds.length > 0 && random.chance(probability) ? random.pick(kinds) : 'answered';
    const asOf = random.chance(0.5) ? world.now - random.below(lag + 1) : Infinity;
    const [there, back] = call.latency;
    const arriving = random.below(there);
    world.after(arriving, () => {
      if (call.fate === 'answered' && network.isHot(call, hot)) call.fate = 'throttled';
      if (call.fate === 'answered' && network.meetsTransaction(call)) call.fate = 'conflict';
      const unlock = call.fate === 'answered' ? network.lock(call) : () => {};
      world.after(there - arriving, () => {
        unlock();
        const respond = network.meet(call, {
          asOf,
          fit: 1 + random.below(fit === Infinity ? 1 : fit) + (fit === Infinity ? Infinity : 0),
        });
        world.after(back, respond);
      });
    });
  };
}

function newKeyOf(random: Random, world: World, network: Network): Key {
  const token = newKey('test', (below) => random.below(below));
  const keyHash = hashOfKey(token);
  const perMinute = random.pick([2, 5, 20]);
  const perDay = random.pick([3, 10, 1000]);
  const expiresAt = random.chance(0.25) ? Math.floor(world.now / 1000 + random.below(300)) * 1000 : 0;
  const key: Key = { token, keyHash, perMinute, perDay, expiresAt, revokedAt: Infinity, suspensions: [] };
  network.tables.put('ApiKeys', keyItem(key));
  return key;
}

function keyItem({ keyHash, perMinute, perDay, expiresAt }: Key, status = 'active'): Item {
  return {
    keyHash: { S: keyHash },
    keyId: { S: 'key_1' },
    plan: { S: 'enterprise' },
    status: { S: status },
    perMinute: { N: String(perMinute) },
    perDay: { N: String(perDay) },
    ...(expiresAt > 0 && { expiresAt: { N: String(expiresAt / 1000) } }),
  };
}

const statuses = ['available', 'pending', 'sold'] as const;

/** Animals of former times, some of them malformed. Returns their IDs. */
function addPets(random: Random, world: World, network: Network): string[] {
  const { now } = world;
  world.now -= 10_000;
  const ids = Array.from({ length: random.below(12) }, (_, index) => String(1000 + index));
  for (const id of ids) {
    network.tables.put('Pets', {
      id: { N: id },
      ...(random.chance(0.95) && { name: { S: `seed ${id}` } }),
      categoryId: { N: '7' },
      status: { S: random.pick(statuses) },
    });
  }
  world.now = now;
  return ids;
}

/** What an operator does meanwhile. */
function operate(
  random: Random,
  world: World,
  network: Network,
  gateway: Gateway,
  keys: readonly Key[],
  { operator }: Conditions,
): void {
  world.after(random.below(100_000), () => gateway.endIdle());
  if (!operator) return;
  const { tables } = network;
  for (let each = 0; each < 4; each += 1) {
    const key = random.pick(keys);
    const action = random.pick(['suspend', 'revoke', 'status', 'status'] as const);
    const value = random.next();
    world.after(random.below(60_000), () => {
      if (action === 'revoke' && value < 0.3) {
        key.revokedAt = Math.min(key.revokedAt, world.now);
        tables.put('ApiKeys', keyItem(key, 'revoked'));
      }
      if (action === 'suspend') {
        const until = Math.floor(world.now / 1000) * 1000 + Math.floor(value * 40) * 1000 + 5_000;
        if (key.suspensions.length > 0) return;
        const stored = tables
          .versions('RateLimits')
          .find((versions) => versions[0]!.item!['keyHash']!.S === key.keyHash)
          ?.at(-1)?.item;
        tables.put('RateLimits', {
          ...stored,
          keyHash: { S: key.keyHash },
          suspendedUntil: { N: String(until / 1000) },
        });
        key.suspensions.push({ from: world.now, until });
      }
      if (action === 'status') {
        const pets = tables.versions('Pets').map((versions) => versions.at(-1)!.item!);
        const pet = pets[Math.floor(value * pets.length)];
        if (pet !== undefined)
          tables.put('Pets', { ...pet, status: { S: statuses[Math.floor(value * 1e6) % 3]! } });
      }
    });
  }
}

/** A client of the API, which does this and that, and waits now and then. */
class Client {
  readonly #random: Random;
  readonly #world: World;
  readonly #gateway: Gateway;
  readonly #key: Key;
  readonly #pets: string[];
  readonly #flood: boolean;
  readonly #nextName: () => number;
  #last: Exchange | undefined;

  constructor(
    random: Random,
    world: World,
    gateway: Gateway,
    key: Key,
    pets: string[],
    flood: boolean,
    nextName: () => number,
  ) {
    this.#nextName = nextName;
    this.#random = random;
    this.#world = world;
    this.#gateway = gateway;
    this.#key = key;
    this.#pets = pets;
    this.#flood = flood;
  }

  async run(): Promise<void> {
    const random = this.#random;
    for (let step = 3 + random.below(10); step > 0; step -= 1) {
      const action = random.pick([
        () => this.#list(),
        () => this.#list(),
        () => this.#create(),
        () => this.#createOnce(),
        () => this.#createOnce(),
        () => this.#get(),
        () => this.#mistake(),
        () => this.#burst(),
      ]);
      await action();
      await this.#world.sleep(this.#pause());
    }
    if (!this.#flood) return;
    // After the time in which rejections do not count, before the minute ends.
    await this.#world.sleep(60_000 - (this.#world.now % 60_000) + random.below(30_000));
    await this.#floodWith(22);
    await this.#world.sleep(12_500);
    await this.#floodWith(125);
    await this.#floodWith(3);
  }

  #pause(): number {
    const retryAfter = Number(this.#last?.answer.headers?.['Retry-After'] ?? 0);
    return this.#random.pick([
      0,
      this.#random.below(50),
      this.#random.below(5_000),
      retryAfter * 1000,
      this.#random.below(70_000),
    ]);
  }

  async #send(sent: Omit<Sent, 'token'>, token = this.#key.token): Promise<Exchange> {
    this.#last = await this.#gateway.send({ ...sent, token });
    return this.#last;
  }

  async #list(): Promise<void> {
    const random = this.#random;
    const query: [string, string][] = [
      ...(random.chance(0.7) ? [['limit', String(1 + random.below(5))] as [string, string]] : []),
      ...(random.chance(0.5) ? [['status', random.pick(statuses)] as [string, string]] : []),
    ];
    let next: [string, string][] | undefined = query;
    for (let page = 0; page < 6 && next !== undefined; page += 1) {
      const { answer } = await this.#send({ method: 'GET', path: '/pets', query: next });
      if (answer.status !== 200) break;
      const link = /^<https:\/\/api\.example\.com\/v1\/pets\?([^>]+)>; rel="next"$/.exec(
        answer.headers?.['Link'] ?? '',
      )?.[1];
      next = link === undefined ? undefined : [...new URLSearchParams(link)];
      await this.#world.sleep(random.below(200));
    }
  }

  #body(): string {
    const random = this.#random;
    return JSON.stringify({
      name: `pet ${this.#nextName()}`,
      categoryId: random.below(10),
      ...(random.chance(0.5) && { status: random.pick(statuses) }),
    });
  }

  async #create(): Promise<void> {
    const { answer } = await this.#send({ method: 'POST', path: '/pets', body: this.#body() });
    if (answer.status === 201 && answer.headers !== undefined)
      this.#pets.push(answer.headers['Location']!.split('/').at(-1)!);
  }

  /** A creation that is repeated: at once, later, with another body, or all at the same time. */
  async #createOnce(): Promise<void> {
    const random = this.#random;
    const [body, other] = [this.#body(), this.#body()];
    const sent = { method: 'POST', path: '/pets', idempotencyKey: `key ${nameIn(body)}` } as const;
    const one = () => this.#send({ ...sent, body: random.chance(0.15) ? other : body });
    if (random.chance(0.4)) await Promise.all(Array.from({ length: 2 + random.below(3) }, one));
    else await one();
    for (let retry = random.below(4); retry > 0; retry -= 1) {
      await this.#world.sleep(random.pick([0, random.below(2_000), random.below(200_000)]));
      await one();
    }
    if (random.chance(0.05)) {
      await this.#world.sleep(86_400_000 - 3_000 + random.below(10_000));
      await one();
    }
  }

  async #get(): Promise<void> {
    const random = this.#random;
    const id = this.#pets.length > 0 && random.chance(0.8) ? random.pick(this.#pets) : '12345';
    await this.#send({ method: 'GET', path: `/pets/${id}` });
  }

  async #mistake(): Promise<void> {
    const random = this.#random;
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
      random.pick(wrong),
      random.chance(0.2) ? newKey('test', (below) => random.below(below)) : undefined,
    );
  }

  async #burst(): Promise<void> {
    await this.#floodWith(2 + this.#random.below(5));
  }

  async #floodWith(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        await this.#world.sleep(this.#random.below(50));
        await this.#send({ method: 'GET', path: '/nowhere' });
      }),
    );
  }
}

function nameIn(body: string): string {
  return (JSON.parse(body) as { name: string }).name;
}
