import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { newKey } from '../../functions/access/keys.ts';
import type { Ask, Client } from './client.ts';
import {
  expectError,
  expectPet,
  expectPets,
  expectUnauthorized,
  nextOf,
  type PetSeen,
  petStatuses,
  rateOf,
} from './expectations.ts';

/** A sentence of the interface, and what it takes to see it hold. */
export interface Check {
  readonly name: string;
  readonly run: (client: Client) => Promise<void>;
}

/** The name of the pets that the checks add. They are `sold`, so that nobody comes to adopt them. */
const mark = 'smoke test, please ignore';

/** A body for `POST /pets`. @param categoryId JSON */
function marked(categoryId: string, status: PetSeen['status'] = 'sold'): string {
  return `{"name":"${mark}","status":"${status}","categoryId":${categoryId}}`;
}

/** Sold pets that the checks of listings need: one more than the smallest page that they ask for whole. */
const enough = 6;
/** A service that lists no pets would be given more and more of them. */
const filled = new WeakSet<Client>();

async function fill(client: Client): Promise<void> {
  if (filled.has(client)) return;
  filled.add(client);
  const { length } = expectPets(await client.send({ path: `/pets?limit=${enough}&status=sold` }));
  for (let count = length; count < enough; count += 1) expectPet(await client.post(marked('1')), 201);
}

/** Repeats an attempt a few times: indexes lag behind what was just written, by any client. */
function eventually(attempt: Check['run']): Check['run'] {
  return async (client) => {
    await fill(client);
    for (const pause of client.retryPauses) {
      try {
        return await attempt(client);
      } catch {
        await sleep(pause);
      }
    }
    return attempt(client);
  };
}

interface Page {
  readonly request: string;
  /** Newest first. */
  readonly pets: readonly PetSeen[];
  readonly next: string | undefined;
}

/** A page that is right in itself. @param limit of the request, the default where it has none */
async function page(client: Client, path: string, limit: number): Promise<Page> {
  const reply = await client.send({ path });
  const { request } = reply;
  const pets = expectPets(reply);
  const next = nextOf(reply);
  assert.ok(
    pets.length <= limit,
    `${request} returned ${pets.length} animals, ${limit} at most were asked for`,
  );
  assertNewestFirst(pets, request);
  const status = /status=(\w+)/.exec(request)?.[1];
  for (const pet of pets)
    assert.ok((status ?? pet.status) === pet.status, `the filter ${status} lets ${pet.status} through`);
  if (next !== undefined) {
    assert.ok(next.startsWith(`${client.baseUrl}/pets?`), `the following page of ${request} is at ${next}`);
    assert.equal(pets.length, limit, `${request} has a following page, yet is not full`);
  }
  return { request, pets, next };
}

function assertNewestFirst(pets: readonly PetSeen[], request: string): void {
  for (const [index, { id }] of pets.entries()) {
    const before = pets[index - 1]?.id ?? Infinity;
    assert.ok(id !== before, `${request} returned ${id} twice`);
    assert.ok(id < before, `${request} is not newest first: ${id} follows ${before}`);
  }
}

/**
 * What was seen before is seen again, as far down as the later listing reaches: nothing is ever removed, and new pets
 * come in at the top.
 */
function assertHolds({ pets, next, request }: Page, before: readonly PetSeen[], what: string): void {
  const end = next === undefined ? -Infinity : (pets.at(-1)?.id ?? -Infinity);
  const ids = new Set(pets.map(({ id }) => id));
  const missing = before.find(({ id }) => id >= end && !ids.has(id));
  assert.ok(missing === undefined, `${request} leaves out ${missing?.id}, ${what}`);
}

async function checkLimits(client: Client): Promise<void> {
  const { pets: all } = await page(client, '/pets?limit=100', 100);
  assert.ok(
    all.length >= enough,
    `/pets?limit=100 returned ${all.length} animals, there are ${enough} and more`,
  );
  for (const [query, limit] of [
    ['', 20],
    ['?limit=5', 5],
    ['?limit=1', 1],
    ['?limit=3&status=sold', 3],
  ] as const) {
    const { length } = (await page(client, `/pets${query}`, limit)).pets;
    const expected = Math.min(limit, all.length);
    assert.ok(length >= expected, `/pets${query} returned ${length} animals instead of ${expected}`);
  }
}

async function checkWalk(client: Client): Promise<void> {
  for (const filter of ['', '&status=sold']) {
    const { next: start = '' } = await page(client, `/pets?limit=1${filter}`, 1);
    assert.ok(start !== '', `/pets?limit=1${filter} has no following page, yet there are more animals`);
    // From a fixed place on, so that what is added meanwhile moves nothing. A cursor is valid with another limit.
    const withLimit = (limit: number) => start.replace(/limit=\d+/, `limit=${limit}`);
    const large = () => page(client, withLimit(20), 20);
    const before = await large();
    const met: PetSeen[] = [];
    let next: string | undefined = withLimit(2);
    for (let count = 0; count < 4 && next !== undefined; count += 1) {
      const read: Page = await page(client, next, 2);
      met.push(...read.pets);
      next = read.next;
    }
    const request = `the walk through /pets?limit=2${filter}`;
    assertNewestFirst(met, request);
    assertHolds({ request, pets: met, next }, before.pets, `which ${before.request} returned`);
    assertHolds(await large(), met, `which ${request} met`);
  }
}

async function checkFilter(client: Client): Promise<void> {
  const everything = () => page(client, '/pets?limit=100', 100);
  const known = await everything();
  const filtered: PetSeen[] = [];
  for (const status of petStatuses) {
    const filter = () => page(client, `/pets?limit=100&status=${status}`, 100);
    const found = await filter();
    const expected = known.pets.filter((pet) => pet.status === status);
    assertHolds(found, expected, `which ${known.request} returned as ${status}`);
    // None there, or none let through? Only one that is certainly there can tell.
    if (found.pets.length === 0) {
      const added = expectPet(await client.post(marked('1', status)), 201);
      assertHolds(await filter(), [added], 'which was added just now');
    }
    filtered.push(...found.pets);
  }
  assertHolds(await everything(), filtered, 'which a filter returned');
}

const json = { 'Content-Type': 'application/json' };
/** One operation that is left open is enough. */
const operations: readonly Ask[] = [
  { path: '/pets' },
  { method: 'POST', path: '/pets', body: marked('1'), headers: json },
  { path: '/pets/1' },
  { path: '/nowhere' },
];

/** The black-box part of the contract. Safe for production: few calls, and every pet added has the mark. */
export const checks: readonly Check[] = [
  {
    name: 'A request without a valid key is 401 on every operation and on unknown paths, with a challenge',
    run: async (client) => {
      const { key } = client;
      const realm = 'Bearer realm="animal-store"';
      // The same key with one character changed is well-formed, but its checksum is wrong.
      const mistyped = key.slice(0, -10) + (key.at(-10) === 'A' ? 'B' : 'A') + key.slice(-9);
      const neverIssued = newKey(/^as_([a-z][a-z0-9]*)_/.exec(key)?.[1] ?? 'prod');
      const malformed = [null, 'Bearer', `Bearer ${key.slice(0, -1)}`, `Basic ${key}`];
      for (const operation of operations) {
        for (const authorization of malformed)
          expectUnauthorized(await client.send({ ...operation, authorization }), realm);
        for (const invalid of [mistyped, neverIssued]) {
          const reply = await client.send({ ...operation, authorization: `Bearer ${invalid}` });
          expectUnauthorized(reply, `${realm}, error="invalid_token"`);
        }
      }
    },
  },
  {
    name: 'An animal is added with 201, its Location, and the categoryId digit for digit',
    run: async (client) => {
      for (const categoryId of ['9223372036854775807', '-9223372036854775808']) {
        const reply = await client.post(marked(categoryId));
        const { id, name, status } = expectPet(reply, 201);
        assert.ok(Number.isSafeInteger(id) && id > 0, `the id ${id} is exact in every JSON client`);
        const isExact = reply.text.includes(`"categoryId":${categoryId}`);
        assert.ok(isExact, `categoryId ${categoryId} came back in ${reply.text}`);
        assert.equal(reply.headers.get('location'), `${client.baseUrl}/pets/${id}`, 'Location');
        assert.deepEqual({ name, status }, { name: mark, status: 'sold' });
      }
    },
  },
  {
    name: 'A body that is not valid is 400 and names every invalid field; 413 and 415 differ',
    run: async (client) => {
      for (const [body, ...fields] of [
        ['{"status":"lost","categoryId":1.5}', 'name', 'categoryId', 'status'],
        ...['9223372036854775808', '"7"', 'null'].map((value) => [marked(value), 'categoryId'] as const),
        ['{"name":'],
      ] as const) {
        const message = expectError(await client.post(body), 400, 'invalid_request');
        for (const field of fields) assert.match(message, new RegExp(String.raw`\b${field}:`), body);
      }
      expectError(await client.post(`{"name":"${'x'.repeat(70_000)}"}`), 413, 'payload_too_large');
      const text = await client.post('name=Rex', { 'Content-Type': 'text/plain' });
      expectError(text, 415, 'unsupported_media_type');
    },
  },
  {
    name: 'A listing is an array of as many animals as `limit` says, 20 without it; newest first',
    run: eventually(checkLimits),
  },
  {
    name: 'A walk through the pages meets each animal once, with a filter too',
    run: eventually(checkWalk),
  },
  {
    name: 'The status filter returns the animals with that status, and all of them',
    run: eventually(checkFilter),
  },
  {
    name: 'A limit, status or cursor that is not valid is 400 and never clamped',
    run: eventually(async (client) => {
      const { next = '' } = await page(client, '/pets?limit=1&status=sold', 1);
      assert.ok(next !== '', 'there is a second page of sold animals');
      for (const [path, field] of [
        ['/pets?limit=0', 'limit'],
        ['/pets?limit=101', 'limit'],
        ['/pets?limit=1.5', 'limit'],
        ['/pets?limit=5&limit=6', 'limit'],
        ['/pets?status=lost', 'status'],
        ['/pets?cursor=abc', 'cursor'],
        [next.replace('status=sold', 'status=pending'), 'cursor'],
      ] as const) {
        const message = expectError(await client.send({ path }), 400, 'invalid_request');
        assert.match(message, new RegExp(`${field}:`), `${path}: the message names ${field}`);
      }
    }),
  },
  {
    name: 'The deprecated operation answers 200 or 404, with its replacement and its end',
    run: async (client) => {
      await fill(client);
      const [pet] = expectPets(await client.send({ path: '/pets?limit=1' }));
      const found = await client.send({ path: `/pets/${pet?.id}` });
      assert.deepEqual(expectPet(found, 200), pet);
      const missing = await client.send({ path: '/pets/1' });
      const absurd = await client.send({ path: '/pets/not-a-number' });
      for (const reply of [missing, absurd]) expectError(reply, 404, 'pet_not_found');
      for (const { headers } of [found, missing, absurd]) {
        assert.match(headers.get('deprecation') ?? '(absent)', /^@\d+$/, 'Deprecation');
        assert.equal(headers.get('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT', 'Sunset');
        assert.equal(headers.get('link'), `<${client.baseUrl}/pets>; rel="successor-version"`, 'Link');
      }
    },
  },
  {
    name: 'An unknown path is 404 and a wrong method 405 with Allow',
    run: async (client) => {
      expectError(await client.send({ path: '/nowhere' }), 404, 'route_not_found');
      const wrong = await client.send({ method: 'DELETE', path: '/pets/1' });
      expectError(wrong, 405, 'method_not_allowed');
      assert.equal(wrong.headers.get('allow'), 'GET');
    },
  },
  {
    name: 'The rate headers count down within a window and say when it resets',
    run: async (client) => {
      const replies = [
        await client.send({ path: '/pets?limit=1' }),
        await client.send({ path: '/pets?limit=1' }),
      ];
      replies.forEach(expectPets);
      const [before, after] = replies.map(rateOf) as [ReturnType<typeof rateOf>, ReturnType<typeof rateOf>];
      const now = Date.now() / 1000;
      const isNear = after.reset > now - 5 && after.reset <= now + 86_405;
      assert.ok(isNear, `the limit resets at ${after.reset}, now is ${now}`);
      const { limit, remaining, reset } = after;
      assert.ok(remaining < limit, `of ${limit} requests ${remaining} remain after two`);
      const isSameWindow = before.reset === reset && before.limit === limit;
      const counted = !isSameWindow || remaining < before.remaining;
      assert.ok(counted, `remaining went from ${before.remaining} to ${remaining}`);
    },
  },
];
