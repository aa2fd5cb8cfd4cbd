import { customPlan, fixedPlans } from '../../functions/access/plans.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../functions/http/errors.ts';
import { maxBodyBytes } from '../../functions/http/input.ts';
import { rateLimitHeaders } from '../../functions/http/rate-headers.ts';
import { pageSize } from '../../functions/pets/listing.ts';
import { defaultPetStatus, maxNameLength, petStatuses } from '../../functions/pets/schema.ts';

/** The OpenAPI 3.1 description of the interface. Numbers and names come from the code that enforces them. */
export function openApiDocument() {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Animal Store Service',
      version: '1.0.0',
      summary: 'Animals up for adoption: list, filter, add and fetch them.',
      description: [
        'Every operation needs an API key, sent as `Authorization: Bearer <API_KEY>`.',
        `Limits by plan, in requests per UTC minute and UTC day: ${planTable()}, ${customPlan}: custom.`,
        'Any answer may bear fields, headers and error codes that are not described here yet; ignore what you do not know.',
        'A body over 6 MB is turned away by API Gateway before the service sees it, in words of its own.',
      ].join('\n\n'),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: 'https://{api}.execute-api.{region}.amazonaws.com/v1',
        description: 'A deployed stage: the output ApiUrl of its stack.',
        variables: { api: { default: 'example' }, region: { default: 'us-east-1' } },
      },
      { url: 'http://127.0.0.1:3000/v1', description: 'The service on this machine: npm start.' },
    ],
    security: [{ apiKey: [] }],
    paths: {
      '/pets': { get: listPets, post: createPet },
      '/pets/{petId}': { get: getPet },
    },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: as_<stage>_<36 letters and digits>.',
        },
      },
      schemas,
      headers,
      responses: Object.fromEntries(errorCodes.map((code) => [code, errorResponse(code)])),
    },
  };
}

const errorCodes = Object.keys(errorCatalogue) as ErrorCode[];

const int64 = { type: 'integer', format: 'int64' } as const;

const newPetFields = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: maxNameLength,
    pattern: String.raw`\S`,
    description: "The animal's name. Not only white space, and without U+FFFD.",
  },
  categoryId: {
    ...int64,
    description: 'The category the animal belongs to. The full range of int64 is kept digit for digit.',
  },
};

const schemas = {
  PetStatus: { type: 'string', enum: petStatuses, description: 'Availability of the animal.' },
  NewPet: {
    type: 'object',
    description: 'An animal as sent on creation. Unknown fields are ignored, `id` included.',
    required: ['name', 'categoryId'],
    properties: {
      ...newPetFields,
      status: { allOf: [{ $ref: '#/components/schemas/PetStatus' }], default: defaultPetStatus },
    },
  },
  Pet: {
    type: 'object',
    description: 'An animal as returned.',
    required: ['id', 'name', 'categoryId'],
    properties: {
      id: { ...int64, description: 'Assigned by the service: at most 2^53 − 1, in order of creation.' },
      ...newPetFields,
      status: { $ref: '#/components/schemas/PetStatus' },
    },
  },
  Error: {
    type: 'object',
    required: ['code', 'message', 'status'],
    properties: {
      code: { type: 'string', enum: errorCodes, description: 'Machine-readable error code.' },
      message: { type: 'string', description: 'Human-readable. Names every fault found, field by field.' },
      status: { type: 'integer', description: 'The HTTP status code.' },
    },
  },
};

const headers = {
  [rateLimitHeaders.limit]: {
    description: 'The limit in force: of the window, minute or day, that has the fewest requests remaining.',
    schema: { type: 'integer' },
  },
  [rateLimitHeaders.remaining]: {
    description: 'Requests remaining in that window.',
    schema: { type: 'integer', minimum: 0 },
  },
  [rateLimitHeaders.reset]: {
    description: 'Unix timestamp in seconds at which that limit resets.',
    schema: { type: 'integer' },
  },
  'RateLimit-Policy': {
    description: 'Both windows: quota `q` in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10).',
    schema: { type: 'string', examples: ['"minute";q=60;w=60, "day";q=1000;w=86400'] },
  },
  RateLimit: {
    description: 'Both windows: `r` requests remaining, reset in `t` seconds.',
    schema: { type: 'string', examples: ['"minute";r=59;t=42, "day";r=999;t=51042'] },
  },
  'X-Request-Id': { description: 'Names this request in a report to us.', schema: { type: 'string' } },
  'Retry-After': {
    description: 'Whole seconds to wait, at least 1.',
    schema: { type: 'integer', minimum: 1 },
  },
  Location: { description: 'URL of the new animal.', schema: { type: 'string', format: 'uri' } },
  Link: {
    description: 'The following page as `rel="next"`, where one follows (RFC 8288).',
    schema: { type: 'string' },
  },
  SuccessorLink: {
    description: 'What to use instead, as `rel="successor-version"`.',
    schema: { type: 'string' },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', examples: ['@1767225600'] },
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    schema: { type: 'string', examples: ['Thu, 05 Dec 2030 00:00:00 GMT'] },
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string', examples: ['Bearer realm="animal-store"'] },
  },
  Allow: { description: 'The methods of the path.', schema: { type: 'string' } },
};

const everyAnswer = [...Object.values(rateLimitHeaders), 'RateLimit-Policy', 'RateLimit', 'X-Request-Id'];
const deprecatedAnswer = ['Deprecation', 'Sunset'];

const extraHeaders: Partial<Record<ErrorCode, readonly string[]>> = {
  unauthorized: ['WWW-Authenticate'],
  method_not_allowed: ['Allow'],
  rate_limit_exceeded: ['Retry-After'],
  key_suspended: ['Retry-After'],
  service_unavailable: ['Retry-After'],
};

const tooMany = {
  description:
    'The rate limit is exceeded (`rate_limit_exceeded`), or the key is suspended (`key_suspended`).',
  headers: headerRefs([...everyAnswer, 'Retry-After']),
  content: errorContent('rate_limit_exceeded', 'key_suspended'),
};

const commonErrors = {
  ...errorRefs('unauthorized'),
  429: tooMany,
  ...errorRefs('internal_error', 'service_unavailable'),
};

const listPets = {
  operationId: 'listPets',
  summary: 'List all animals',
  description:
    'Newest first. Where more follow, `Link` bears the URL of the following page; walking it meets every animal ' +
    'that existed when the walk began exactly once, whatever is added meanwhile.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of animals returned. Anything out of range is a 400.',
      schema: { type: 'integer', minimum: pageSize.min, maximum: pageSize.max, default: pageSize.default },
    },
    {
      name: 'status',
      in: 'query',
      description: 'Only animals with this status are returned.',
      schema: { $ref: '#/components/schemas/PetStatus' },
    },
    {
      name: 'cursor',
      in: 'query',
      description: 'Where the page before ended. Opaque: take it from `Link`, with the same `status`.',
      schema: { type: 'string' },
    },
  ],
  responses: {
    200: {
      description: 'A page of animals.',
      headers: headerRefs([...everyAnswer, 'Link']),
      content: {
        'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/Pet' } } },
      },
    },
    ...errorRefs('invalid_request'),
    ...commonErrors,
  },
};

const createPet = {
  operationId: 'createPet',
  summary: 'Add an animal',
  requestBody: {
    required: true,
    description: `At most ${maxBodyBytes / 1024} KiB.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/NewPet' } } },
  },
  responses: {
    201: {
      description: 'The created animal.',
      headers: headerRefs([...everyAnswer, 'Location']),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
    },
    ...errorRefs('invalid_request', 'payload_too_large', 'unsupported_media_type'),
    ...commonErrors,
  },
};

const getPet = {
  operationId: 'getPet',
  summary: 'Get an animal',
  deprecated: true,
  description: 'To be removed on 5 December 2030. Use `GET /pets` with the `status` filter instead.',
  parameters: [
    {
      name: 'petId',
      in: 'path',
      required: true,
      description: 'The identifier of the animal.',
      schema: int64,
    },
  ],
  responses: {
    200: {
      description: 'The animal.',
      headers: {
        ...headerRefs([...everyAnswer, ...deprecatedAnswer]),
        Link: { $ref: '#/components/headers/SuccessorLink' },
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
    },
    ...errorRefs('pet_not_found'),
    ...commonErrors,
  },
};

function planTable(): string {
  return Object.entries(fixedPlans)
    .map(([plan, { perMinute, perDay }]) => `${plan}: ${perMinute} and ${perDay}`)
    .join(', ');
}

function errorRefs(...codes: readonly ErrorCode[]): Record<string, unknown> {
  return Object.fromEntries(
    codes.map((code) => [errorCatalogue[code].status, { $ref: `#/components/responses/${code}` }]),
  );
}

function errorResponse(code: ErrorCode) {
  return {
    description: errorCatalogue[code].message,
    headers: headerRefs([...everyAnswer, ...(extraHeaders[code] ?? [])]),
    content: errorContent(code),
  };
}

function errorContent(...codes: readonly ErrorCode[]) {
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(codes.map((code) => [code, { value: errorBody(code) }])),
    },
  };
}

function headerRefs(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
