import { describe, expect, it } from 'vitest';
import { expectPet, expectPets, nextOf } from '../../../tools/operators/smoke/expectations.ts';
import type { Client, Reply } from '../../../tools/operators/smoke/client.ts';
import { rounds } from '../../support/rounds.ts';
import { clientOf, inParallel } from './support.ts';

/** The IDs of a listing, newest first, down to `oldest`: what the store held before does not matter. */
async function walk(
  client: Client,
  first: string,
  oldest: number,
  onPage: (page: number) => Promise<void> = async () => {},
): Promise<number[]> {
  const ids: number[] = [];
  let path: string | undefined = first;
  for (let page = 0; path !== undefined && (ids.at(-1) ?? Infinity) >= oldest; page += 1) {
    const reply: Reply = await client.send({ path });
    ids.push(...expectPets(reply).map(({ id }) => id));
    path = nextOf(reply);
    await onPage(page);
  }
  return ids.filter((id) => id >= oldest);
}

const creations = rounds({ full: 1_000, sample: 60 });
/** The service starts an execution environment of a function for each request at the same time. */
const clients = rounds({ full: 50, sample: 4 });

describe('many clients at once', () => {
  it(`${creations} creations from ${clients} clients get as many distinct IDs, and all are listed`, async () => {
    const client = await clientOf('enterprise');
    const created = await inParallel(Array.from({ length: creations }), clients, async () =>
      expectPet(await client.post('{"name":"Rex","categoryId":1,"status":"pending"}'), 201),
    );
    const ids = new Set(created.map(({ id }) => id));
    expect(ids.size).toBe(creations);
    const oldest = Math.min(...ids);
    const missing = async (): Promise<number[]> => {
      const listed = new Set(await walk(client, '/pets?limit=100&status=pending', oldest));
      return [...ids].filter((id) => !listed.has(id));
    };
    // A listing shows a creation within a moment, not at once.
    await expect.poll(missing, { timeout: 20_000, interval: 1_000 }).toEqual([]);

    // Pages need many animals, so this goes on with those above.
    for (const first of ['/pets?limit=7', '/pets?limit=7&status=pending']) {
      const known = await walk(client, first.replace('limit=7', 'limit=100'), oldest);
      const seen = await walk(client, first, oldest, async (page) => {
        if (page % 5 === 0)
          expectPet(await client.post('{"name":"Newcomer","categoryId":2,"status":"pending"}'), 201);
      });
      const counts = Map.groupBy(seen, (id) => id);
      expect(known.filter((id) => counts.get(id)?.length !== 1)).toEqual([]);
      expect(seen).toHaveLength(new Set(seen).size);
    }
  });
});
