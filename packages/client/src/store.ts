import { ApiPromise, type Received } from './api-promise.ts';
import { checkWholeNumber, rejectUnknown } from './arguments.ts';
import { AnimalStoreError, InvalidAnswerError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import { addressHint } from './failures.ts';
import { nextTarget } from './headers.ts';
import { inMode, type Int64, type Int64Input, type IntegerMode, toDigits } from './integers.ts';
import { type AnimalStoreOptions, type CallOptions, readOptions } from './options.ts';
import { Page, PagePromise } from './pages.ts';
import type { components } from './schema.ts';
import { type Answer, Transport } from './transport.ts';

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
  /** Animals per page, 1 to 100. Default 100. */
  readonly limit?: number | undefined;
  /** Continues a list: `nextCursor` of the page before, which had the same `status`. */
  readonly cursor?: string | undefined;
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters. Default: a new UUID. Pass your own to make a creation repeatable later. */
  readonly idempotencyKey?: string | undefined;
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

  /** @throws TypeError that names an option that is missing, unknown or invalid */
  constructor(options: AnimalStoreOptions<Mode> = {}) {
    const settings = readOptions(options);
    this.pets = new Pets(new Transport(settings), settings);
  }
}

/** The animals of the store. */
export class Pets<Mode extends IntegerMode = 'auto'> {
  readonly #transport: Transport;
  readonly #mode: Mode;
  readonly #baseUrl: string;

  constructor(
    transport: Transport,
    { integers, baseUrl }: { readonly integers: Mode; readonly baseUrl: string },
  ) {
    this.#transport = transport;
    this.#mode = integers;
    this.#baseUrl = baseUrl;
  }

  /**
   * Adds an animal. Each call sends an `Idempotency-Key`, so retries create one animal.
   *
   * @throws AnimalStoreError; TypeError when `categoryId` is not an int64 or an option is not valid
   */
  create(pet: NewPet, options?: CreateOptions): ApiPromise<Pet<Mode>> {
    return new ApiPromise(this.#create(pet, options));
  }

  /**
   * One animal by its id.
   *
   * @deprecated The operation is removed on 5 December 2030. Use `list` with a status.
   * @throws AnimalStoreError, `NotFoundError` if it does not exist; TypeError if the id is not an int64
   */
  get(id: Int64Input, options?: CallOptions): ApiPromise<Pet<Mode>> {
    return new ApiPromise(this.#get(id, options));
  }

  /**
   * Animals, newest first. Await the first page, or iterate over the animals of all pages: a page is requested when the
   * previous one is used up.
   *
   * @example
   * for await (const pet of store.pets.list({ status: 'available' })) console.log(pet.name);
   *
   * @throws AnimalStoreError; TypeError when the query or an option is not valid
   */
  list(query: ListQuery = {}, options?: CallOptions): PagePromise<Pet<Mode>> {
    return new PagePromise(this.#list(query, options));
  }

  async #create(
    pet: NewPet,
    { idempotencyKey, ...options }: CreateOptions = {},
  ): Promise<Received<Pet<Mode>>> {
    const key = idempotencyKey ?? crypto.randomUUID();
    if (!/^[ -~]{1,255}$/.test(key)) {
      throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters.');
    }
    const call = {
      name: 'pets.create',
      method: 'POST',
      path: '/pets',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: toBody(pet),
    } as const;
    try {
      return this.#readPet(await this.#transport.send(call, options));
    } catch (error) {
      if (error instanceof AnimalStoreError) error.idempotencyKey = key;
      throw error;
    }
  }

  async #get(id: Int64Input, options?: CallOptions): Promise<Received<Pet<Mode>>> {
    const path = `/pets/${toDigits(id, 'id')}`;
    return this.#readPet(await this.#transport.send({ name: 'pets.get', method: 'GET', path }, options));
  }

  async #list(query: ListQuery, options?: CallOptions): Promise<Received<Page<Pet<Mode>>>> {
    const { status, limit = 100, cursor, ...unknown } = query;
    rejectUnknown(unknown, 'pets.list');
    checkWholeNumber(limit, 'limit', 1, 100);
    const parameters = new URLSearchParams({
      limit: String(limit),
      ...(status !== undefined && { status }),
      ...(cursor !== undefined && { cursor }),
    });
    const call = { name: 'pets.list', method: 'GET', path: `/pets?${parameters.toString()}` } as const;
    const answer = await this.#transport.send(call, options);
    const body = this.#readBody(answer);
    if (!Array.isArray(body)) throw new InvalidAnswerError('A page of animals is not a list.');
    const { response } = answer;
    const data = new Page(
      body.map((pet) => this.#toPet(pet)),
      cursorOf(nextTarget(response.headers.get('Link'))),
      (next) => this.list({ ...query, cursor: next }, options),
    );
    return { data, response };
  }

  #readPet(answer: Answer): Received<Pet<Mode>> {
    return { data: this.#toPet(this.#readBody(answer)), response: answer.response };
  }

  #readBody({ text }: Answer): unknown {
    try {
      return parseJson(text);
    } catch (cause) {
      throw new InvalidAnswerError(`The answer is not valid JSON. ${addressHint(this.#baseUrl)}`, { cause });
    }
  }

  #toPet(body: unknown): Pet<Mode> {
    const pet = checkedPet(body);
    const mode = this.#mode;
    return { ...pet, id: inMode(pet.id, mode), categoryId: inMode(pet.categoryId, mode) };
  }
}

/** Only the cursor of the link is used: the key is sent to the base URL and nowhere else. */
function cursorOf(target: string | undefined): string | undefined {
  if (target === undefined) return undefined;
  const cursor = new URLSearchParams(target.replace(/^[^?]*/, '')).get('cursor');
  if (cursor === null) throw new InvalidAnswerError('The link to the next page has no cursor.');
  return cursor;
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
