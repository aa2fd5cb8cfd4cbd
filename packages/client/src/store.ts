import { InvalidAnswerError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import { inMode, type Int64, type Int64Input, type IntegerMode, toDigits } from './integers.ts';
import { nextTarget } from './links.ts';
import type { components } from './schema.ts';
import { type Answer, type CallOptions, Transport } from './transport.ts';

type Schemas = components['schemas'];

/** Availability of an animal. */
export type PetStatus = Schemas['PetStatus'];

/** An animal as returned. */
export interface Pet<Mode extends IntegerMode = 'auto'> extends Readonly<
  Omit<Schemas['Pet'], 'id' | 'categoryId'>
> {
  readonly id: Int64<Mode>;
  readonly categoryId: Int64<Mode>;
}

/** An animal as sent on creation. Without a status it is `available`. */
export interface NewPet extends Readonly<Omit<Schemas['NewPet'], 'categoryId' | 'status'>> {
  readonly categoryId: Int64Input;
  readonly status?: PetStatus | undefined;
}

export interface ListQuery {
  /** Only animals with this status. */
  readonly status?: PetStatus | undefined;
  /** Animals per request, 1 to 100. Default 100. */
  readonly pageSize?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters. Default: a new UUID. Pass your own to make a creation repeatable later. */
  readonly idempotencyKey?: string | undefined;
}

export interface AnimalStoreOptions<Mode extends IntegerMode = 'auto'> {
  /** With the version segment, such as `https://api.example.com/v1`. */
  readonly baseUrl: string | URL;
  readonly apiKey: string;
  /** How `id` and `categoryId` are returned. Default `auto`. */
  readonly integers?: Mode | undefined;
  /** Milliseconds for one attempt. Default 30,000. */
  readonly timeout?: number | undefined;
  /** Attempts after the first, on 429, 503, time-outs and lost connections. Default 5. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds. When the service asks for a longer wait, the call fails at once. Default 60,000. */
  readonly maxRetryDelay?: number | undefined;
  /** Replaces the global `fetch`, for instance to use a proxy. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * The Animal Store Service.
 *
 * @example
 * const store = new AnimalStore({ baseUrl, apiKey });
 * const pet = await store.pets.create({ name: 'Rex', categoryId: 7 });
 */
export class AnimalStore<Mode extends IntegerMode = 'auto'> {
  readonly pets: Pets<Mode>;

  /** @throws TypeError when the base URL or the API key cannot be used */
  constructor(options: AnimalStoreOptions<Mode>) {
    const { apiKey, integers, timeout = 30_000, maxRetries = 5, maxRetryDelay = 60_000 } = options;
    // The message must not repeat the key, as that of an invalid header would.
    if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces.');
    const transport = new Transport({
      baseUrl: readBaseUrl(options.baseUrl),
      apiKey,
      timeout,
      maxRetries,
      maxRetryDelay,
      // Looked up at each call, so that a later replacement of the global one counts.
      fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    });
    this.pets = new Pets(transport, integers ?? ('auto' as Mode));
  }
}

/** The animals of the store. */
export class Pets<Mode extends IntegerMode = 'auto'> {
  readonly #transport: Transport;
  readonly #mode: Mode;

  constructor(transport: Transport, mode: Mode) {
    this.#transport = transport;
    this.#mode = mode;
  }

  /**
   * Adds an animal. Each call sends an `Idempotency-Key`, so retries create one animal.
   *
   * @throws AnimalStoreError; RangeError when `categoryId` is not an int64
   */
  async create(pet: NewPet, { idempotencyKey, ...options }: CreateOptions = {}): Promise<Pet<Mode>> {
    const key = idempotencyKey ?? crypto.randomUUID();
    if (!/^[ -~]{1,255}$/.test(key)) {
      throw new RangeError('idempotencyKey must be 1 to 255 printable ASCII characters.');
    }
    const call = {
      method: 'POST',
      path: '/pets',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: toBody(pet),
    } as const;
    return this.#toPet(readBody(await this.#transport.send(call, options)));
  }

  /**
   * One animal by its id.
   *
   * @deprecated The operation is removed on 5 December 2030. Use `list` with a status.
   * @throws AnimalStoreError, `pet_not_found` if it does not exist; RangeError if the id is not an int64
   */
  async get(id: Int64Input, options?: CallOptions): Promise<Pet<Mode>> {
    const path = `/pets/${toDigits(id, 'id')}`;
    return this.#toPet(readBody(await this.#transport.send({ method: 'GET', path }, options)));
  }

  /**
   * Every animal, newest first, across all pages. A page is requested when the previous one is used up.
   *
   * @throws AnimalStoreError while iterating
   */
  async *list(
    { status, pageSize = 100 }: ListQuery = {},
    options?: CallOptions,
  ): AsyncGenerator<Pet<Mode>, void, undefined> {
    const first = new URLSearchParams({ limit: String(pageSize), ...(status !== undefined && { status }) });
    let query: string | undefined = `?${first.toString()}`;
    while (query !== undefined) {
      const answer = await this.#transport.send({ method: 'GET', path: `/pets${query}` }, options);
      const page = readBody(answer);
      if (!Array.isArray(page)) throw new InvalidAnswerError('A page of animals is not a list.');
      for (const pet of page) yield this.#toPet(pet);
      query = queryOf(nextTarget(answer.headers.get('Link')));
    }
  }

  #toPet(body: unknown): Pet<Mode> {
    const { id, categoryId, ...rest } = checkedPet(body);
    return { ...rest, id: inMode(id, this.#mode), categoryId: inMode(categoryId, this.#mode) };
  }
}

/** Only the query of the next page is used: the key is sent to the base URL and nowhere else. */
function queryOf(target: string | undefined): string | undefined {
  if (target === undefined) return undefined;
  const mark = target.indexOf('?');
  if (mark < 0) throw new InvalidAnswerError('The link to the next page has no query.');
  return target.slice(mark);
}

function readBaseUrl(given: string | URL): string {
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new TypeError(
      'baseUrl must be an http or https URL without a query, such as https://api.example.com/v1.',
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** JSON of every field of the pet, also of those that this release does not know. `JSON.stringify` rejects a bigint. */
function toBody(pet: NewPet): string {
  const fields = Object.entries({ ...pet, categoryId: BigInt(toDigits(pet.categoryId, 'categoryId')) });
  const members = fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => {
      const text = typeof value === 'bigint' ? String(value) : JSON.stringify(value);
      return `${JSON.stringify(name)}:${text}`;
    });
  return `{${members.join(',')}}`;
}

function readBody({ text }: Answer): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new InvalidAnswerError('The answer is not valid JSON.', { cause });
  }
}

function checkedPet(body: unknown): Pet {
  if (!isPet(body)) throw new InvalidAnswerError('The answer is not an animal.');
  return body;
}

function isPet(body: unknown): body is Pet {
  if (typeof body !== 'object' || body === null) return false;
  if (!('id' in body) || !('name' in body) || !('categoryId' in body)) return false;
  return isInteger(body.id) && isInteger(body.categoryId) && typeof body.name === 'string';
}

function isInteger(value: unknown): boolean {
  return typeof value === 'bigint' || Number.isSafeInteger(value);
}
