import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { newKey } from '../../functions/access/keys.ts';
import { customPlan, fixedPlans } from '../../functions/access/plans.ts';
import { secondsPerDay, secondsPerMinute } from '../../functions/access/windows.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../functions/http/errors.ts';
import { parseIdempotencyKey } from '../../functions/http/idempotency-key.ts';
import { maxBodyBytes } from '../../functions/http/input.ts';
import { rateLimitHeaders } from '../../functions/http/rate-headers.ts';
import { parseRequest } from '../../functions/http/request.ts';
import { idempotencyRetention } from '../../functions/pets/idempotent-creation.ts';
import { pageSize } from '../../functions/pets/listing.ts';
import { defaultPetStatus, maxNameLength, newPet, petStatuses } from '../../functions/pets/schema.ts';
import { operations } from '../../lib/operations.ts';
import { openApiDocument, withoutReferences } from '../../tools/reference/document.ts';
import { text } from '../support/arbitraries.ts';
import { proxyEvent } from '../support/events.ts';
import { rounds } from '../support/rounds.ts';

/** docs/openapi.yaml is written by hand. These tests compare it with the code that enforces it; `npm run check:openapi` lints it. */

const object = z.record(z.string(), z.unknown());
const response = z.object({
  description: z.string(),
  headers: z.record(
    z.string(),
    z.object({ description: z.string(), schema: object, required: z.boolean().default(false) }),
  ),
  content: z.strictObject({
    'application/json': z.object({
      schema: object,
      examples: z.record(z.string(), z.object({ value: z.unknown() })),
    }),
  }),
});
const operation = z.looseObject({
  operationId: z.string(),
  deprecated: z.boolean().default(false),
  description: z.string(),
  parameters: z.array(
    z.object({ name: z.string(), description: z.string(), schema: object, required: z.boolean().optional() }),
  ),
  responses: z.record(z.string(), response),
});
const documentSchema = z.object({
  info: z.object({ description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    securitySchemes: z.object({ apiKey: z.object({ description: z.string() }) }),
    schemas: z.record(z.string(), z.looseObject({ properties: z.record(z.string(), object).default({}) })),
    responses: z.record(z.string(), response),
  }),
});

const { info, paths, components } = documentSchema.parse(withoutReferences(await openApiDocument()));
const { get: listPets, post: createPet } = paths['/pets']!;
const getPet = paths['/pets/{petId}']!['get']!;
const { NewPet, Pet, Error: ErrorSchema } = components.schemas;

/** Every response of every operation. */
const responses = Object.values(paths)
  .flatMap((path) => Object.values(path))
  .flatMap((each) =>
    Object.entries(each.responses).map(([status, found]) => ({
      ...found,
      title: `${each.operationId} ${status}`,
      operation: each,
      status: Number(status),
    })),
  );
const errors = responses.filter(({ status }) => status >= 400);
const errorCode = z.enum(Object.keys(errorCatalogue) as [ErrorCode]);
const examplesOf = ({ content }: z.infer<typeof response>) =>
  Object.entries(content['application/json'].examples);
const codesOf = (error: z.infer<typeof response>) => examplesOf(error).map(([code]) => errorCode.parse(code));

const capitalized = (word: string): string => word[0]!.toUpperCase() + word.slice(1);

describe('docs/openapi.yaml', () => {
  it('has the methods and paths of the API', () => {
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(
      operations.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
  });

  it('has the limits of every plan and the form of a key', () => {
    const number = new Intl.NumberFormat('en-US');
    const rows = Object.entries(fixedPlans).map(
      ([plan, { perMinute, perDay }]) =>
        `| ${capitalized(plan)} | ${number.format(perMinute)} | ${number.format(perDay)} |`,
    );
    expect(info.description).toContain(
      [...rows, `| ${capitalized(customPlan)} | custom | custom |`, ''].join('\n'),
    );
    const secret = newKey('prod').replace('as_prod_', '');
    expect(secret).toMatch(/^[0-9A-Za-z]+$/);
    expect(components.securitySchemes.apiKey.description).toBe(
      `An API key: \`as_<stage>_<${secret.length} letters and digits>\`.`,
    );
  });

  it('has the parameters of a listing and the page sizes', () => {
    const { min: minimum, max: maximum, default: usual } = pageSize;
    expect(listPets!.parameters.map(({ name }) => name)).toEqual(['limit', 'status', 'cursor']);
    expect(listPets!.parameters[0]!.schema).toEqual({
      type: 'integer',
      format: 'int32',
      minimum,
      maximum,
      default: usual,
    });
    expect(listPets!.parameters[1]!.schema).toMatchObject({ type: 'string', enum: petStatuses });
    const pages = listPets!.responses['200']!.content['application/json'].schema;
    expect(pages).toMatchObject({ type: 'array', maxItems: maximum, items: Pet });
  });

  it('has the limits of a creation', () => {
    expect(createPet).toHaveProperty('requestBody.description', `At most ${maxBodyBytes / 1024} KiB.`);
    expect(createPet).toHaveProperty('requestBody.required', true);
    const { name, description } = createPet!.parameters[0]!;
    expect(name).toBe('Idempotency-Key');
    expect(description).toContain(`kept for ${idempotencyRetention / 3600} hours`);
  });

  it('has the fields, statuses and numbers of a pet', () => {
    expect(NewPet!['required']).toEqual(['name', 'categoryId']);
    expect(Pet!['required']).toEqual(['id', 'name', 'categoryId']);
    expect(Object.keys(NewPet!.properties)).toEqual(Object.keys(newPet.shape));
    expect(Object.keys(Pet!.properties)).toEqual(['id', ...Object.keys(newPet.shape)]);
    expect(NewPet!.properties['name']).toMatchObject({ minLength: 1, maxLength: maxNameLength });
    expect(NewPet!.properties['name']!['description']).toContain(`1 to ${maxNameLength} Unicode code points`);
    expect(NewPet!.properties['status']!['description']).toContain(`\`${defaultPetStatus}\` when omitted`);
    for (const { properties } of [NewPet!, Pet!]) expect(properties['status']!['enum']).toEqual(petStatuses);
    expect(Pet!.properties['id']!['description']).toContain(
      `2^${Math.log2(Number.MAX_SAFE_INTEGER + 1)} − 1`,
    );
    const int64 = { type: 'integer', format: 'int64' };
    for (const number of [
      Pet!.properties['id'],
      Pet!.properties['categoryId'],
      NewPet!.properties['categoryId'],
    ])
      expect(number).toMatchObject(int64);
    expect(getPet.parameters[0]).toMatchObject({ name: 'petId', required: true, schema: int64 });
  });
});

/** A text on which the document and the service disagree, out of many with characters that a rule can get wrong. */
function disagreement(described: object, isAccepted: (value: string) => boolean, awkward: readonly string[]) {
  const validate = new Ajv2020({ strict: false }).compile(described);
  const value = fc.oneof(
    text(),
    fc.array(fc.constantFrom(...awkward), { maxLength: 6 }).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('a', '🐈'), fc.integer({ min: 250, max: 260 }))
      .map(([one, count]) => one.repeat(count)),
  );
  const agreed = fc.property(value, (candidate) => validate(candidate) === isAccepted(candidate));
  return fc.check(agreed, { numRuns: rounds({ full: 2_000, sample: 300 }) }).counterexample;
}

describe('the rules in docs/openapi.yaml accept exactly what the service accepts', () => {
  it('as a name', () => {
    const isAccepted = (name: string) => newPet.safeParse({ name, categoryId: 1n }).success;
    const awkward = [' ', '\u200b', '\0', '\u00a0', '\ud800', '\udc00', '\ufffd', '\ue000', 'é', '🐈', '\n'];
    expect(disagreement(NewPet!.properties['name']!, isAccepted, awkward)).toBeNull();
  });

  it('as an Idempotency-Key', () => {
    const caller = { keyHash: 'a', keyId: 'b', plan: 'free', perMinute: 60, perDay: 1_000, expiresAt: 0 };
    const isAccepted = (key: string): boolean => {
      const headers = [['Idempotency-Key', key]] as const;
      try {
        return parseIdempotencyKey(parseRequest(proxyEvent({ resource: '/pets', headers, caller }))) === key;
      } catch {
        return false;
      }
    };
    const awkward = [' ', '~', '\u007f', '\u001f', '"', 'é', '\n'];
    expect(disagreement(createPet!.parameters[0]!.schema, isAccepted, awkward)).toBeNull();
  });
});

describe('the errors in docs/openapi.yaml', () => {
  it('have the fields and codes of the catalogue', () => {
    expect(ErrorSchema!['required']).toEqual(Object.keys(errorBody('unauthorized')));
    expect(Object.keys(ErrorSchema!.properties)).toEqual(ErrorSchema!['required']);
    expect(ErrorSchema!.properties['code']!['x-extensible-enum']).toEqual(Object.keys(errorCatalogue));
    const { minimum, maximum } = ErrorSchema!.properties['status']!;
    for (const { status } of Object.values(errorCatalogue)) {
      expect(status).toBeGreaterThanOrEqual(Number(minimum));
      expect(status).toBeLessThanOrEqual(Number(maximum));
    }
    const described = new Set<string>(errors.flatMap((each) => codesOf(each)));
    for (const [code, { status }] of Object.entries(errorCatalogue))
      if (!described.has(code)) expect(info.description).toContain(`${status} \`${code}\``);
  });

  it.each(Object.entries(components.responses))('say what the service says: %s', (_, error) => {
    const messages = codesOf(error).map((code) =>
      code === 'invalid_request'
        ? 'The request is not valid. The message names every invalid field.'
        : errorCatalogue[code].message,
    );
    expect(error.description).toBe(messages.join(' Or: '));
  });

  it.each(errors)('have examples of their status: $title', ({ status, ...error }) => {
    expect(error.content['application/json'].schema).toEqual(ErrorSchema);
    expect(examplesOf(error)).not.toEqual([]);
    for (const [code, { value }] of examplesOf(error)) {
      const message = code === 'invalid_request' ? 'name: is required' : undefined;
      expect(value).toEqual({ ...errorBody(errorCode.parse(code), message), status });
    }
  });
});

describe('the headers in docs/openapi.yaml', () => {
  const everyAnswer = [...Object.values(rateLimitHeaders), 'X-Request-Id'];
  const windows = ['RateLimit-Policy', 'RateLimit'];
  const deprecation = ['Deprecation', 'Sunset', 'Link'];
  const own: Readonly<Record<string, { readonly required?: string[]; readonly optional?: string[] }>> = {
    'listPets 200': { optional: ['Link'] },
    'createPet 201': { required: ['Location'], optional: ['Idempotency-Replayed'] },
  };

  it.each(responses)('of $title are those that it has', ({ title, status, operation: of, ...answer }) => {
    const isUnauthorized = status === 401;
    const common = [
      ...(isUnauthorized ? [] : windows),
      // Operations share their errors.
      ...(of.deprecated || status >= 400 ? deprecation : []),
    ];
    // API Gateway answers the others, too, with fewer headers.
    const isOfFunction = status < 400 || codesOf(answer).every((code) => code === 'pet_not_found');
    const { required = [], optional = [] } = own[title] ?? {};
    const expected = {
      required: [
        ...everyAnswer,
        ...(isOfFunction ? common : []),
        ...([429, 503].includes(status) ? ['Retry-After'] : []),
        ...required,
      ],
      optional: [
        ...(isOfFunction ? [] : common),
        ...(isUnauthorized ? ['WWW-Authenticate'] : []),
        ...optional,
      ],
    };
    const names = Object.groupBy(Object.entries(answer.headers), ([, header]) =>
      header.required ? 'required' : 'optional',
    );
    for (const kind of ['required', 'optional'] as const)
      expect((names[kind] ?? []).map(([name]) => name).toSorted()).toEqual(expected[kind].toSorted());
  });

  it('have the lengths of the windows and the date of removal', () => {
    const { 'RateLimit-Policy': policy, Sunset } = getPet.responses['200']!.headers;
    expect(policy!.schema['pattern']).toBe(
      String.raw`^"minute";q=\d+;w=${secondsPerMinute}, "day";q=\d+;w=${secondsPerDay}$`,
    );
    const removal = /removed on (\d+ \w+ \d+)\./.exec(getPet.description)?.[1];
    expect(Sunset!.schema['examples']).toEqual([new Date(`${removal} UTC`).toUTCString()]);
    expect(readFileSync('functions/get-pet.ts', 'utf8')).toContain(
      new Date(`${removal} UTC`).toISOString().slice(0, 10),
    );
  });
});
