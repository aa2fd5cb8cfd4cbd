import { describe, expect, it } from 'vitest';
import { expectPet, expectPets, nextOf } from '../../tools/smoke/expectations.ts';
import type { Client } from '../../tools/smoke/client.ts';
import { inParallel, isLocal, newClient } from './support.ts';

async function walk(client: Client, first: string, onPage: (page: number) => Promise<void> = async () => {}) {
  const ids: number[] = [];
  let path: string | undefined = first;
  for (let page = 0; path !== undefined; page += 1) {
    const reply = await client.send({ path });
    ids.push(...expectPets(reply).map(({ id }) => id));
    path = nextOf(reply);
    await onPage(page);
  }
  return ids;
}

describe.runIf(isLocal)('many clients at once', () => {
  it('1,000 creations from 50 clients get 1,000 distinct ids, and all are listed', async () => {
    const client = await newClient('enterprise');
    const created = await inParallel(Array.from({ length: 1_000 }), 50, async () =>
      expectPet(await client.post('{"name":"Rex","categoryId":1,"status":"pending"}'), 201),
    );
    const ids = new Set(created.map(({ id }) => id));
    expect(ids.size).toBe(1_000);
    const listed = new Set(await walk(client, '/pets?limit=100&status=pending'));
    expect([...ids].filter((id) => !listed.has(id))).toEqual([]);

    // What follows wants a store of at least 1,000 animals, so it goes on from here.
    for (const first of ['/pets?limit=7', '/pets?limit=7&status=pending']) {
      const known = await walk(client, first.replace('limit=7', 'limit=100'));
      const seen = await walk(client, first, async (page) => {
        if (page % 5 === 0)
          expectPet(await client.post('{"name":"Newcomer","categoryId":2,"status":"pending"}'), 201);
      });
      const counts = Map.groupBy(seen, (id) => id);
      expect(known.filter((id) => counts.get(id)?.length !== 1)).toEqual([]);
      expect(seen).toHaveLength(new Set(seen).size);
    }
  });
});
