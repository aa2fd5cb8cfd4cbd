import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import { newKey } from '../../../functions/access/keys.ts';
import { deprecationHeaders } from '../../../functions/http/deprecation.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { idempotencyKeys } from '../../../functions/http/idempotency-key.ts';
import { maxBodyBytes } from '../../../functions/http/input.ts';
import {
  gatewayErrors,
  type Operation,
  operationName,
  operations,
  writes,
} from '../../../functions/operations.ts';
import { int64, storedInteger } from '../../../functions/pets/int64.ts';
import { pageSize } from '../../../functions/pets/listing.ts';
import * as pets from '../../../functions/pets/schema.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { baseUrl, common, special } from './headers.ts';
import { bodyText, operationText } from './interface.ts';

// The OpenAPI document: what the service enforces (functions/), in the words of docs/interface.md.

type Schema = z.core.$ZodType;
type Node = Readonly<Record<string, unknown>>;
type Entry = (typeof operations)[number];

/** The page before the operations, in Markdown. */
const introduction = `The [guide](api.md) has complete programs, and says more about [authentication](api.md#authenticate), \
[rate limits](api.md#stay-within-the-rate-limits), [paging](api.md#page-through-a-list), [errors](api.md#handle-errors), \
[retries](api.md#retry-safely) and [int64](api.md#keep-int64-exact).

\`\`\`sh
export API=${baseUrl} KEY=as_prod_your_key
curl -sS -H "Authorization: Bearer $KEY" "$API/pets?limit=2"
\`\`\``;

const info = {
  title: 'Animal Store Service',
  version: '1.0.0',
  summary: 'Animals up for adoption: list, filter, add and fetch them.',
  description: introduction,
  contact: { name: 'The operator who issued your API key' },
  license: { name: 'MIT', identifier: 'MIT' },
};

const servers = [
  { url: baseUrl, description: 'A deployed stage: the output ApiUrl of its stack.' },
  { url: 'http://127.0.0.1:3000/v1', description: 'The service on this machine: npm start.' },
];

const bearer = {
  type: 'http',
  scheme: 'bearer',
  description: `An API key: \`as_<stage>_<${newKey('prod').replace('as_prod_', '').length} letters and digits>\`.`,
} as const;

/** The 400 of an operation without invalid requests. */
export const rejectedByGateway =
  'API Gateway rejected the request, for instance because its URL is too long.';

// JSON.

const integer64 = { type: 'integer', format: 'int64' };

/**
 * Rules of fields that a function of `functions/` checks. A test compares both. No pattern that ECMAScript, Python's `re` and
 * RE2 all read can say more of a text with a visible character than that one of its characters is not an invisible one of Latin-1.
 */
const rules: Readonly<Record<string, Node>> = {
  'NewPet.name': { minLength: 1, pattern: String.raw`[^\x00-\x20\x7F-\xA0\xAD]` },
  'Error.code': { 'x-extensible-enum': Object.keys(errorCatalogue) },
  'Error.status': { format: 'int32' },
};

/** The schemas by the names of their JSON. Those of stored items are what answers have. */
const schemas: Readonly<Record<string, unknown>> = Object.fromEntries(
  [pets].flatMap((resource) =>
    Object.entries(resource).map(([name, schema]) => [titleCase(name.replace(/^stored/, '')), schema]),
  ),
);
const errorSchema = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int32().min(400).max(599),
} satisfies Record<keyof ReturnType<typeof errorBody>, Schema>);

z.globalRegistry.add(pets.petStatus, { id: 'PetStatus', description: bodyText('PetStatus').description });

/** Whether a request can omit it. A default is described in words: not every generator of clients can read one. */
function isOptional(schema: Schema | undefined): boolean {
  return schema !== undefined && ['optional', 'default'].includes(schema._zod.def.type);
}

function withoutDefault(schema: Schema): Schema {
  const { def } = (schema as z.core.$ZodDefault)._zod;
  return def.type === 'default' ? z.optional(def.innerType) : schema;
}

const shapeOf = (schema: unknown) =>
  (schema as { readonly shape?: Readonly<Record<string, Schema>> } | undefined)?.shape;

/** The schema of an object in the words of docs/interface.md. One of a field can have several uses: each gets a copy. */
function described(name: string, schema: unknown): Schema {
  const shape = shapeOf(schema);
  if (shape === undefined) throw new Error(`No schema.ts of functions/ has the JSON "${name}".`);
  const { description, field: textOf } = bodyText(name);
  const requested = shapeOf(schemas[`New${name}`]);
  const fields = Object.entries(shape).map(([field, ofField]) => {
    // What is optional in a request is optional in an answer.
    const own = isOptional(requested?.[field]) ? z.optional(ofField) : withoutDefault(ofField);
    const copy = z.core.clone(own, own._zod.def);
    const rule = rules[`${name}.${field}`];
    z.globalRegistry.add(copy, { ...textOf(field, isOptional(own)), ...(rule && { override: { ...rule } }) });
    return [field, copy];
  });
  const object = z.object(Object.fromEntries(fields) as Record<string, Schema>);
  z.globalRegistry.add(object, { id: name, description });
  return object;
}

const made = new Map<string, Schema>([['Error', described('Error', errorSchema)]]);

/** The JSON with a name of functions/operations.ts, such as `Pet[]`. */
function json(name: string, exampleName: string): Node {
  const [, one = '', list] = /^(\w+)(\[\])?$/.exec(name) ?? [];
  if (!made.has(one)) made.set(one, described(one, schemas[one]));
  const schema = made.get(one)!;
  const { sample } = bodyText(one);
  return {
    'application/json': {
      schema: list ? z.array(schema).max(pageSize.max) : schema,
      examples: { [exampleName]: { value: list ? [sample] : sample } },
    },
  };
}

/** The types of parameters in docs/interface.md, and the numbers of one. */
const types: Readonly<Record<string, Node>> = {
  integer: { type: 'integer', format: 'int32' },
  int64: integer64,
  string: { type: 'string', minLength: 1 },
};
const numbers: Readonly<Record<string, Node>> = {
  limit: { minimum: pageSize.min, maximum: pageSize.max, default: pageSize.default },
  'Idempotency-Key': {
    maxLength: idempotencyKeys.maxLength,
    pattern: idempotencyKeys.pattern.source,
    examples: ['0b9d6f0e-6a0c-4f5f-9a7e-2f7c0c1d2e3f'],
  },
};

function parametersOf({ method, path, entry }: Entry): Node[] {
  return operationText(method, path, operationName(entry)).parameters.map(
    ({ name, place, type = '', words }) => ({
      name,
      in: place,
      ...(place === 'path' && { required: true }),
      description: words,
      schema: types[type] ? { ...types[type], ...numbers[name] } : { $ref: `#/components/schemas/${type}` },
    }),
  );
}

// Answers.

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

/** Those of every answer, and others by whether an answer always has them. */
function headers(others: Readonly<Record<string, boolean>>): Node {
  const all = { ...Object.fromEntries(Object.keys(common).map((name) => [name, true])), ...others };
  return Object.fromEntries(
    Object.entries(all).map(([id, required]) => {
      const header = common[id] ?? special[id];
      if (header === undefined) throw new Error(`tools/contributors/openapi/headers.ts has no header ${id}.`);
      const { name = id, description, schema } = header;
      const examples = announced[id] === undefined ? {} : { examples: [announced[id]] };
      const part = { description, schema: { ...schema, ...examples }, ...(required && { required }) };
      return [name, reference('headers', required ? id : `${id}.optional`, () => part)];
    }),
  );
}

const windows = (required: boolean) => ({ 'RateLimit-Policy': required, RateLimit: required });
const deprecation = (required: boolean) => ({
  Deprecation: required,
  Sunset: required,
  'Successor-Link': required,
});

/** The answer to errors of one status. */
function errorResponse(status: number, ofStatus: readonly ErrorCode[], deprecated: boolean): Node {
  // API Gateway's own answers have fewer headers.
  const always = !ofStatus.some((code) => (gatewayErrors as readonly ErrorCode[]).includes(code));
  const invalid = bodyText('Error').sample;
  const example = (code: ErrorCode) => (code === invalid['code'] ? invalid : errorBody(code));
  const meaning = (code: ErrorCode) =>
    code === invalid['code']
      ? 'The request is not valid. The message names every invalid field.'
      : errorCatalogue[code].message;
  return {
    description: ofStatus.map(meaning).join(' Or: '),
    headers: headers({
      ...([429, 503].includes(status) && { 'Retry-After': true }),
      ...(status !== 401 && windows(always)),
      ...(deprecated && deprecation(always)),
      ...(status === 401 && { 'WWW-Authenticate': false }),
    }),
    content: {
      'application/json': {
        schema: made.get('Error'),
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

function errorResponses(operation: Entry, parameters: readonly Node[]): Record<string, Node> {
  const { deprecated, request } = operation;
  const takesQuery = parameters.some(({ in: place }) => place === 'query');
  const ownDescriptions: Readonly<Record<number, string | undefined>> = {
    400: !takesQuery && request === undefined ? rejectedByGateway : undefined,
    503: writes(operation) ? operation.unavailable : undefined,
  };
  return Object.fromEntries(
    Array.from(errorsOf(operation), ([status, ofStatus]) => {
      const words = ofStatus.length === 1 ? ofStatus[0]!.split('_') : STATUS_CODES[status]!.split(' ');
      const name = `${titleCase(words.join('-'))}${deprecated ? '.deprecated' : ''}`;
      const description = ownDescriptions[status];
      const shared = reference('responses', name, () =>
        errorResponse(status, ofStatus, deprecated !== undefined),
      );
      return [String(status), { ...shared, ...(description !== undefined && { description }) }];
    }),
  );
}

function successResponse(operation: Entry, description: string): Node {
  const { success, deprecated } = operation;
  const own = Object.entries(success.headers ?? {}).map(([name, occurrence]) => [
    name,
    occurrence === 'always',
  ]);
  return {
    description,
    headers: headers({
      ...windows(true),
      ...(deprecated && deprecation(true)),
      ...(Object.fromEntries(own) as Record<string, boolean>),
      ...(isIdempotent(operation) && { 'Idempotency-Replayed': false }),
    }),
    ...(success.body && { content: json(success.body, 'success') }),
  };
}

// The document.

const tagOf = (path: string): string => titleCase(path.split('/')[1]!);

function describedOperation(operation: Entry): Node {
  const { entry, method, path, request, success, deprecated } = operation;
  const { summary, description, response } = operationText(method, path, operationName(entry));
  const parameters = parametersOf(operation);
  const removal = deprecated && new Date(deprecated.removal);
  const day = removal?.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
  if (!description.includes(day ?? ''))
    throw new Error(`docs/interface.md does not say that ${method} ${path} is removed on ${day}.`);
  return {
    operationId: operationName(entry),
    tags: [tagOf(path)],
    summary,
    ...(deprecated && { deprecated: true }),
    description,
    parameters,
    ...(request && {
      requestBody: {
        required: true,
        description: `At most ${maxBodyBytes / 1024} KiB.`,
        content: json(request, 'request'),
      },
    }),
    responses: {
      [success.status]: successResponse(operation, response(success.status)),
      ...errorResponses(operation, parameters),
    },
  };
}

/** How the schemas of `functions/` are written that JSON Schema cannot express. A check states its keywords as `params`. */
function override(jsonSchema: object, { _zod: { def } }: Schema): void {
  if (def === int64._zod.def || def === pets.storedInt64._zod.def) Object.assign(jsonSchema, integer64);
  if (def === storedInteger._zod.def) Object.assign(jsonSchema, { type: 'integer' });
  for (const check of def.checks ?? [])
    Object.assign(jsonSchema, (check._zod.def as { readonly params?: object }).params);
  // Clients ignore fields that they do not know.
  if ('additionalProperties' in jsonSchema) delete jsonSchema.additionalProperties;
}

/** How each schema of `functions/` is written. */
export const writing = {
  override: ({ jsonSchema, zodSchema }: { readonly jsonSchema: object; readonly zodSchema: Schema }) =>
    override(jsonSchema, zodSchema),
};

/** The document, as docs/openapi.yaml has it. */
export function describeService() {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations)
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describedOperation(operation);
  return createDocument(
    {
      openapi: '3.1.1',
      info,
      servers,
      security: [{ apiKey: [] }],
      tags: Array.from(new Set(operations.map(({ path }) => tagOf(path))), (name) => ({
        name,
        description: `Operations under /${name.toLowerCase()}.`,
      })),
      paths,
      components: {
        securitySchemes: { apiKey: bearer },
        headers: Object.fromEntries(components.headers),
        responses: Object.fromEntries(components.responses),
      },
    },
    writing,
  );
}
