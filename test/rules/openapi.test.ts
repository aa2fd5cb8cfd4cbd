import { existsSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { parseJson } from '../../functions/http/exact-json.ts';
import { parseIdempotencyKey } from '../../functions/http/input.ts';
import { parseRequest } from '../../functions/http/request.ts';
import { integer, storedInteger } from '../../functions/pets/int64.ts';
import { listing } from '../../functions/pets/listing.ts';
import { newPet, petStatus } from '../../functions/pets/schema.ts';
import { expectHandlers } from '../../tools/contributors/openapi/output/handlers.ts';
import { partsOfPages, withParts } from '../../tools/contributors/openapi/output/pages.ts';
import { describedField, sampleOf, writing } from '../../tools/contributors/openapi/output/json-schema.ts';
import { openApiDocument, withoutReferences } from '../support/openapi-document.ts';
import * as arbitrary from '../support/arbitraries.ts';
import { freeCaller, proxyEvent } from '../support/events.ts';
import { rounds } from '../support/rounds.ts';

const schema = z.record(z.string(), z.unknown());
const parameters = z.array(z.looseObject({ name: z.string(), schema }));
const method = z.object({ parameters });
const { paths, components } = z
  .object({
    paths: z.object({ '/pets': z.object({ get: method, post: method }) }),
    components: z.object({
      schemas: z.object({ NewPet: z.object({ properties: z.record(z.string(), schema) }) }),
    }),
  })
  .parse(withoutReferences(await openApiDocument()));

/** What a field can be sent as, out of many values with characters and lengths that a rule can get wrong. */
function candidates(described: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const { minLength = 0, maxLength = 255, minimum = 0, maximum = 0, enum: values = [] } = described;
  const awkward = [
    ' ',
    '\u200b',
    '\0',
    '\x1f',
    '\x7f',
    '\x9f',
    '\u00a0',
    '\ud800',
    '\udc00',
    '\ufffd',
    '\uffff',
    '\ue000',
    'é',
    '🐈',
    '\n',
    '~',
    '"',
  ];
  const near = (limit: unknown) =>
    fc.integer({ min: Math.max(0, Number(limit) - 5), max: Number(limit) + 5 });
  return fc.oneof(
    arbitrary.text(),
    fc.array(fc.constantFrom(...awkward), { maxLength: 6 }).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('a', '🐈'), fc.oneof(near(minLength), near(maxLength)))
      .map(([one, count]) => one.repeat(count)),
    fc.oneof(near(minimum), near(maximum)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(...(values as unknown[]), null, true, 1.5, {}, []),
  );
}

/** A value on which the document and the service disagree. */
function disagreement(
  described: Readonly<Record<string, unknown>>,
  isAccepted: (value: unknown) => boolean,
  values = candidates(described),
) {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const validate = ajv.compile(described);
  const agreed = fc.property(
    values,
    (value) => validate(typeof value === 'bigint' ? Number(value) : value) === isAccepted(value),
  );
  return fc.check(agreed, { numRuns: rounds({ full: 2_000, sample: 400 }) }).counterexample;
}

/** Texts that the description of a field refuses, and its pattern does not: see `readablePattern`. */
function isRefusedInWords(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const isInvisible = !/^[\0-\x7f]*$/.test(value) && /^[\p{Z}\p{Cc}\p{Cf}]*$/u.test(value);
  return isInvisible || /[\x80-\x9f]/.test(value) || !value.isWellFormed() || /[\uFFFD-\uFFFF]/.test(value);
}

describe('docs/openapi.yaml accepts exactly what the service accepts', () => {
  const { properties } = components.schemas.NewPet;
  const animal = { name: 'Rex', categoryId: 7n };

  it.each(Object.entries(properties))('as the %s of a new animal', (name, described) => {
    // JSON's whole numbers are read as bigint.
    const read = (value: unknown) => (Number.isSafeInteger(value) ? BigInt(value as number) : value);
    const isAccepted = (value: unknown) => newPet.safeParse({ ...animal, [name]: read(value) }).success;
    const values = candidates(described).filter((value) => !isRefusedInWords(value));
    expect(disagreement(described, isAccepted, values)).toBeNull();
  });

  it.each(paths['/pets'].get.parameters.filter(({ name }) => name !== 'cursor'))(
    'as the parameter $name of a listing',
    ({ name, schema: described }) => {
      // A query has text only: a number stands for its digits.
      const isAccepted = (value: unknown) => listing.safeParse({ [name]: String(value) }).success;
      const sent = described['type'] === 'integer' ? 'number' : 'string';
      const values = candidates(described).filter((value) => typeof value === sent);
      expect(disagreement(described, isAccepted, values)).toBeNull();
    },
  );

  it('as an Idempotency-Key', () => {
    const isAccepted = (key: unknown): boolean => {
      const headers = [['Idempotency-Key', String(key)]] as const;
      try {
        const event = proxyEvent({ resource: '/pets', headers, caller: freeCaller });
        return parseIdempotencyKey(parseRequest(event)) === key;
      } catch {
        return false;
      }
    };
    const described = paths['/pets'].post.parameters[0]!.schema;
    const values = candidates(described).filter((value) => typeof value === 'string');
    expect(disagreement(described, isAccepted, values)).toBeNull();
  });
});

describe('docs/openapi.yaml has names and types of which generators make code', async () => {
  const document = z
    .object({
      paths: z.record(
        z.string(),
        z.record(z.string(), z.object({ operationId: z.string(), parameters: parameters.optional() })),
      ),
      components: z.object({
        schemas: z.record(
          z.string(),
          z.looseObject({ properties: z.record(z.string(), schema).default({}) }),
        ),
      }),
    })
    .parse(withoutReferences(await openApiDocument()));
  const { schemas } = document.components;
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const fields = Object.entries(schemas).flatMap(([of, { properties }]) =>
    Object.entries(properties).map(([name, described]) => ({ of, name, described })),
  );

  it('that are identifiers', () => {
    expect(Object.keys(schemas).filter((name) => !/^(?:[A-Z][a-z]+)+$/.test(name))).toEqual([]);
    const others = [...operations.map(({ operationId }) => operationId), ...fields.map(({ name }) => name)];
    expect(others.filter((name) => !/^[a-z]+(?:[A-Z][a-z]+)*$/.test(name))).toEqual([]);
  });

  it('that are not those of the types that generators add', () => {
    const typesOf = ({ operationId }: (typeof operations)[number]) =>
      ['', 'Params', 'Request', 'Response', 'JSONRequestBody'].map((end) => operationId + end);
    // In Go, the function that makes a Pet is NewPet. docs/write-a-client.md has the option.
    const makersOf = (name: string) => (name === 'Pet' ? [] : [`New${name}`]);
    const added = [...operations.flatMap(typesOf), ...Object.keys(schemas).flatMap(makersOf)];
    const all = [...Object.keys(schemas), ...added].map((name) => name.toLowerCase());
    expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
  });

  it('that make an int64 of each ID', () => {
    const ids = fields.filter(({ name }) => /^id$|Id$/.test(name));
    expect(ids.map(({ of, name }) => `${of}.${name}`)).toEqual(
      expect.arrayContaining(['NewPet.categoryId', 'Pet.id', 'Pet.categoryId']),
    );
    const parametersWithId = operations
      .flatMap((each) => each.parameters ?? [])
      .filter(({ name }) => name.endsWith('Id'));
    expect(parametersWithId.map(({ name }) => name)).toContain('petId');
    for (const described of [
      ...ids.map((each) => each.described),
      ...parametersWithId.map((each) => each.schema),
    ])
      expect(described).toMatchObject({ type: 'integer', format: 'int64' });
  });
});

// Programs that read the document send such a value with every creation, so that the second one is the first one again.
it('an Idempotency-Key has no value that programs could send', () => {
  const [key, ...more] = paths['/pets'].post.parameters;
  expect(more).toEqual([]);
  expect(key).toMatchObject({ name: 'Idempotency-Key' });
  const given = ['example', 'examples', 'default', 'const', 'enum'];
  expect(given.filter((keyword) => keyword in key! || keyword in key!.schema)).toEqual([]);
});

it('the example of a request is valid', () => {
  const sample = parseJson(JSON.stringify(sampleOf('NewPet')));
  expect(newPet.safeParse(sample)).toMatchObject({ success: true });
});

it.each([
  ['a request', 'input', integer(0, 1_200), { type: 'integer', minimum: 0, maximum: 1_200 }],
  ['a response', 'output', storedInteger, { type: 'integer' }],
] as const)('an integer that a number holds is no int64 in %s', (_, io, field, written) => {
  const { $schema: _draft, ...made } = z.toJSONSchema(field, { ...writing, io });
  expect(made).toEqual(written);
});

it('a list of what has a name of its own refers to it', () => {
  expect(z.toJSONSchema(z.array(petStatus), writing)).toMatchObject({
    type: 'array',
    items: { $ref: '#/components/schemas/PetStatus' },
  });
});

it('an operation without its handler is named, with the file where it belongs', () => {
  expect(() => expectHandlers()).not.toThrow();
  expect(() => expectHandlers(['adopt-pet'])).toThrow('functions/adopt-pet.ts does not exist.');
  expect(() => expectHandlers(['authorizer'])).toThrow("does not call pipeline('authorizer', …)");
});

it.each([
  ['has no words', {}],
  ['has no sample', { breed: { description: 'Breed of the animal.' } }],
] as const)('a new field that %s is named, with what to do', (_, fields) => {
  const problem =
    'The field "breed" of NewPet has no words or no sample. Add its "description" and "sample" to ';
  expect(() => describedField('NewPet', 'breed', fields as never)).toThrow(problem);
});

it('the file of each part of a page has its name', () => {
  const parts = Object.values(partsOfPages()).flatMap((ofPage) => Object.keys(ofPage));
  expect(parts).toContain('errors');
  const hasFile = (part: string) => existsSync(`tools/contributors/openapi/${part}.ts`);
  expect(parts.filter((part) => !hasFile(part))).toEqual([]);
});

it('a page that has lost the markers of a part is named, with them', () => {
  const page = 'Before\n<!-- openapi: errors -->\nold\n<!-- openapi: end -->\nAfter';
  expect(withParts('a.md', page, { errors: 'new' })).toBe(page.replace('old', '\nnew\n'));
  expect(() => withParts('a.md', page, { headers: 'new' })).toThrow(
    'a.md lacks the lines "<!-- openapi: headers -->" and "<!-- openapi: end -->".',
  );
});
