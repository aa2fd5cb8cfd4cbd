import assert from 'node:assert/strict';
import { type Check, eventually } from './check.ts';
import type { Client } from './client.ts';
import { expectPets, nextOf, type PetSeen, petStatuses } from './expectations.ts';
import { addMarked, enough, ensureListed } from './marked.ts';

/**
 * Listings (interface, section 4.1), in a store of any size that others add to meanwhile. What may be demanded of
 * two listings then: what one held, a later one holds as well, as far down as both reach. Nothing is ever removed,
 * and new animals come in at the top.
 */

interface Page {
  readonly request: string;
  /** Newest first. */
  readonly pets: readonly PetSeen[];
  readonly next: string | undefined;
}

/** A page that is right in itself. @param limit of the request, the default where it names none */
async function page(client: Client, path: string, limit: number): Promise<Page> {
  const reply = await client.send({ path });
  const pets = expectPets(reply);
  const next = nextOf(reply);
  const { request } = reply;
  assert.ok(
    pets.length <= limit,
    `${request} returned ${pets.length} animals, ${limit} at most were asked for`,
  );
  assertNewestFirst(pets, request);
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

/** What was seen before is seen again, as far down as the later listing reaches. */
function assertHolds(later: Page, before: readonly Pick<PetSeen, 'id'>[], what: string): void {
  const end = later.next === undefined ? -Infinity : (later.pets.at(-1)?.id ?? -Infinity);
  const ids = new Set(later.pets.map(({ id }) => id));
  const missing = before.find(({ id }) => id >= end && !ids.has(id));
  assert.ok(missing === undefined, `${later.request} leaves out ${missing?.id}, ${what}`);
}

const longest = 100;
const usual = 20;

/** Pages of a walk: enough for several borders between pages. */
const walk = { limit: 2, pages: 4 } as const;

export const listings: readonly Check[] = [
  {
    name: 'A listing is an array of as many animals as `limit` says, 20 without it, where there are as many; newest first',
    run: async (client) => {
      await ensureListed(client);
      await eventually(client, async () => {
        const { pets, request } = await page(client, `/pets?limit=${longest}`, longest);
        assert.ok(
          pets.length >= enough,
          `${request} returned ${pets.length} animals, there are ${enough} and more`,
        );
        for (const [query, limit] of [
          ['', usual],
          ['?limit=5', 5],
          ['?limit=1', 1],
          ['?limit=3&status=sold', 3],
        ] as const) {
          const { length } = (await page(client, `/pets${query}`, limit)).pets;
          const expected = query.includes('status') ? limit : Math.min(limit, pets.length);
          assert.ok(length >= expected, `/pets${query} returned ${length} animals instead of ${expected}`);
        }
      });
    },
  },
  {
    name: 'A walk through the pages meets each animal once, as far as it goes: none is left out or met twice, with a filter too',
    run: async (client) => {
      await ensureListed(client);
      for (const filter of ['', '&status=sold']) {
        await eventually(client, async () => {
          const { next: start } = await page(client, `/pets?limit=1${filter}`, 1);
          assert.ok(
            start !== undefined,
            `/pets?limit=1${filter} has no following page, yet there are more animals`,
          );
          // From a fixed place on, so that what is added meanwhile moves nothing.
          const large = () => page(client, withLimit(start, usual), usual);
          const before = await large();
          const met: PetSeen[] = [];
          let path: string | undefined = withLimit(start, walk.limit);
          for (let count = 0; count < walk.pages && path !== undefined; count += 1) {
            const { pets, next }: Page = await page(client, path, walk.limit);
            met.push(...pets);
            path = next;
          }
          const request = `the walk through /pets?limit=${walk.limit}${filter}`;
          if (filter !== '') assertAll(met, 'sold');
          assertNewestFirst(met, request);
          assertHolds({ request, pets: met, next: path }, before.pets, `which ${before.request} returned`);
          assertHolds(await large(), met, `which ${request} met`);
        });
      }
    },
  },
  {
    name: 'The status filter returns the animals with that status, and all of them',
    run: async (client) => {
      await eventually(client, async () => {
        const everything = () => page(client, `/pets?limit=${longest}`, longest);
        const known = await everything();
        const filtered: PetSeen[] = [];
        for (const status of petStatuses) {
          const filter = () => page(client, `/pets?limit=${longest}&status=${status}`, longest);
          const found = await filter();
          assertAll(found.pets, status);
          const expected = known.pets.filter((pet) => pet.status === status);
          assertHolds(found, expected, `which ${known.request} returned as ${status}`);
          // None there, or none let through? Only one that is there for sure can tell.
          if (found.pets.length === 0) {
            const added = await addMarked(client, status);
            assertHolds(await filter(), [added], 'which was added just now');
          }
          filtered.push(...found.pets);
        }
        assertHolds(await everything(), filtered, 'which a filter returned');
      });
    },
  },
];

/** The same page with another limit: a cursor belongs to its filter alone. */
function withLimit(url: string, limit: number): string {
  const changed = new URL(url);
  changed.searchParams.set('limit', String(limit));
  return changed.href;
}

function assertAll(pets: readonly PetSeen[], status: string): void {
  for (const pet of pets) assert.equal(pet.status, status, `the filter ${status} lets ${pet.status} through`);
}
