import type { Random, World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import { newKey } from '../../../functions/access/keys.ts';
import { operations } from '../../../functions/operations.ts';
import { descriptions } from '../../../tools/contributors/openapi/operations.ts';
import { queryOf } from '../../support/used-operations.ts';
import { rejectionsThatSuspend } from '../limits.model.ts';
import { type ActionName, type Aim, floodAfter, floodStart } from './aims.ts';
import { animals } from './animals.ts';
import type { Version } from './environments.ts';
import type { Exchange, Sent, SimulatedGateway } from './gateway.ts';
import { resourceOf, resources } from './model.ts';
import type { Key } from './seen.ts';

const usual = ['list', 'list', 'create', 'createOnce', 'createOnce', 'other', 'mistake', 'burst'] as const;

/** Operations with an action of their own. */
const withAction: ReadonlySet<string> = new Set(['list-pets', 'create-pet']);
const otherOperations = operations.filter(({ entry }) => !withAction.has(entry));

/** What clients of one simulation share. */
interface Shared {
  readonly seed: number;
  readonly world: SimulatedWorld;
  readonly gateway: SimulatedGateway;
  readonly versions: readonly Version[];
  readonly aim: Aim;
  readonly flood: boolean;
  /** IDs of items, by the path of their collection. */
  readonly ids: Map<string, string[]>;
  readonly used: { names: number; mistakes: number };
}

/** A client of the API, which does this and that, and waits now and then. */
export class RandomClient {
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
      // They come in turn, so that a few seeds have all.
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

  /** Sends a flood after the time in which rejections do not count, before the minute ends. */
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

/** The ID of what was created. */
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
