import * as fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { anError, commonHeaders } from '../../support/expected-errors.ts';
import * as arbitrary from '../../support/arbitraries.ts';
import { base, pet } from '../../service/animals.ts';
import { create } from '../../support/pets.ts';
import { rounds } from '../../support/rounds.ts';
import { captureLog, Service } from '../../support/service.ts';

/** What every answer of a deprecated operation tells (RFC 9745, RFC 8594). */
const deprecation = {
  Deprecation: '@1767225600',
  Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  Link: `<${base}/pets>; rel="successor-version"`,
};
const notFound = anError('pet_not_found', { headers: deprecation });

let service: Service;
let id: bigint;

beforeAll(async () => {
  captureLog();
  service = await Service.start();
  ({ id } = await create(service, { name: 'Rex', categoryId: 7, status: 'sold' }));
});

test('returns 200 with the pet, the deprecation headers and a link to a list that has the pet', async () => {
  const answer = await service.get(`/pets/${id}`);
  expect(answer.status).toBe(200);
  const Link = `<${base}/pets?status=sold>; rel="successor-version"`;
  expect(answer.headers).toMatchObject({ ...commonHeaders, ...deprecation, Link });
  expect((await service.get('/pets?status=sold')).body).toContainEqual(answer.body);
  expect(z.parse(pet, answer.body)).toEqual({ id, name: 'Rex', categoryId: 7n, status: 'sold' });
});

test.each([
  '1',
  '-1',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '0x1',
  '1.0',
  '1e3',
  '+1',
  '01',
  'abc',
  '%20',
  '%00',
  '%2F..%2F',
  '%C3%A9',
  '%',
  '%zz',
  "'%20OR%201=1",
  '%3Cscript%3E',
  '%3E;%20rel="next"',
  '%0d%0aX-Evil:%201',
  'null',
  '__proto__',
])('returns 404 for the ID %s', async (petId) => {
  expect(await service.get(`/pets/${petId}`)).toEqual(notFound);
});

test('returns 404 for an ID of thousands of digits', async () => {
  expect(await service.get(`/pets/${'9'.repeat(8_000)}`)).toEqual(notFound);
});

test('finds a pet by its percent-encoded ID', async () => {
  const encoded = Array.from(String(id), (digit) => `%3${digit}`).join('');
  expect((await service.get(`/pets/${encoded}`)).status).toBe(200);
});

test('returns 404 for another spelling of an ID', async () => {
  for (const spelling of [`0${id}`, `+${id}`, `${id}.0`, `%20${id}`, `${id}%20`, `${id}%0a`]) {
    expect(await service.get(`/pets/${spelling}`)).toEqual(notFound);
  }
});

test('returns 404 for any unknown ID, never 500', async () => {
  const petId = fc.oneof(arbitrary.text({ minLength: 1 }), arbitrary.numberLike);
  await fc.assert(
    fc.asyncProperty(petId, async (text) => {
      fc.pre(text !== '' && text !== String(id));
      expect(await service.get(`/pets/${encodeURIComponent(text)}`)).toEqual(notFound);
    }),
    { numRuns: rounds({ full: 100, sample: 30 }) },
  );
});
