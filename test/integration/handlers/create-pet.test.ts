import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { parseJson } from '../../../functions/http/exact-json.ts';
import { newPet } from '../../../functions/pets/schema.ts';
import { openApiDocument, withoutReferences } from '../../support/openapi-document.ts';
import { anError, commonHeaders } from '../../support/expected-errors.ts';
import * as arbitrary from '../../support/arbitraries.ts';
import { base, pet } from '../../service/animals.ts';
import { create, everyPage } from '../../support/pets.ts';
import { rounds } from '../../support/rounds.ts';
import { newCaller } from '../../support/events.ts';
import { captureLog, Service } from '../../support/service.ts';

const rex = { name: 'Rex', categoryId: 7, status: 'sold' };

let service: Service;
let log: string[];

beforeAll(async () => {
  log = captureLog();
  service = await Service.start();
});

test('returns 201 with the pet, its ID and its Location', async () => {
  const answer = await service.post(rex);
  expect(answer.status).toBe(201);
  const { id, ...rest } = z.parse(pet, answer.body);
  expect(rest).toEqual({ name: 'Rex', categoryId: 7n, status: 'sold' });
  expect(id).toBeLessThanOrEqual(BigInt(Number.MAX_SAFE_INTEGER));
  expect(answer.headers).toMatchObject({ ...commonHeaders, Location: `${base}/pets/${id}` });
  expect((await service.get(`/pets/${id}`)).text).toBe(answer.text);
});

test('stores and returns every field that the OpenAPI document has for it', async () => {
  const schema = z.object({
    examples: z.optional(z.array(z.unknown())),
    enum: z.optional(z.array(z.unknown())),
  });
  const document = z.object({
    components: z.object({
      schemas: z.object({ NewPet: z.object({ properties: z.record(z.string(), schema) }) }),
    }),
  });
  const { properties } = z.parse(document, withoutReferences(await openApiDocument())).components.schemas
    .NewPet;
  const sent = Object.fromEntries(
    Object.entries(properties).map(([name, { examples, enum: values }]) => [name, (examples ?? values)![0]]),
  );
  const created = await service.post(sent);
  const { id, ...fields } = z.parse(pet, created.body);
  expect(fields).toEqual(parseJson(JSON.stringify(sent)));
  expect((await service.get(`/pets/${id}`)).body).toEqual({ id, ...fields });
  expect((await everyPage(service, '/pets')).flat()).toContainEqual({ id, ...fields });
});

test('creates an available pet if the status is omitted', async () => {
  expect(await create(service, { name: 'Rex', categoryId: 7 })).toMatchObject({ status: 'available' });
});

test('ignores unknown fields, and the ID', async () => {
  const { id } = await create(service, { ...rex, id: 1, owner: 'me' });
  expect(id).toBeGreaterThan(1n);
  await create(service, '{"name":"Rex","categoryId":7,"__proto__":{"name":"Max"},"constructor":null}');
});

test.each(['9223372036854775807', '-9223372036854775808', '9007199254740993', '0'])(
  'returns every digit of the categoryId %s',
  async (digits) => {
    const answer = await service.post(`{"name":"Rex","categoryId":${digits}}`);
    const { id } = z.parse(pet, answer.body);
    const fetched = await service.get(`/pets/${id}`);
    const listed = await service.get('/pets?limit=100');
    for (const { text } of [answer, fetched, listed]) expect(text).toContain(`"categoryId":${digits},`);
  },
);

test('names every error of a body', async () => {
  expect(await service.post({ name: ' ', status: 'adopted' })).toEqual(
    anError('invalid_request', {
      message:
        'name: must not be empty or only whitespace; categoryId: is required; ' +
        'status: must be one of available, pending, sold',
    }),
  );
});

test('accepts a body that API Gateway passes as base64', async () => {
  const body = Buffer.from('{"name":"Müsli","categoryId":7}');
  expect(await create(service, body)).toMatchObject({ name: 'Müsli' });
});

const fields = Object.keys(newPet.shape);
const exactRex = { ...rex, categoryId: 7n };
/** The fields that take any text that can be read. */
const textFields = fields.filter((field) => newPet.safeParse({ ...exactRex, [field]: 'Anna' }).success);
const unreadable = ['', ' ', '\u200b', '\u00a0', '\ud800', 'a\udc08b', '\ufffd', 'Bell\ufffd'];

test('takes no text that nobody can read, in any field', async () => {
  expect(textFields).toContain('name');
  for (const field of textFields)
    for (const text of unreadable) {
      const message = expect.stringMatching(`^${field}: must `) as string;
      expect(await service.post({ ...rex, [field]: text })).toEqual(anError('invalid_request', { message }));
    }
});

test('returns 201 or 400 for any bytes, never 500', async () => {
  const value = fc.oneof(
    arbitrary.petName,
    fc.constantFrom(...unreadable),
    fc.array(fc.constantFrom(...unreadable, 'Rex'), { maxLength: 4 }).map((parts) => parts.join('')),
    fc.integer(),
    fc.double(),
    arbitrary.petStatus,
    fc.jsonValue(),
  );
  const anyField = fc.tuple(fc.constantFrom(...fields, 'id'), value);
  const almostAnAnimal = fc.array(anyField, { maxLength: 3 }).map((some) => Object.fromEntries(some));
  const seen = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        fc.json(),
        almostAnAnimal.map((some) => JSON.stringify(some)),
        almostAnAnimal.map((some) => JSON.stringify({ ...rex, ...some })),
      ),
      async (body) => {
        const answer = await service.post(body);
        seen.add(answer.status);
        expect(answer.status === 201 ? anError('invalid_request') : answer).toEqual(
          anError('invalid_request'),
        );
        if (answer.status === 201) z.parse(pet, answer.body);
      },
    ),
    { numRuns: rounds({ full: 150, sample: 40 }), examples: [[JSON.stringify(rex)]] },
  );
  expect(seen).toEqual(new Set([201, 400]));
});

describe('with an Idempotency-Key', () => {
  const caller = newCaller('business');

  test('returns the first response again for the same request, marked as replayed', async () => {
    const key = randomUUID();
    const first = await service.post(rex, caller, key);
    expect(first.status).toBe(201);
    expect(first.headers).not.toHaveProperty('Idempotency-Replayed');
    const again = await service.post(rex, caller, key);
    expect(again).toMatchObject({
      status: 201,
      text: first.text,
      headers: { Location: first.headers['Location'], 'Idempotency-Replayed': 'true' },
    });
    const listed = (await everyPage(service, '/pets?limit=100')).flat().map(({ id }) => id);
    expect(listed.filter((id) => id === z.parse(pet, first.body).id)).toHaveLength(1);
  });

  test.each([
    ['an unknown field', { ...rex, owner: 'me' }],
    ['a default that the first one omits', { ...rex, status: 'available' }],
  ])('treats JSON with %s as another request', async (_what, body) => {
    const key = randomUUID();
    const { status: _, ...withoutStatus } = rex;
    await service.post('status' in body && body.status === 'available' ? withoutStatus : rex, caller, key);
    expect((await service.post(body, caller, key)).status).toBe(422);
  });

  test.each<[string, number, string, ...string[]]>([
    ['another spelling of a number', 201, '0.1', '0.10', '1e-1'],
    ['a number that is rounded to it', 422, '0.1', '0.10000000000000000001'],
    ['a number that is read as null', 422, 'null', '1e400'],
  ])('of an unknown field, treats %s as it is: %d', async (_what, status, first, ...others) => {
    const key = randomUUID();
    const withWeight = (weight: string) =>
      service.post(`{"name":"Rex","categoryId":7,"weight":${weight}}`, caller, key);
    expect((await withWeight(first)).status).toBe(201);
    for (const other of others) expect((await withWeight(other)).status).toBe(status);
  });

  test.each([
    ['another name', 'Rex', 'Max'],
    ['a name in another Unicode normal form', 'Zo\u00eb', 'Zoe\u0308'],
    ['a name in another compatibility form', 'Rex 1', 'Rex \u2460'],
    ['a name in other case', 'Rex', 'rex'],
    ['a name with a space more', 'Rex', 'Rex '],
  ])('returns 422 for %s', async (_what, name, other) => {
    const key = randomUUID();
    expect(await service.post({ ...rex, name }, caller, key)).toMatchObject({ status: 201, body: { name } });
    expect(await service.post({ ...rex, name: other }, caller, key)).toEqual(
      anError('idempotency_key_reused'),
    );
  });

  test('does not store the key of a rejected or invalid request', async () => {
    const limited = newCaller('enterprise', { perMinute: 2, perDay: 2 });
    const key = randomUUID();
    expect((await service.post('{}', limited, key)).status).toBe(400);
    expect((await service.get('/nowhere', limited)).status).toBe(404);
    expect((await service.post(rex, limited, key)).status).toBe(429);
    const unlimited = { ...limited, perMinute: 100, perDay: 100 };
    const created = await service.post({ ...rex, name: 'Max' }, unlimited, key);
    expect(created.status).toBe(201);
    expect(created.headers).not.toHaveProperty('Idempotency-Replayed');
  });

  test('logs neither the key nor the body, and counts a replay', async () => {
    log.length = 0;
    const key = `key-${randomUUID()}`;
    const body = { ...rex, name: 'Unmistakable' };
    await service.post(body, caller, key);
    await service.post(body, caller, key);
    await service.post({ ...body, categoryId: 8 }, caller, key);
    expect(log).toHaveLength(3);
    expect(log.join('')).not.toMatch(new RegExp(`${key}|Unmistakable`));
    expect(log.map((line) => /"(PetsCreated|CreationsReplayed)":1/.exec(line)?.[1])).toEqual([
      'PetsCreated',
      'CreationsReplayed',
      undefined,
    ]);
  });
});
