import { randomUUID } from 'node:crypto';
import type { Answer } from '../../functions/http/respond.ts';
import { newKey } from '../../functions/access/keys.ts';
import { deprecationHeaders } from '../../functions/http/deprecation.ts';
import { ServiceError } from '../../functions/http/errors.ts';
import { toJson } from '../../functions/http/exact-json.ts';
import { parseBody, parseInput } from '../../functions/http/input.ts';
import { collectionUrl, itemUrl, nextLink } from '../../functions/http/links.ts';
import { rateLimitHeaders, zeroRateHeaders } from '../../functions/http/rate-headers.ts';
import { type ApiRequest, parseRequest } from '../../functions/http/request.ts';
import { encodeCursor } from '../../functions/pets/cursor.ts';
import { idEpoch, newPetId } from '../../functions/pets/ids.ts';
import { listing } from '../../functions/pets/listing.ts';
import { type NewPet, newPet, type Pet, petStatuses } from '../../functions/pets/schema.ts';
import { domainName, freeCaller, proxyEvent, routeOf } from './events.ts';

export interface MemoryRequest {
  readonly method: string;
  /** With the stage and the query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface MemoryAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const limit = 1_000;
const challenge = 'Bearer realm="animal-store"';
const deprecation = { since: new Date('2026-01-01'), removal: new Date('2030-12-05') };

/**
 * The service with one key in one process: its own parsing and writing, and an array for the database. For tests of its
 * clients.
 */
export class MemoryService {
  readonly baseUrl = `https://${domainName}/v1`;
  readonly key = newKey('test');
  /** Newest first. */
  readonly #pets: Pet[] = [];
  readonly #reset = Math.floor(Date.now() / 1000) + 60;
  #remaining = limit;

  /** @param count of the animals in it, of each status in turn */
  constructor(count: number) {
    for (let index = 0; index < count; index += 1) {
      this.#create({ name: 'Rex', categoryId: 1n, status: petStatuses[index % petStatuses.length]! });
    }
  }

  answer({ method, path, headers, body }: MemoryRequest): MemoryAnswer {
    const authorization = headers.get('authorization') ?? '';
    const isValid = authorization === `Bearer ${this.key}`;
    const { pathname, searchParams } = new URL(path, this.baseUrl);
    const below = pathname.replace(/^\/v1/, '');
    const request = parseRequest(
      proxyEvent({
        method,
        path: below,
        ...routeOf(below),
        query: [...searchParams],
        headers: [...headers],
        body,
        caller: freeCaller,
      }),
    );
    let answer: Answer;
    try {
      if (!isValid) throw unauthorized(authorization.length === `Bearer ${this.key}`.length);
      this.#remaining -= 1;
      answer = this.#operate(request);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      answer = { status: error.status, body: error.body, headers: error.headers };
    }
    const rate = {
      [rateLimitHeaders.limit]: String(limit),
      [rateLimitHeaders.remaining]: String(this.#remaining),
      [rateLimitHeaders.reset]: String(this.#reset),
    };
    return {
      status: answer.status,
      body: toJson(answer.body),
      headers: new Headers({
        'Content-Type': 'application/json',
        'X-Request-Id': randomUUID(),
        ...(isValid ? rate : zeroRateHeaders),
        ...(isValid &&
          request.resource === '/pets/{petId}' &&
          deprecationHeaders({ ...deprecation, successor: collectionUrl(request.url) })),
        ...answer.headers,
      }),
    };
  }

  #operate(request: ApiRequest): Answer {
    switch (`${request.method} ${request.resource}`) {
      case 'GET /pets':
        return this.#list(request);
      case 'POST /pets': {
        const pet = this.#create(parseBody(request, newPet));
        return { status: 201, body: pet, headers: { Location: itemUrl(request.url, pet.id) } };
      }
      case 'GET /pets/{petId}': {
        const pet = this.#pets.find(({ id }) => String(id) === request.pathParameters['petId']);
        if (pet === undefined) throw new ServiceError('pet_not_found');
        return { status: 200, body: pet };
      }
      default:
        if (request.resource !== '/pets/{petId}') throw new ServiceError('route_not_found');
        throw new ServiceError('method_not_allowed', undefined, { headers: { Allow: 'GET' } });
    }
  }

  #list({ query, url }: ApiRequest): Answer {
    const { limit: size, status, before } = parseInput(listing, Object.fromEntries(query), 'query');
    const matching = this.#pets.filter(
      (pet) => (status ?? pet.status) === pet.status && (before === undefined || pet.id < before),
    );
    const body = matching.slice(0, size);
    if (matching.length <= size) return { status: 200, body };
    const cursor = encodeCursor({ status, before: body.at(-1)!.id });
    return { status: 200, body, headers: { Link: nextLink(url, { limit: size, status, cursor }) } };
  }

  #create(pet: NewPet): Pet {
    const created = { id: newPetId(idEpoch + this.#pets.length + 1, 0), ...pet };
    this.#pets.unshift(created);
    return created;
  }
}

function unauthorized(isWellFormed: boolean): ServiceError {
  const value = isWellFormed ? `${challenge}, error="invalid_token"` : challenge;
  return new ServiceError('unauthorized', undefined, { headers: { 'WWW-Authenticate': value } });
}
