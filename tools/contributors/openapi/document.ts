import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import { deprecationHeaders } from '../../../functions/http/deprecation.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { idempotencyKeys } from '../../../functions/http/idempotency-key.ts';
import { int64 } from '../../../functions/pets/int64.ts';
import { listing, pageSize } from '../../../functions/pets/listing.ts';
import { newPet, petStatus, storedInt64, storedPet } from '../../../functions/pets/schema.ts';
import {
  type BodyName,
  gatewayErrors,
  type Operation,
  operationName,
  operations,
  type QueryName,
  writes,
} from '../../../functions/operations.ts';
import { titleCase } from '../../../lib/title-case.ts';
import * as texts from './texts.ts';

// The OpenAPI document, built from what the service enforces (functions/) and what texts.ts says.

type Schema = z.core.$ZodType;
type Node = Readonly<Record<string, unknown>>;

const integer64 = { type: 'integer', format: 'int64' } as const;

/** The schemas of `functions/` have no words, and one can have several uses: each gets a copy with its words. */
function described(
  schema: Schema,
  { description, example, rule, id }: texts.Field & { readonly id?: string },
): Schema {
  const copy = z.core.clone(schema, schema._zod.def);
  z.globalRegistry.add(copy, {
    ...(id !== undefined && { id }),
    ...(description !== undefined && { description }),
    ...(example !== undefined && { examples: [example] }),
    ...(rule !== undefined && { override: { ...rule } }),
  });
  return copy;
}

type Shape = Readonly<Record<string, Schema>>;

/** Whether a request can omit it. A default is described in words: not every generator of clients can read one. */
function isOptional(schema: Schema | undefined): boolean {
  return schema !== undefined && ['optional', 'default'].includes(schema._zod.def.type);
}

function describedObject(
  id: string,
  shape: Shape,
  { description, fields }: { readonly description: string; readonly fields: Record<string, texts.Field> },
): Schema {
  const copies = Object.entries(shape).map(([name, schema]) => {
    const { _zod } = schema as z.core.$ZodDefault;
    const plain = _zod.def.type === 'default' ? z.optional(_zod.def.innerType) : schema;
    return [name, described(plain, fields[name] ?? {})];
  });
  return described(z.object(Object.fromEntries(copies) as Shape), { id, description });
}

z.globalRegistry.add(petStatus, {
  id: 'PetStatus',
  description: texts.petStatusText.description,
  examples: [texts.petStatusText.example],
});

/** docs/interface.md#pet: what is optional in a request is optional in an answer. */
const petShape = Object.entries(storedPet.shape).map(([name, schema]) => {
  const requested = (newPet.shape as Shape)[name];
  return [name, isOptional(requested) ? z.optional(schema) : schema];
});

const errorShape = {
  code: z.string(),
  message: z.string(),
  status: z.int32().min(400).max(599),
} satisfies Record<keyof ReturnType<typeof errorBody>, Schema>;
const { fields: errorFields } = texts.errorTexts;
const codes = { 'x-extensible-enum': Object.keys(errorCatalogue) };

const NewPet = describedObject('NewPet', newPet.shape, texts.newPetTexts);
const Pet = describedObject('Pet', Object.fromEntries(petShape) as Shape, texts.petTexts);
const ErrorBody = describedObject('Error', errorShape, {
  ...texts.errorTexts,
  fields: { ...errorFields, code: { ...errorFields.code, rule: codes } },
});

/** The JSON of requests and answers, by its name in functions/operations.ts. */
const bodies = {
  NewPet: { schema: NewPet, example: texts.examples.NewPet },
  Pet: { schema: Pet, example: texts.examples.Pet },
  'Pet[]': { schema: z.array(Pet).max(pageSize.max), example: [texts.examples.Pet] },
} satisfies Record<BodyName, object>;

const queryRules = {
  limit: {
    type: 'integer',
    format: 'int32',
    minimum: pageSize.min,
    maximum: pageSize.max,
    default: pageSize.default,
  },
  status: { $ref: '#/components/schemas/PetStatus' },
  cursor: { type: 'string', minLength: 1 },
} satisfies Record<keyof z.input<typeof listing>, Node>;

/** The queries of requests, by their names in functions/operations.ts. */
const queries = {
  listing: Object.keys(listing._zod.def.in._zod.def.shape).map((name) => {
    const known = name as keyof typeof queryRules;
    return { name, in: 'query', description: texts.listingTexts[known], schema: queryRules[known] };
  }),
} satisfies Record<QueryName, Node[]>;

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: texts.idempotencyKeyText.description,
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: idempotencyKeys.maxLength,
    pattern: idempotencyKeys.pattern.source,
    examples: [texts.idempotencyKeyText.example],
  },
};

/** Parts of the document that others refer to, as soon as one does. */
const components = { headers: new Map<string, Node>(), responses: new Map<string, Node>() };

function reference(kind: keyof typeof components, name: string, part: () => Node): { readonly $ref: string } {
  if (!components[kind].has(name)) components[kind].set(name, part());
  return { $ref: `#/components/${kind}/${name}` };
}

/** Of the headers that announce a removal: what the service sends. */
const announced: Readonly<Record<string, string>> = Object.assign(
  {},
  ...operations.map(({ deprecated }) => deprecated && deprecationHeaders(deprecated, '')),
);

function headers(names: Readonly<Record<string, boolean>>): Node {
  return Object.fromEntries(
    Object.entries(names).map(([id, required]) => {
      if (!(id in texts.headers))
        throw new Error(`tools/contributors/openapi/texts.ts does not describe the header ${id}.`);
      const { name = id, description, schema }: texts.Header = texts.headers[id as texts.HeaderName];
      const examples = announced[id] === undefined ? {} : { examples: [announced[id]] };
      const part = { description, schema: { ...schema, ...examples }, ...(required && { required }) };
      return [name, reference('headers', required ? id : `${id}.optional`, () => part)];
    }),
  );
}

const everyAnswer = {
  'X-RateLimit-Limit': true,
  'X-RateLimit-Remaining': true,
  'X-RateLimit-Reset': true,
  'X-Request-Id': true,
};
const windows = (required: boolean) => ({ 'RateLimit-Policy': required, RateLimit: required });
const deprecation = (required: boolean) => ({
  Deprecation: required,
  Sunset: required,
  'Successor-Link': required,
});

const camelCase = (words: readonly string[]): string => titleCase(words.join('-'));

/** The answer to errors of one status. */
function errorResponse(status: number, ofStatus: readonly ErrorCode[], deprecated: boolean): Node {
  // API Gateway's own answers have fewer headers.
  const always = !ofStatus.some((code) => (gatewayErrors as readonly ErrorCode[]).includes(code));
  const example = (code: ErrorCode) =>
    errorBody(code, code === 'invalid_request' ? texts.invalidRequestExample : undefined);
  return {
    description: ofStatus
      .map((code) => texts.errorDescriptions[code] ?? errorCatalogue[code].message)
      .join(' Or: '),
    headers: headers({
      ...everyAnswer,
      ...([429, 503].includes(status) && { 'Retry-After': true }),
      ...(status !== 401 && windows(always)),
      ...(deprecated && deprecation(always)),
      ...(status === 401 && { 'WWW-Authenticate': false }),
    }),
    content: {
      'application/json': {
        schema: ErrorBody,
        examples: Object.fromEntries(ofStatus.map((code) => [code, { value: example(code) }])),
      },
    },
  };
}

function isIdempotent(operation: Operation): boolean {
  return writes(operation) && operation.idempotent === true;
}

/** The errors that an operation can answer, by status. */
function errorsOf(operation: Operation): Map<number, ErrorCode[]> {
  const { request, errors } = operation;
  const found = new Set<ErrorCode>([
    // The second is one of requests with a body.
    ...gatewayErrors.filter((code) => code !== 'route_not_found' && code !== 'unsupported_media_type'),
    'key_suspended',
    ...errors,
    ...(request === undefined ? [] : (['payload_too_large', 'unsupported_media_type'] as const)),
    ...(isIdempotent(operation) ? (['idempotency_key_reused'] as const) : []),
  ]);
  // In the order of the catalogue, which is that of the statuses.
  const ordered = (Object.keys(errorCatalogue) as ErrorCode[]).filter((code) => found.has(code));
  return Map.groupBy(ordered, (code) => errorCatalogue[code].status);
}

function errorResponses(operation: Operation): Record<string, Node> {
  const { deprecated, query, request } = operation;
  const ownDescriptions: Readonly<Record<number, string | undefined>> = {
    400: query === undefined && request === undefined ? texts.rejectedByGateway : undefined,
    503: writes(operation) ? operation.unavailable : undefined,
  };
  return Object.fromEntries(
    Array.from(errorsOf(operation), ([status, ofStatus]) => {
      const words = ofStatus.length === 1 ? ofStatus[0]!.split('_') : STATUS_CODES[status]!.split(' ');
      const name = `${camelCase(words)}${deprecated ? '.deprecated' : ''}`;
      const description = ownDescriptions[status];
      const shared = reference('responses', name, () =>
        errorResponse(status, ofStatus, deprecated !== undefined),
      );
      return [String(status), { ...shared, ...(description !== undefined && { description }) }];
    }),
  );
}

function successResponse(operation: (typeof operations)[number]) {
  const { entry, success, deprecated } = operation;
  const { success: description, links }: texts.Texts = texts.operationTexts[entry];
  const own = Object.entries(success.headers ?? {}).map(([name, occurrence]) => [
    name,
    occurrence === 'always',
  ]);
  const body = success.body && bodies[success.body as BodyName];
  return {
    description,
    headers: headers({
      ...everyAnswer,
      ...windows(true),
      ...(deprecated && deprecation(true)),
      ...(Object.fromEntries(own) as Record<string, boolean>),
      ...(isIdempotent(operation) && { 'Idempotency-Replayed': false }),
    }),
    ...(body && {
      content: {
        'application/json': { schema: body.schema, examples: { success: { value: body.example } } },
      },
    }),
    ...(links && { links }),
  };
}

function pathParameters(path: string): Node[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => {
    if (!(name in texts.pathTexts))
      throw new Error(`tools/contributors/openapi/texts.ts does not describe {${name}}.`);
    const { description, example } = texts.pathTexts[name as keyof typeof texts.pathTexts];
    return {
      name,
      in: 'path',
      required: true,
      description,
      schema: { ...integer64, examples: [example] },
    };
  });
}

function describedOperation(operation: (typeof operations)[number]): Node {
  const { entry, path, query, request, success, deprecated } = operation;
  const { summary, description } = texts.operationTexts[entry];
  const removal = deprecated && new Date(deprecated.removal);
  const day = removal?.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  const body = request && bodies[request as BodyName];
  return {
    operationId: operationName(entry),
    tags: [texts.tag.name],
    summary,
    ...(deprecated && { deprecated: true }),
    description: day === undefined ? description : description.replace('REMOVAL', day),
    parameters: [
      ...pathParameters(path),
      ...(query ? queries[query as QueryName] : []),
      ...(isIdempotent(operation) ? [idempotencyKey] : []),
    ],
    ...(body && {
      requestBody: {
        required: true,
        description: texts.bodyText,
        content: {
          'application/json': { schema: body.schema, examples: { animal: { value: body.example } } },
        },
      },
    }),
    responses: {
      [success.status]: successResponse(operation),
      ...errorResponses(operation),
    },
  };
}

/** How the schemas of `functions/` are written that JSON Schema cannot express. A check states its keywords as `params`. */
function override(jsonSchema: object, { _zod: { def } }: Schema): void {
  if (def === int64._zod.def || def === storedInt64._zod.def) Object.assign(jsonSchema, integer64);
  for (const check of def.checks ?? [])
    Object.assign(jsonSchema, (check._zod.def as { readonly params?: object }).params);
  // Clients ignore fields that they do not know.
  if ('additionalProperties' in jsonSchema) delete jsonSchema.additionalProperties;
}

/** A reference beside other keywords, which generators of clients ignore there, as `allOf`. */
function withoutSiblings(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutSiblings(each));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withoutSiblings(each)]),
  );
  if ($ref === undefined) return rest;
  return Object.keys(rest).length === 0 ? { $ref } : { allOf: [{ $ref }], ...rest };
}

/** The document, as docs/openapi.yaml has it. */
export function describeService() {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describedOperation(operation);
  const { apiKey: description, info, servers, tag } = texts;
  const { components: made, ...document } = createDocument(
    {
      openapi: '3.1.1',
      info,
      servers,
      security: [{ apiKey: [] }],
      tags: [tag],
      paths,
      components: {
        securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description } },
        headers: Object.fromEntries(components.headers),
        responses: Object.fromEntries(components.responses),
      },
    },
    { override: ({ jsonSchema, zodSchema }) => override(jsonSchema, zodSchema) },
  );
  const schemas = Object.fromEntries(
    Object.entries(made?.schemas ?? {}).map(([name, schema]) => [name, withoutSiblings(schema)]),
  );
  return { ...document, components: { ...made, schemas } };
}
