import { PutCommand } from '@aws-sdk/lib-dynamodb';
import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { putPets } from '../../../tools/contributors/local/put-pets.ts';
import { encodeCursor } from '../../../functions/pets/cursor.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import { anError, commonHeaders } from '../../support/expected-errors.ts';
import { nextOf, pets } from '../../service/animals.ts';
import { create, everyPage } from '../../support/pets.ts';
import { rounds } from '../../support/rounds.ts';
import { captureLog, Service } from '../../support/service.ts';
import * as arbitrary from '../../support/arbitraries.ts';

/** Newest first. */
const stored = Array.from({ length: 50 }, (_, index) => ({
  id: BigInt(1_000 - index),
  name: `Animal ${index}`,
  categoryId: 7n,
  status: petStatuses[index % 3]!,
}));

let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  service = await Service.start();
  await putPets(service.tables.pets, stored);
});

test('returns 200 with the 20 newest pets and a link to the next page', async () => {
  const answer = await service.get('/pets');
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject(commonHeaders);
  expect(z.parse(pets, answer.body)).toEqual(stored.slice(0, 20));
  expect(nextOf(answer)).toMatch(/^\/pets[?]limit=20&cursor=[\w-]+$/);
});

test.each([undefined, ...petStatuses])('links all pages of the filter %s', async (status) => {
  const query = status === undefined ? 'limit=7' : `limit=7&status=${status}`;
  const pages = await everyPage(service, `/pets?${query}`);
  const wanted = stored.filter((pet) => status === undefined || pet.status === status);
  expect(pages.flat()).toEqual(wanted);
  expect(pages).toHaveLength(Math.ceil(wanted.length / 7));
});

test('returns an empty list after the last pet', async () => {
  const cursor = encodeCursor({ filter: undefined, before: 0n });
  const answer = await service.get(`/pets?cursor=${cursor}`);
  expect(answer).toMatchObject({ status: 200, text: '[]' });
  expect(answer.headers).not.toHaveProperty('Link');
});

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
])('rejects ?%s with every error', async (query, message) => {
  expect(await service.get(`/pets?${query}`)).toEqual(anError('invalid_request', { message }));
});

test('returns 200 or 400 for any query, never 500', async () => {
  const text = arbitrary.text({ maxLength: 30 });
  const name = fc.oneof(fc.constantFrom('limit', 'status', 'cursor', '__proto__', 'constructor'), text);
  const value = fc.oneof(
    fc.constantFrom('1', '100', 'sold', encodeCursor({ filter: 'status=sold', before: 990n })),
    text,
  );
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 5 }), async (query) => {
      const answer = await service.call({ path: '/pets', query });
      seen.add(answer.status);
      expect(answer.status === 200 ? anError('invalid_request') : answer).toEqual(anError('invalid_request'));
      if (answer.status === 200) z.parse(pets, answer.body);
    }),
    { numRuns: rounds({ full: 100, sample: 30 }) },
  );
  expect(seen).toEqual(new Set([200, 400]));
});

test('omits a malformed pet and logs it', async () => {
  const own = await Service.start();
  const { id } = await create(own, { name: 'Rex', categoryId: 7, status: 'sold' });
  const item = { id: id - 1n, status: 'sold' };
  await own.tables.pets.client.send(new PutCommand({ TableName: own.tables.pets.tableName, Item: item }));

  const answer = await own.get('/pets');
  expect(answer.status).toBe(200);
  expect(z.parse(pets, answer.body).map((each) => each.id)).toEqual([id]);
  expect(JSON.parse(log.at(-1)!)).toMatchObject({
    level: 'ERROR',
    status: 200,
    MalformedItems: 1,
    errors: [{ name: 'MalformedItemError', message: expect.stringContaining(String(item.id)) as unknown }],
  });

  const fetched = await own.get(`/pets/${item.id}`);
  expect(fetched).toEqual(anError('internal_error'));
  expect(fetched.text).not.toContain(String(item.id));
});
