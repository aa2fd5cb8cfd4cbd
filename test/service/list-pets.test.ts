import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { encodeCursor } from '../../functions/pets/cursor.ts';
import { petStatuses } from '../../functions/pets/schema.ts';
import * as arbitrary from '../support/arbitraries.ts';
import { anError, commonHeaders } from '../support/expected-errors.ts';
import { isFullRun, rounds } from '../support/rounds.ts';
import { ample, everyPage, nextOf, pets, store } from './listed-animals.ts';
import { explore } from './explore.ts';
import { World } from './world.ts';

// These tests check docs/interface.md#list-animals.

/** Animals 9, 8, 7, 3, 2 and 1, and eleven items that are malformed: by their fields or by their IDs. */
function storeWithMalformed(world: World): void {
  store(world, 9, 9);
  for (const id of [4, 5, 6]) world.put('pets', { id, status: 'sold' });
  // An index takes any number as a key.
  const animal = { name: 'seed', categoryId: 7, status: 'available' };
  for (const id of [0.5, 1.5, 2.25, 2.5, 7.5, 9.5]) world.put('pets', { ...animal, id });
  for (const sign of ['', '-'])
    world.tables.put('Pets', {
      id: { N: `${sign}1${'0'.repeat(30)}` },
      name: { S: 'seed' },
      categoryId: { N: '7' },
      status: { S: 'sold' },
    });
}

describe('a page', () => {
  test('has the 20 newest animals, and links to the next page', async () => {
    const world = new World();
    const stored = store(world, 50);
    const answer = await world.send(world.key('free'), 'GET /pets');
    expect(answer).toMatchObject({ status: 200, headers: commonHeaders });
    expect(z.parse(pets, answer.body)).toEqual(stored.slice(0, 20));
    expect(nextOf(answer)).toMatch(/^\/pets[?]limit=20&cursor=[\w-]+$/);
  });

  test.each([undefined, ...petStatuses])(
    'leads to all others with the filter %s, while animals are added',
    async (status) => {
      const world = new World();
      const stored = store(world, 50);
      const key = world.key(ample);
      const wanted = stored.filter((each) => status === undefined || each.status === status);
      let next: string | undefined = `/pets?limit=7${status === undefined ? '' : `&status=${status}`}`;
      const pages: unknown[][] = [];
      while (next !== undefined) {
        const answer = await world.send(key, `GET ${next}`);
        pages.push(z.parse(pets, answer.body));
        next = nextOf(answer);
        world.wait(1);
        await world.send(key, 'POST /pets', {
          body: `{"name":"Rex","categoryId":7,"status":"${status ?? 'sold'}"}`,
        });
      }
      expect(pages.flat()).toEqual(wanted);
      expect(pages).toHaveLength(Math.ceil(wanted.length / 7));
    },
  );

  test.each([
    ['limit=5', 6, '2'],
    ['limit=6', 6, undefined],
    ['limit=1&status=sold', 6, '4'],
    ['limit=2&status=sold', 6, undefined],
    ['limit=1', 0, undefined],
  ])('?%s of %d animals has a next one exactly if more follow', async (query, count, position) => {
    const world = new World();
    store(world, count, 6);
    const next = nextOf(await world.send(world.key('free'), `GET /pets?${query}`));
    const cursor = next === undefined ? undefined : new URLSearchParams(next.split('?')[1]).get('cursor');
    const filter = query.includes('sold') ? 'status=sold' : undefined;
    expect(cursor ?? undefined).toBe(position && encodeCursor({ filter, before: BigInt(position) }));
  });

  test('after the last animal is empty', async () => {
    const world = new World();
    store(world, 3);
    for (const cursor of [
      encodeCursor({ filter: undefined, before: 0n }),
      encodeCursor({ filter: undefined, before: 998n }),
    ]) {
      const answer = await world.send(world.key('free'), `GET /pets?cursor=${cursor}`);
      expect(answer).toMatchObject({ status: 200, text: '[]' });
      expect(answer.headers).not.toHaveProperty('Link');
    }
  });

  test('after a cursor that is newer than every animal is the first one', async () => {
    const world = new World();
    const stored = store(world, 3);
    const cursor = encodeCursor({ filter: undefined, before: 2n ** 53n });
    expect((await world.send(world.key('free'), `GET /pets?cursor=${cursor}`)).body).toEqual(stored);
  });

  test('costs the same wherever it is, one query a status, each with one animal more than the limit', async () => {
    const world = new World();
    store(world, 60);
    const key = world.key('free');
    const queriesOf = async (query: string) =>
      (await world.send(key, `GET /pets?limit=7${query}`)).calls
        .filter(({ table }) => table === 'Pets')
        .map(({ operation, input }) => {
          const { IndexName: index, Limit: limit } = input as { IndexName?: string; Limit?: number };
          expect(JSON.stringify(input)).not.toContain('Filter');
          return [operation, index, limit];
        });
    const query = ['Query', 'byStatus', 8];
    const last = encodeCursor({ filter: undefined, before: 950n });
    expect(await queriesOf('')).toEqual([query, query, query]);
    expect(await queriesOf(`&cursor=${last}`)).toEqual([query, query, query]);
    expect(await queriesOf('&status=sold')).toEqual([query]);
  });

  test('is complete if DynamoDB returns it in several parts', async () => {
    const world = new World();
    for (let id = 1n; id <= 9n; id += 1n)
      world.put('pets', { id, name: `seed ${id}`, categoryId: 7n, status: 'sold' });
    world.meets = ({ operation }, number) => (operation === 'Query' && number < 5 ? 'shortPage' : 'answered');
    const answer = await world.send(world.key('free'), 'GET /pets?limit=8&status=sold');
    expect(z.parse(pets, answer.body).map(({ id }) => Number(id))).toEqual([9, 8, 7, 6, 5, 4, 3, 2]);
    expect(nextOf(answer)).toBeDefined();
    expect(answer.calls.filter(({ operation }) => operation === 'Query').length).toBeGreaterThan(1);
  });
});

describe('a query', () => {
  test.each([
    ['limit=5&limit=5', 'limit: must be given only once'],
    [
      `status=sold&cursor=${encodeCursor({ filter: 'status=pending', before: 1n })}`,
      'cursor: belongs to a listing with another filter; send the filter of the previous page',
    ],
    [
      'limit=0&status=&cursor=%00',
      'limit: must be a whole number from 1 to 100; status: must be one of available, pending, sold; ' +
        'cursor: is not a valid cursor',
    ],
  ])('?%s is refused with every error', async (query, message) => {
    const world = new World({ isChecked: false });
    const answer = await world.send(world.key('free'), `GET /pets?${query}`);
    expect(answer).toMatchObject(anError('invalid_request', { message }));
    expect(answer.calls.filter(({ table }) => table === 'Pets')).toEqual([]);
  });

  test('of any kind gets 200 or 400, never 500', async () => {
    const world = new World({ isChecked: false });
    store(world, 5);
    const key = world.key(ample);
    const text = arbitrary.text({ maxLength: 30 });
    const name = fc.oneof(fc.constantFrom('limit', 'status', 'cursor', '__proto__', 'constructor'), text);
    const value = fc.oneof(
      fc.constantFrom('1', '100', 'sold', encodeCursor({ filter: 'status=sold', before: 990n })),
      text,
    );
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 5 }), async (query) => {
        const answer = await world.send(key, 'GET /pets', { query });
        seen.add(answer.status);
        if (answer.status === 200) z.parse(pets, answer.body);
        else expect(answer).toMatchObject(anError('invalid_request'));
      }),
      { numRuns: rounds({ full: 100, sample: 30 }) },
    );
    expect(seen).toEqual(new Set([200, 400]));
  });
});

describe('a malformed item', () => {
  test('is left out, logged and counted', async () => {
    const world = new World({ isChecked: false });
    const stored = store(world, 2);
    world.put('pets', { id: 900n, status: 'sold' });
    const answer = await world.send(world.key('free'), 'GET /pets');
    expect(answer).toMatchObject({ status: 200, body: stored });
    expect(answer.log).toMatchObject({ level: 'ERROR', status: 200, MalformedItems: 1 });
    expect(JSON.stringify(answer.log['errors'])).toMatch(/MalformedItemError.*ID 900 is malformed/);
  });

  test('never makes a page short or the last page empty, whatever its ID', async () => {
    const world = new World({ isChecked: false });
    storeWithMalformed(world);
    const key = world.key(ample);
    for (const limit of [1, 2, 3, 5, 6, 20]) {
      const pages = await everyPage(world, key, `/pets?limit=${limit}`);
      expect(pages.flat().map(({ id }) => Number(id))).toEqual([9, 8, 7, 3, 2, 1]);
      expect(pages.map((page) => page.length)).toEqual(
        Array.from({ length: Math.ceil(6 / limit) }, (_, page) => Math.min(limit, 6 - page * limit)),
      );
    }
  });

  test('hides no animal behind an older one of another status, however many there are', async () => {
    const world = new World({ isChecked: false });
    for (let id = 100; id < 310; id += 1) world.put('pets', { id, status: 'sold' });
    const stored = store(world, 3, 3);
    expect((await everyPage(world, world.key(ample), '/pets?limit=1')).flat()).toEqual(stored);
  });
});

describe('when calls of the table', () => {
  test.each(['lostBefore', 'failed', 'throttled'] as const)(
    'are %s once, they are repeated',
    async (fate) => {
      const world = new World();
      store(world, 3);
      const met = new Set<string>();
      world.meets = ({ table, input }) => {
        const isFirst = table === 'Pets' && !met.has(JSON.stringify(input));
        met.add(JSON.stringify(input));
        return isFirst ? fate : 'answered';
      };
      const answer = await world.send(world.key('free'), 'GET /pets');
      expect(answer).toMatchObject({ status: 200, log: { level: 'INFO' } });
      expect(answer.calls.filter(({ table }) => table === 'Pets')).toHaveLength(6);
    },
  );

  test.each(['lostBefore', 'hungBefore', 'failed', 'throttled'] as const)(
    'are always %s, the answer is 503 in time, and the log says why',
    async (fate) => {
      const world = new World();
      world.meets = ({ table }) => (table === 'Pets' ? fate : 'answered');
      const answer = await world.send(world.key('free'), 'GET /pets?status=sold');
      expect(answer).toMatchObject(anError('service_unavailable', { headers: { 'Retry-After': '1' } }));
      expect(answer.log).toMatchObject({ level: 'ERROR', RequestsAdmitted: 1 });
      expect(answer.log['errors']).toEqual([
        expect.objectContaining({ stack: expect.any(String) as string }),
      ]);
    },
  );

  test('are denied, the answer is 500 and they are not repeated', async () => {
    const world = new World();
    world.meets = ({ table }) => (table === 'Pets' ? 'denied' : 'answered');
    const answer = await world.send(world.key('free'), 'GET /pets?status=sold');
    expect(answer).toMatchObject(anError('internal_error'));
    expect(answer.calls.filter(({ table }) => table === 'Pets')).toHaveLength(1);
  });
});

test('an animal that is added beside a listing may be in it or not, in every order', async () => {
  const added = new Set<boolean>();
  await explore({
    given: (world) => {
      store(world, 2, 2);
      return world.key(ample);
    },
    steps: [
      (world, key) => world.send(key, 'GET /pets?status=available'),
      (world, key) => world.send(key, 'POST /pets', { body: '{"name":"Rex","categoryId":7}' }),
    ],
    check: ({ exchanges }) => {
      const { answer } = exchanges.find(({ sent }) => sent.method === 'GET')!;
      if (answer.headers !== undefined) added.add(answer.text.includes('Rex'));
    },
  });
  expect(added).toEqual(new Set([false, true]));
});

test('an animal whose status changes beside a listing is in it once, in every order', async () => {
  const schedules = await explore({
    delays: isFullRun ? Infinity : 0,
    given: (world) => {
      store(world, 5, 5);
      return world.key({ perMinute: 10, perDay: 10 });
    },
    steps: [
      async (world, key) => {
        const { status, body } = await world.send(key, 'GET /pets?limit=5');
        if (status !== 200) return;
        const ids = z.parse(pets, body).map(({ id }) => Number(id));
        expect(ids.filter((id) => id !== 4)).toEqual([5, 3, 2, 1]);
        // Between two reads it can be in neither partition.
        expect(ids.filter((id) => id === 4).length).toBeLessThanOrEqual(1);
      },
    ],
    events: {
      'an operator sells animal 4': (world) => {
        world.wait(1);
        world.put('pets', { id: 4n, name: 'seed 1', categoryId: 7n, status: 'sold' });
      },
    },
  });
  expect(schedules).toBeGreaterThan(3);
});

test.each([
  ['sold', 'available', 'sold', 'sold'],
  ['pending', 'available', 'pending', 'pending'],
  // The call that reads the available ones is the last one: its first attempt is lost.
  ['available again', 'sold', 'available', 'sold'],
] as const)(
  'an animal that becomes %s while a page is read is listed once',
  async (_, first, then, listed) => {
    for (const limit of [1, 2, 3, 5, 20]) {
      const world = new World({ isChecked: false });
      const animals = store(world, 5, 5);
      const becomes = (status: string) => world.put('pets', { ...animals[2]!, status });
      const isRead = new Set<string>();
      world.meets = ({ operation, input }) => {
        if (operation !== 'Query') return 'answered';
        const text = JSON.stringify(input);
        const isOf = (status: string) => text.includes(`"S":"${status}"`);
        const isLost = first === 'sold' && isOf('available') && !isRead.has(text);
        isRead.add(text);
        if (isLost) return 'lostBefore';
        if (isOf(then)) becomes(then);
        else if (isOf(first)) becomes(first);
        return 'answered';
      };
      const page = await everyPage(world, world.key(ample), `/pets?limit=${limit}`);
      for (const each of page) expect(each.length).toBeLessThanOrEqual(limit);
      expect(page.flat().map(({ id }) => Number(id))).toEqual([5, 4, 3, 2, 1]);
      if (limit > 2) expect(page.flat()[2]).toMatchObject({ status: listed });
    }
  },
);

test('a listing that fails has waited for all its calls', async () => {
  const world = new World();
  const sent = new Map<string, number>();
  world.meets = ({ operation, input }) => {
    const text = JSON.stringify(input);
    if (operation !== 'Query' || text.includes('"sold"'))
      return operation === 'Query' ? 'denied' : 'answered';
    sent.set(text, (sent.get(text) ?? 0) + 1);
    return sent.get(text) === 1 ? 'lostBefore' : 'answered';
  };
  const { status, calls } = await world.send(world.key('free'), 'GET /pets');
  expect([status, [...sent.values()]]).toEqual([500, [2, 2]]);
  expect(calls.filter(({ ended }) => !ended)).toEqual([]);
});

test('malformed items are read past by queries for the rest of the page, and each is logged once', async () => {
  const world = new World({ isChecked: false });
  storeWithMalformed(world);
  const key = world.key(ample);
  for (const limit of [1, 2, 3, 5, 6, 20]) {
    let logged = 0;
    for (let next: string | undefined = `/pets?limit=${limit}`; next !== undefined;) {
      const answer = await world.send(key, `GET ${next}`);
      logged += Number(answer.log['MalformedItems'] ?? 0);
      next = nextOf(answer);
    }
    expect(logged).toBe(11);
  }
  const { calls } = await world.send(key, 'GET /pets?limit=2&status=available');
  const limits = calls.flatMap(({ input }) => (input as { readonly Limit?: number }).Limit ?? []);
  expect(limits[0]).toBe(3);
  expect(limits.length).toBeGreaterThan(1);
  expect(Math.max(...limits.slice(1))).toBeLessThan(3);
});
