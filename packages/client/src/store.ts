import { ApiPromise, type Received } from './api-promise.ts';
import {
  checkObject,
  checkRequired,
  checkWholeNumber,
  type Method,
  methods,
  rejectUnknown,
} from './arguments.ts';
import { InvalidAnswerError } from './errors.ts';
import { writeJson } from './exact-json.ts';
import { hasNextLink, nextTarget } from './headers.ts';
import { type Int64Input, toDigits } from './integers.ts';
import { type AnimalStoreOptions, type CallOptions, readOptions } from './options.ts';
import { follow, newTrail, Page, PagePromise, type Trail } from './pages.ts';
import type { Schemas } from './schema.ts';
import { Transport } from './transport.ts';

/** Availability of an animal. */
export type PetStatus = Schemas['PetStatus'];

/** The fields of a schema with their descriptions, and `categoryId` as this client has it. An `id` fits a number. */
type Exact<Schema, Integer> = {
  readonly [Field in keyof Schema]: Field extends 'categoryId' ? Integer : Schema[Field];
};

/** An animal as returned. `categoryId` is a string of digits, as a number would lose some of a large one. */
export interface Pet extends Exact<Schemas['Pet'], string> {}

/** An animal as sent on creation. */
export interface NewPet extends Omit<Exact<Schemas['NewPet'], Int64Input>, 'status'> {
  /** Availability of the animal. `available` when omitted. */
  readonly status?: PetStatus | undefined;
}

// The compiler forces a field that becomes required into this list, and one that becomes optional out of it.
const requiredFields = Object.keys({ name: true, categoryId: true } satisfies {
  [Field in keyof NewPet as undefined extends NewPet[Field] ? never : Field]: true;
}) as (keyof NewPet)[];

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

export interface RequestOptions extends CreateOptions {
  /** Values that are `undefined` are left out. */
  readonly query?: Readonly<Record<string, string | number | bigint | boolean | undefined>> | undefined;
  /** Sent as JSON. A bigint is written as its digits. */
  readonly body?: unknown;
}

/**
 * The Animal Store Service.
 *
 * @example
 * const store = new AnimalStore({ baseUrl, apiKey });
 * const pet = await store.pets.create({ name: 'Rex', categoryId: 7 });
 */
export class AnimalStore {
  readonly pets: Pets;
  readonly #options: AnimalStoreOptions;
  readonly #baseUrl: string;
  readonly #transport: Transport;

  /** @throws TypeError that names an option that is missing, unknown or invalid */
  constructor(options: AnimalStoreOptions = {}) {
    const settings = readOptions(options);
    const { apiKey, baseUrl } = settings;
    this.#options = { ...options, apiKey, baseUrl };
    this.#baseUrl = baseUrl;
    this.#transport = new Transport(settings);
    this.pets = new Pets(this.#transport);
  }

  /**
   * A store with the options of this one, of which those that are given are replaced.
   *
   * @example
   * const patient = store.withOptions({ timeout: 120_000 });
   *
   * @throws TypeError that names an option that is unknown or invalid
   */
  withOptions(options: AnimalStoreOptions): AnimalStore {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    return new AnimalStore({ ...this.#options, ...Object.fromEntries(given) });
  }

  /**
   * Sends a request that this client has no method for. The result is what JSON of the answer says, `undefined` if it has
   * no body; whole numbers that a number cannot hold are strings of digits.
   *
   * A `POST` or `PATCH` without `idempotencyKey` is repeated after a 429 only.
   *
   * @param path below the base address, such as `/pets`
   * @throws AnimalStoreError; TypeError when an argument or an option is not valid
   */
  request(method: Method, path: string, options: RequestOptions = {}): ApiPromise<unknown> {
    return new ApiPromise(() => {
      checkObject(options, 'options');
      const { query = {}, body, idempotencyKey, ...rest } = options;
      if (!methods.includes(method)) throw new TypeError(`method must be ${methods.join(', ')}.`);
      if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
        throw new TypeError(`body must not be given with ${method}: use the option query.`);
      }
      const base = `${this.#baseUrl}/`;
      // The key is for no other address: `/..` leads out of the base address.
      if (!path.startsWith('/') || !new URL(this.#baseUrl + path).href.startsWith(base)) {
        throw new TypeError(`path must start with "/" and stay below ${base} (got ${JSON.stringify(path)}).`);
      }
      const parameters = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) parameters.set(name, String(value));
      }
      const separator = parameters.size === 0 ? '' : path.includes('?') ? '&' : '?';
      const call = {
        name: 'request',
        method,
        path: path + separator + parameters.toString(),
        idempotencyKey: idempotencyKey === undefined ? undefined : checkedKey(idempotencyKey),
        body: writeJson(body),
      };
      return this.#transport.send(call, rest, (answer) => answer);
    });
  }
}

/** The animals of the store. */
export class Pets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Adds an animal. Each call sends an `Idempotency-Key`, so retries create one animal.
   *
   * @throws AnimalStoreError; TypeError when a required field is missing, `categoryId` is not an int64 or an option is not valid
   */
  create(pet: NewPet, options: CreateOptions = {}): ApiPromise<Pet> {
    return new ApiPromise(() => {
      checkRequired(pet, 'pet');
      checkObject(pet, 'pet');
      const missing = requiredFields.filter((name) => pet[name] === undefined);
      if (missing.length > 0)
        throw new TypeError(`${missing.map((name) => `${name} is required`).join(', ')}.`);
      checkObject(options, 'options');
      const { idempotencyKey = crypto.randomUUID(), ...rest } = options;
      const call = {
        name: 'pets.create',
        method: 'POST',
        path: '/pets',
        idempotencyKey: checkedKey(idempotencyKey),
        // Fields that this release does not know are sent, too.
        body: writeJson({ ...pet, categoryId: BigInt(toDigits(pet.categoryId, 'categoryId')) }),
      } as const;
      return this.#transport.send(call, rest, toPet);
    });
  }

  /**
   * One animal by its id.
   *
   * @deprecated The operation is removed on 5 December 2030. Use `list` with a status.
   * @throws AnimalStoreError, `NotFoundError` if it does not exist; TypeError if the id is not an int64
   */
  get(id: Int64Input, options?: CallOptions): ApiPromise<Pet> {
    return new ApiPromise(() => {
      const call = { name: 'pets.get', method: 'GET', path: `/pets/${toDigits(id, 'id')}` } as const;
      return this.#transport.send(call, options, toPet);
    });
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
  list(query: ListQuery = {}, options?: CallOptions): PagePromise<Pet> {
    return new PagePromise(() => this.#page(query, options));
  }

  /** @param trail of the pages before. None: it is the first one */
  async #page(
    query: ListQuery,
    options: CallOptions | undefined,
    trail?: Trail,
  ): Promise<Received<Page<Pet>>> {
    checkObject(query, 'query');
    const { status, limit = 100, cursor, ...unknown } = query;
    rejectUnknown(unknown, 'pets.list');
    checkWholeNumber(limit, 'limit', 1, 100);
    const parameters = new URLSearchParams({
      limit: String(limit),
      ...(status !== undefined && { status }),
      ...(cursor !== undefined && { cursor }),
    });
    const call = { name: 'pets.list', method: 'GET', path: `/pets?${parameters.toString()}` } as const;
    return this.#transport.send(call, options, (body, headers) => {
      if (!Array.isArray(body)) throw new InvalidAnswerError('A page of animals is not a list.');
      const nextCursor = nextCursorOf(headers.get('Link'), cursor);
      const further = nextCursor === undefined ? undefined : follow(trail ?? newTrail(cursor), nextCursor);
      return new Page(
        body.map((pet) => toPet(pet)),
        nextCursor,
        (next) => new PagePromise(() => this.#page({ ...query, cursor: next }, options, further)),
      );
    });
  }
}

function checkedKey(idempotencyKey: string): string {
  if (!/^[ -~]{1,255}$/.test(idempotencyKey)) {
    throw new TypeError('idempotencyKey must be 1 to 255 printable ASCII characters.');
  }
  return idempotencyKey;
}

/**
 * Only the cursor of the link is used: the key is sent to the base URL and nowhere else.
 *
 * @param sent with the request
 * @throws InvalidAnswerError when the list would not end, or would end too early
 */
function nextCursorOf(link: string | null, sent: string | undefined): string | undefined {
  const target = nextTarget(link);
  if (target === undefined) {
    if (hasNextLink(link)) throw new InvalidAnswerError('The link to the next page cannot be read.');
    return undefined;
  }
  const cursor = new URLSearchParams(target.replace(/^[^?]*/, '')).get('cursor');
  if (cursor === null || cursor === '')
    throw new InvalidAnswerError('The link to the next page has no cursor.');
  if (cursor === sent) {
    throw new InvalidAnswerError('The list does not end: the next page is the one that was just requested.');
  }
  return cursor;
}

function toPet(body: unknown): Pet {
  if (!isPet(body)) throw new InvalidAnswerError('The answer is not an animal.');
  return { ...body, categoryId: String(body.categoryId) };
}

function isPet(body: unknown): body is Omit<Pet, 'categoryId'> & { categoryId: number | string } {
  if (typeof body !== 'object' || body === null) return false;
  if (!('id' in body) || !('name' in body) || !('categoryId' in body)) return false;
  const { id, name, categoryId } = body;
  return (
    Number.isSafeInteger(id) &&
    typeof name === 'string' &&
    (Number.isSafeInteger(categoryId) || (typeof categoryId === 'string' && /^-?\d+$/.test(categoryId)))
  );
}
