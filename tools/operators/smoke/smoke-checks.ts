import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKey } from '../../../functions/access/keys.ts';
import { type CheckRequest, requestsOfOperations } from '../../../functions/delivery/requests.ts';
import { operations, type Route } from '../../../functions/operations.ts';
import { type Ask, type Client, get, post } from './client.ts';
import {
  expectError,
  expectPet,
  expectPets,
  expectStatus,
  expectUnauthorized,
  nextOf,
  type PetSeen,
  petStatuses,
  rateOf,
} from './expectations.ts';

/** Checks a rule of the interface. Rejects if it does not hold. */
export type Check = (client: Client) => Promise<void>;

/** Thrown by a check that would have to add pets to a store that must stay as it is. */
export class SkippedCheck extends Error {}

/** The name of the pets that the checks add. They are `sold`, so that no customer asks for them. */
const mark = 'smoke test, please ignore';
const marked = (categoryId: string) => `{"name":"${mark}","status":"sold","categoryId":${categoryId}}`;

/** The contract as clients see it, with few calls. Every pet that is added has the mark. */
export const checks: Readonly<Record<string, Check>> = {
  'A request without a valid key is 401 on every operation and on unknown paths, with a challenge':
    checkAuthentication,

  'Each operation answers as its new versions have to before they get requests': async (client) => {
    for (const operation of operations) {
      for (const request of requestsOfOperations[operation.entry].filter(
        ({ keyIsUsed = false }) => !keyIsUsed,
      )) {
        const reply = await client.send(askFor(operation, request));
        if (request.code === undefined) expectStatus(reply, request.status);
        else expectError(reply, request.status, request.code);
      }
    }
  },

  'An animal is added with 201, its Location, and the categoryId digit for digit': async (client) => {
    if (client.readOnly) throw new SkippedCheck('it adds animals');
    for (const categoryId of ['9223372036854775807', '-9223372036854775808']) {
      const reply = await client.send(post(marked(categoryId)));
      const { id, name, status } = expectPet(reply, 201);
      assert.ok(Number.isSafeInteger(id) && id > 0, `the id ${id} is not exact in every JSON client`);
      const isExact = reply.text.includes(`"categoryId":${categoryId}`);
      assert.ok(isExact, `categoryId ${categoryId} came back in ${reply.text}`);
      assert.equal(reply.headers.get('location'), `${client.baseUrl}/pets/${id}`, 'Location');
      assert.deepEqual({ name, status }, { name: mark, status: 'sold' });
    }
  },

  'A body that is not valid is 400 and names every invalid field; 413 and 415 differ': async (client) => {
    const invalid = [400, 'invalid_request'] as const;
    await expectRejections(client, [
      [post('{"status":"lost","categoryId":1.5}'), ...invalid, 'name', 'categoryId', 'status'],
      [post(marked('9223372036854775808')), ...invalid, 'categoryId'],
      [post(marked('"7"')), ...invalid, 'categoryId'],
      [post(marked('null')), ...invalid, 'categoryId'],
      [post('{"name":'), ...invalid],
      [post(`{"name":"${'x'.repeat(70_000)}"}`), 413, 'payload_too_large'],
      [post('name=Rex', 'text/plain'), 415, 'unsupported_media_type'],
    ]);
  },

  'A listing is an array of as many animals as `limit` says, 20 without it; newest first': eventually(
    async (client) => {
      const { length: all } = (await page(client, '/pets?limit=100')).pets;
      assert.ok(all >= enough, `/pets?limit=100 returned ${all} animals, there are ${enough} and more`);
      for (const [query, limit] of [
        ['', 20],
        ['?limit=5', 5],
        ['?limit=1', 1],
        ['?limit=3&status=sold', 3],
      ] as const) {
        const { request, pets } = await page(client, `/pets${query}`);
        const expected = Math.min(limit, all);
        assert.ok(
          pets.length >= expected,
          `${request} returned ${pets.length} animals instead of ${expected}`,
        );
      }
    },
  ),

  'A walk through the pages meets each animal once, with a filter too': eventually(async (client) => {
    for (const filter of ['', '&status=sold']) await checkWalk(client, filter);
  }),

  'The status filter returns the animals with that status, and all of them': eventually(checkFilter),

  'A limit, status or cursor that is not valid is 400 and never clamped': eventually(async (client) => {
    const { next } = await page(client, '/pets?limit=1&status=sold');
    assert.ok(next, 'the sold animals have no second page');
    const cursorOfOtherFilter = next.replace('status=sold', 'status=pending');
    await expectRejections(client, [
      ...['limit=0', 'limit=101', 'limit=1.5', 'limit=5&limit=6', 'status=lost', 'cursor=abc'].map(
        (query): Rejection => [get(`/pets?${query}`), 400, 'invalid_request', query.replace(/=.*/, '')],
      ),
      [get(cursorOfOtherFilter), 400, 'invalid_request', 'cursor'],
    ]);
  }),

  'The deprecated operation answers 200 or 404, with its replacement and its end': eventually(
    async (client) => {
      const [pet] = expectPets(await client.send(get('/pets?limit=1')));
      const found = await client.send(get(`/pets/${pet?.id}`));
      assert.deepEqual(expectPet(found, 200), pet);
      expectDeprecation(client, found.headers, `/pets?status=${pet?.status}`);
      const [missing] = await expectRejections(client, [[get('/pets/not-a-number'), 404, 'pet_not_found']]);
      expectDeprecation(client, missing!, '/pets');
    },
  ),

  'An unknown path is 404 and a wrong method 405 with Allow': async (client) => {
    const [, wrongMethod] = await expectRejections(client, [
      [get('/nowhere'), 404, 'route_not_found'],
      // No operation will ever have this method, so the request changes nothing.
      [{ method: 'OPTIONS', path: '/pets/1' }, 405, 'method_not_allowed'],
    ]);
    assert.match(wrongMethod?.get('allow') ?? '', /\bGET\b/);
  },

  'The rate headers count down within a window and say when it resets': async (client) => {
    const next = async () => {
      const reply = await client.send(get('/pets?limit=1'));
      expectPets(reply);
      return rateOf(reply);
    };
    const before = await next();
    const { limit, remaining, reset } = await next();
    const now = Date.now() / 1000;
    assert.ok(reset > now - 5 && reset <= now + 86_405, `the limit resets at ${reset}, now is ${now}`);
    assert.ok(remaining < limit, `of ${limit} requests ${remaining} remain after two`);
    const isSameWindow = before.reset === reset && before.limit === limit;
    const isCounted = !isSameWindow || remaining < before.remaining;
    assert.ok(isCounted, `remaining went from ${before.remaining} to ${remaining}`);
  },
};

async function checkAuthentication(client: Client): Promise<void> {
  const { key } = client;
  const realm = 'Bearer realm="animal-store"';
  // The key with one character changed is well-formed, but its checksum is wrong.
  const mistyped = key.slice(0, -10) + (key.at(-10) === 'A' ? 'B' : 'A') + key.slice(-9);
  const neverIssued = newKey(/^as_([a-z][a-z0-9]*)_/.exec(key)?.[1] ?? 'prod');
  const challenges = [
    ...[null, 'Bearer', `Bearer ${key.slice(0, -1)}`, `Basic ${key}`].map(
      (header) => [header, realm] as const,
    ),
    ...[mistyped, neverIssued].map((each) => [`Bearer ${each}`, `${realm}, error="invalid_token"`] as const),
  ];
  const asks = operations.map((operation) => askFor(operation, {}));
  for (const ask of [...asks, get('/nowhere')])
    for (const [authorization, challenge] of challenges)
      expectUnauthorized(await client.send({ ...ask, authorization }), challenge);
}

/** A request to an operation. The parameters of its path are 1 if nothing else is given. */
function askFor({ method, path }: Route, { pathParameters, query, body }: Partial<CheckRequest>): Ask {
  const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => pathParameters?.[name] ?? '1') + search;
  return body === undefined
    ? { method, path: filled }
    : { ...post(JSON.stringify(body)), method, path: filled };
}

/** A request, its error, and the fields that the message names. */
type Rejection = readonly [ask: Ask, status: number, code: string, ...fields: string[]];

/** @returns the headers of each answer */
async function expectRejections(client: Client, rejections: readonly Rejection[]): Promise<Headers[]> {
  const all: Headers[] = [];
  for (const [ask, status, code, ...fields] of rejections) {
    const reply = await client.send(ask);
    const message = expectError(reply, status, code);
    for (const field of fields) assert.match(message, new RegExp(String.raw`\b${field}:`), reply.request);
    all.push(reply.headers);
  }
  return all;
}

function expectDeprecation({ baseUrl }: Client, headers: Headers, replacement: string): void {
  assert.match(headers.get('deprecation') ?? '(absent)', /^@\d+$/, 'Deprecation');
  assert.equal(headers.get('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT', 'Sunset');
  assert.equal(headers.get('link'), `<${baseUrl}${replacement}>; rel="successor-version"`, 'Link');
}

/** The checks of listings need so many sold pets: one more than the largest page that must be full. */
const enough = 6;
const filled = new WeakSet<Client>();

/** Adds sold pets, once for each client: a service that lists no pets would get more and more of them. */
async function fill(client: Client): Promise<void> {
  if (filled.has(client)) return;
  const { length } = expectPets(await client.send(get(`/pets?limit=${enough}&status=sold`)));
  if (client.readOnly && length < enough)
    throw new SkippedCheck(`the store has fewer than ${enough} animals with the status sold`);
  filled.add(client);
  for (let count = length; count < enough; count += 1) expectPet(await client.send(post(marked('1'))), 201);
}

/** Repeats a check a few times: indexes lag behind writes, and animals change between its requests. */
function eventually(check: Check): Check {
  return async (client) => {
    await fill(client);
    for (const pause of client.retryPauses) {
      try {
        return await check(client);
      } catch {
        await sleep(pause);
      }
    }
    return check(client);
  };
}

interface Page {
  readonly request: string;
  readonly pets: readonly PetSeen[];
  readonly next: string | undefined;
}

/** A page that agrees with its own query: length, order, filter and following page. */
async function page(client: Client, path: string): Promise<Page> {
  const reply = await client.send(get(path));
  const { request } = reply;
  const pets = expectPets(reply);
  const next = nextOf(reply);
  const limit = Number(/limit=(\d+)/.exec(request)?.[1] ?? 20);
  const { length } = pets;
  assert.ok(length <= limit, `${request} returned ${length} animals, ${limit} at most were asked for`);
  for (const [index, { id }] of pets.entries()) {
    const before = pets[index - 1]?.id ?? Infinity;
    assert.ok(id < before, `${request} is not newest first: ${id} follows ${before}`);
  }
  const wanted = /status=(\w+)/.exec(request)?.[1];
  for (const { status } of pets)
    assert.ok((wanted ?? status) === status, `the filter ${wanted} lets ${status} through`);
  if (next !== undefined) {
    assert.ok(next.startsWith(`${client.baseUrl}/pets?`), `the following page of ${request} is at ${next}`);
    assert.equal(length, limit, `${request} has a following page, yet is not full`);
  }
  return { request, pets, next };
}

/** Two pages against one of the same size, after the same cursor: what is added meanwhile comes before it. */
async function checkWalk(client: Client, filter: string): Promise<void> {
  const { next: start } = await page(client, `/pets?limit=1${filter}`);
  assert.ok(start, `/pets?limit=1${filter} has no following page, yet there are more animals`);
  const whole = await page(client, start.replace('limit=1', 'limit=4'));
  const first = await page(client, start.replace('limit=1', 'limit=2'));
  assert.ok(first.next, `${first.request} has no following page, yet there are more animals`);
  const second = await page(client, first.next);
  const walked = [...first.pets, ...second.pets];
  assert.deepEqual(walked, whole.pets, `two pages of 2 differ from ${whole.request}`);
}

async function checkFilter(client: Client): Promise<void> {
  const { pets } = await page(client, '/pets?limit=100');
  for (const status of petStatuses) {
    const found = await page(client, `/pets?limit=100&status=${status}`);
    const ids = new Set(found.pets.map(({ id }) => id));
    const missing = pets.find((pet) => pet.status === status && !ids.has(pet.id));
    assert.ok(missing === undefined, `${found.request} leaves out ${missing?.id}`);
  }
}
