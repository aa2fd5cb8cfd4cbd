import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { Client, type Reply } from '../../tools/operators/smoke/client.ts';
import { nextOf, petStatuses } from '../../tools/operators/smoke/expectations.ts';
import { AnswerValidator } from '../support/openapi-validator.ts';

export interface MixedLoadOptions {
  /** It ends in the version segment. */
  readonly baseUrl: string;
  /** It must be an Enterprise key whose limits are above the rate. */
  readonly key: string;
  readonly seconds: number;
  /** Steps a second, of one to three requests. They begin on time, whether earlier ones were answered or not. */
  readonly rate: number;
}

export interface MixedLoadReport {
  readonly requests: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  /** 99 of 100 answers took at most this. */
  readonly p99Ms: number;
  /** Acknowledged creations, repeated ones counted once. */
  readonly created: number;
  /** Answers that differ from the contract or from what the request must get, creations that are not listed once. */
  readonly violations: readonly string[];
}

const petShape = z.object({ id: z.number(), name: z.string() });

type Step = (load: MixedLoad) => Promise<unknown>;

/** What is sent, in turn: half of it reads. */
const steps: readonly Step[] = [
  (load) => load.create(),
  (load) => load.list('/pets'),
  (load) => load.fetchOne(),
  (load) => load.create(),
  (load) => load.list('/pets?limit=100'),
  (load) => load.createTwice(),
  (load) => load.list('/pets?status=sold&limit=7'),
  (load) => load.fetchOne(),
  (load) => load.followPages(),
  (load) => load.mistake(),
];

/** Mistakes of clients, and the status that each must get. */
const mistakes = [
  { path: '/pets', authorization: null, status: 401 },
  { path: '/pets?limit=0', status: 400 },
  { path: '/pets/1', status: 404 },
  { path: '/dogs', status: 404 },
  { method: 'DELETE', path: '/pets', status: 405 },
  { method: 'POST', path: '/pets', body: '{"name":"Rex"}', json: true, status: 400 },
] as const;

/** Sends a mix of requests at a steady rate and compares every answer with the OpenAPI document. */
export async function runMixedLoad(options: MixedLoadOptions): Promise<MixedLoadReport> {
  await warmUp(options);
  const load = new MixedLoad(options);
  await load.run();
  await load.findCreated();
  return load.report();
}

/** One request after the other, whatever the answers: the first ones start the functions. */
async function warmUp(options: MixedLoadOptions): Promise<void> {
  const load = new MixedLoad(options);
  for (const step of [...steps, ...steps]) await step(load).catch(() => {});
}

class MixedLoad {
  readonly #client: Client;
  readonly #options: MixedLoadOptions;
  readonly #validator = new AnswerValidator();
  readonly #statuses: Record<string, number> = {};
  readonly #durations: number[] = [];
  readonly #violations: string[] = [];
  readonly #created = new Set<number>();
  #oldest = Infinity;
  #mistakes = 0;

  constructor(options: MixedLoadOptions) {
    this.#options = options;
    this.#client = new Client(options.baseUrl, options.key);
  }

  async run(): Promise<void> {
    const { seconds, rate } = this.#options;
    const startedAt = performance.now();
    const underWay: Promise<void>[] = [];
    for (let index = 0; index < seconds * rate; index += 1) {
      await sleep(Math.max(0, startedAt + (index * 1000) / rate - performance.now()));
      const step = steps[index % steps.length]!;
      underWay.push(
        step(this).then(
          () => {},
          (error: unknown) => void this.#violations.push(String(error)),
        ),
      );
    }
    await Promise.all(underWay);
  }

  /** Walks through all animals back to the oldest one that was created: each creation is listed once. */
  async findCreated(): Promise<void> {
    const listed: number[] = [];
    let path: string | undefined = '/pets?limit=100';
    while (path !== undefined && (listed.at(-1) ?? Infinity) >= this.#oldest) {
      const reply: Reply = await this.#send(200, { path });
      listed.push(
        ...z
          .array(petShape)
          .parse(JSON.parse(reply.text))
          .map(({ id }) => id),
      );
      path = nextOf(reply);
    }
    const counts = new Map<number, number>();
    for (const id of listed) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const id of this.#created) {
      const count = counts.get(id) ?? 0;
      if (count !== 1) this.#violations.push(`created animal ${id} is listed ${count} times`);
    }
  }

  report(): MixedLoadReport {
    const sorted = this.#durations.toSorted((a, b) => a - b);
    return {
      requests: sorted.length,
      statuses: this.#statuses,
      slowestMs: Math.round(sorted.at(-1) ?? 0),
      p99Ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
      created: this.#created.size,
      violations: this.#violations,
    };
  }

  async create(idempotencyKey: string = randomUUID()): Promise<number> {
    const status = petStatuses[this.#durations.length % petStatuses.length]!;
    return this.#post(JSON.stringify({ name: idempotencyKey, categoryId: 7, status }), idempotencyKey);
  }

  /** Repeats a creation with its idempotency key: the same animal is the answer. */
  async createTwice(): Promise<void> {
    const idempotencyKey = randomUUID();
    const body = JSON.stringify({ name: idempotencyKey, categoryId: 7 });
    const [first, second] = await Promise.all([
      this.#post(body, idempotencyKey),
      this.#post(body, idempotencyKey),
    ]);
    if (first !== second) this.#violations.push(`one idempotency key created ${first} and ${second}`);
  }

  async list(path: string): Promise<void> {
    await this.#send(200, { path });
  }

  async fetchOne(): Promise<void> {
    const id = await this.create();
    await this.#send(200, { path: `/pets/${id}` });
  }

  async followPages(): Promise<void> {
    let path: string | undefined = '/pets?limit=5';
    for (let page = 0; page < 3 && path !== undefined; page += 1) {
      path = nextOf(await this.#send(200, { path }));
    }
  }

  async mistake(): Promise<void> {
    const { status, ...ask } = mistakes[this.#mistakes++ % mistakes.length]!;
    const { json, ...rest } = { json: false, ...ask };
    await this.#send(status, { ...rest, ...(json && { headers: { 'Content-Type': 'application/json' } }) });
  }

  async #post(body: string, idempotencyKey: string): Promise<number> {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': idempotencyKey };
    const reply = await this.#send(201, { method: 'POST', path: '/pets', headers, body });
    const { id } = petShape.parse(JSON.parse(reply.text));
    this.#created.add(id);
    this.#oldest = Math.min(this.#oldest, id);
    return id;
  }

  async #send(expected: number, ask: Parameters<Client['send']>[0]): Promise<Reply> {
    const startedAt = performance.now();
    const reply = await this.#client.send(ask);
    this.#durations.push(performance.now() - startedAt);
    const { status, headers, text, request } = reply;
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    const { method = 'GET' } = ask;
    const path = ask.path.replace(this.#options.baseUrl, '').replace(/\?.*/, '');
    const found = this.#validator.violations({ method, path, status, headers, text });
    if (status !== expected) found.push(`status is not ${expected}`);
    this.#violations.push(...found.map((line) => `${request} ${status}: ${line}`));
    if (status !== expected) throw new Error(`${request} answered ${status}: ${text.slice(0, 200)}`);
    return reply;
  }
}
