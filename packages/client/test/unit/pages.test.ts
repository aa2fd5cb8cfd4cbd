import { describe, expect, it } from 'vitest';
import { AnimalStore } from '../../src/index.ts';
import { apiKey, baseUrl, error, respond, type Step, scripted } from '../support.ts';

const pets = (...ids: number[]) => JSON.stringify(ids.map((id) => ({ id, name: 'Rex', categoryId: 7 })));

/** A page of these animals, with a link to the next one unless it is the last. */
const page = (ids: readonly number[], cursor?: string): Step =>
  respond(200, pets(...ids), {
    ...(cursor !== undefined && { Link: `<https://elsewhere.test/x?limit=9&cursor=${cursor}>; rel="next"` }),
  });

async function idsOf(list: AsyncIterable<{ readonly id: number }>) {
  const ids = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

describe('A list', () => {
  it('is iterated across pages, and its requests go only to the base URL', async () => {
    const { store, sent } = scripted([page([3, 2], 'c1'), page([1])]);
    expect(await idsOf(store.pets.list({ status: 'sold', limit: 2 }))).toEqual([3, 2, 1]);
    expect(sent.map(({ url }) => url)).toEqual([
      `${baseUrl}/pets?limit=2&status=sold`,
      `${baseUrl}/pets?limit=2&status=sold&cursor=c1`,
    ]);
  });

  it('requests only the pages that are needed', async () => {
    const { store, sent } = scripted([page([3], 'c1')]);
    // eslint-disable-next-line no-unreachable-loop
    for await (const pet of store.pets.list()) {
      expect(pet.name).toBe('Rex');
      break;
    }
    expect(sent.map(({ url }) => url)).toEqual([`${baseUrl}/pets?limit=100`]);
  });

  it('is awaited for its first page, which leads to the next one', async () => {
    const { store } = scripted([page([3, 2], 'c1'), page([1])]);
    const first = await store.pets.list();
    expect(first).toMatchObject({ data: [{ id: 3 }, { id: 2 }], nextCursor: 'c1' });
    expect(first.hasNextPage()).toBe(true);
    const last = await first.getNextPage();
    expect(last).toMatchObject({ data: [{ id: 1 }], nextCursor: undefined });
    expect(last.hasNextPage()).toBe(false);
    expect(() => last.getNextPage()).toThrow(TypeError);
  });

  it('is continued with a cursor, as on the next page of a web site', async () => {
    const { store, sent } = scripted([page([1])]);
    const { data } = await store.pets.list({ status: 'sold', limit: 2, cursor: 'a b&c' });
    expect(data).toMatchObject([{ id: 1 }]);
    expect(new URL(sent[0]?.url ?? '').searchParams.get('cursor')).toBe('a b&c');
  });

  it('is iterated from any page on, as often as needed', async () => {
    const { store, sent } = scripted([
      page([3], 'c1'),
      page([2], 'c2'),
      page([1]),
      page([2], 'c2'),
      page([1]),
    ]);
    const list = store.pets.list();
    expect(await idsOf(list)).toEqual([3, 2, 1]);
    expect(await idsOf(await list)).toEqual([3, 2, 1]);
    expect(sent).toHaveLength(5);
  });

  it('is iterated page by page, from its first page or any other', async () => {
    const { store, sent } = scripted([page([3, 2], 'c1'), page([1]), page([1])]);
    const list = store.pets.list();
    const ids: unknown[] = [];
    for await (const { data } of list.pages()) ids.push(data.map(({ id }) => id));
    expect(ids).toEqual([[3, 2], [1]]);
    const [, second] = await Array.fromAsync((await list).pages());
    expect(second).toMatchObject({ data: [{ id: 1 }], nextCursor: undefined });
    expect(sent).toHaveLength(3);
  });

  it('keeps the options of the call on every page', async () => {
    const { store, sent } = scripted([page([2], 'c1'), page([1])]);
    await idsOf(store.pets.list({}, { headers: { 'X-Trace': 't' } }));
    expect(sent.map(({ headers }) => headers.get('X-Trace'))).toEqual(['t', 't']);
  });

  it.each(['/pets?limit=2&cursor=c1', '?cursor=c1', 'http://h/?cursor=c1&limit=2'])(
    'finds the cursor in a link to %s',
    async (target) => {
      const { store } = scripted([respond(200, '[]', { Link: `<${target}>; rel="next"` })]);
      expect((await store.pets.list()).nextCursor).toBe('c1');
    },
  );

  it('fails while iterating, on a page that fails or is not a list, and on a link without cursor', async () => {
    const unavailable = error(503, 'service_unavailable');
    const { store } = scripted([page([2], 'c1'), unavailable], { maxRetries: 0 });
    await expect(idsOf(store.pets.list())).rejects.toMatchObject({ code: 'service_unavailable' });
    for (const broken of [respond(200, '{}'), respond(200, '[]', { Link: '<http://h>; rel="next"' })]) {
      await expect(scripted([broken]).store.pets.list()).rejects.toMatchObject({ code: 'invalid_answer' });
    }
  });

  describe('whose pages would never end', () => {
    /** A server that answers in this order, again and again after the first so many. */
    function endless(cursors: readonly string[], first = 0) {
      let requests = 0;
      const fetch = () => {
        const index = requests < first ? requests : first + ((requests - first) % (cursors.length - first));
        requests += 1;
        // A client that never stops would stop here.
        if (requests > 100_000) throw new Error('endless');
        return Promise.resolve(page([1], cursors[index])({} as never) as Response);
      };
      return { store: new AnimalStore({ baseUrl, apiKey, fetch, maxRetries: 0 }), sent: () => requests };
    }

    const fault = {
      name: 'InvalidAnswerError',
      code: 'invalid_answer',
      status: 200,
      method: 'GET',
      attempts: 1,
    };

    it('ends with an error when the next cursor is the one just sent, as that of a mock server', async () => {
      const { store, sent } = endless(['AQEAAG']);
      const message = 'The list does not end: the next page is the one that was just requested.';
      await expect(idsOf(store.pets.list())).rejects.toMatchObject({ ...fault, message });
      expect(sent()).toBe(2);
      await expect(store.pets.list({ cursor: 'AQEAAG' })).rejects.toMatchObject({ ...fault, message });
    });

    it('ends with an error when the next cursor is empty', async () => {
      const empty = respond(200, '[]', { Link: '</pets?cursor=&limit=2>; rel="next"' });
      await expect(idsOf(scripted([empty]).store.pets.list())).rejects.toMatchObject({
        ...fault,
        message: 'The link to the next page has no cursor.',
      });
    });

    it.each([
      [2, 0],
      [3, 0],
      [7, 5],
      [100, 37],
      [1_000, 1],
    ])('ends with an error when %d cursors run in a circle after the first %d', async (count, first) => {
      const cursors = Array.from({ length: count + first }, (_, index) => `c${index}`);
      for (const iterate of [
        ({ pets: all }: AnimalStore) => idsOf(all.list()),
        async ({ pets: all }: AnimalStore) => Array.fromAsync(all.list().pages()),
        async ({ pets: all }: AnimalStore) => {
          for (let each = await all.list(); each.hasNextPage();) each = await each.getNextPage();
        },
      ]) {
        const { store, sent } = endless(cursors, first);
        await expect(iterate(store)).rejects.toMatchObject({
          ...fault,
          message: 'The list does not end: its pages run in a circle.',
        });
        expect(sent()).toBeGreaterThan(count + first);
        expect(sent()).toBeLessThanOrEqual(3 * (count + first) + 1);
      }
    });

    it.each(['http://h/?cursor=c; rel="next"', '<http://h/?cursor=c; rel="next"', 'cursor=c; rel=next'])(
      'is not taken for ended when the link to its next page cannot be read: %s',
      async (link) => {
        const { store } = scripted([respond(200, pets(2), { Link: link })]);
        await expect(idsOf(store.pets.list())).rejects.toMatchObject({
          ...fault,
          message: 'The link to the next page cannot be read.',
        });
      },
    );

    it('may be as long as it is, and be requested again', async () => {
      const cursors = Array.from({ length: 3_000 }, (_, index) => `c${index}`);
      const steps = [...cursors.map((cursor) => page([1], cursor)), page([1])];
      const { store, sent } = scripted([...steps, ...steps.slice(1)]);
      const list = store.pets.list();
      expect(await idsOf(list)).toHaveLength(3_001);
      expect(await idsOf(await list)).toHaveLength(3_001);
      expect(sent).toHaveLength(6_001);
    });
  });
});
