import { customPlan, fixedPlans } from '../../functions/access/plans.ts';
import { maxBodyBytes } from '../../functions/http/input.ts';
import { pageSize } from '../../functions/pets/listing.ts';
import { usedHeaders } from './headers.ts';
import { errorResponse, success } from './responses.ts';
import { petId, schemas } from './schemas.ts';

/** The OpenAPI 3.1 description of the interface. Numbers and names come from the code that enforces them. */
export function openApiDocument() {
  const described = { paths, responses };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Animal Store Service',
      version: '1.0.0',
      summary: 'Animals up for adoption: list, filter, add and fetch them.',
      description: [
        'Every operation needs an API key, sent as `Authorization: Bearer <API_KEY>`.',
        `Requests per UTC minute and UTC day, by plan: ${planTable()}; ${customPlan}: custom.`,
        'Answers can carry fields, headers and error codes that are not described here yet. Ignore what you do not know.',
        'An unknown path answers 404 `route_not_found`, an unknown method 405 `method_not_allowed`.',
        'API Gateway rejects a body over 6 MB before the service sees it, with a message of its own.',
      ].join('\n\n'),
      contact: { name: 'The operator who issued your API key' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: 'https://{api}.execute-api.{region}.amazonaws.com/v1',
        description: 'A deployed stage: the output ApiUrl of its stack.',
        variables: {
          api: { default: 'example', description: 'ID of the REST API.' },
          region: { default: 'us-east-1', description: 'AWS Region.' },
        },
      },
      { url: 'http://127.0.0.1:3000/v1', description: 'The service on this machine: npm start.' },
    ],
    security: [{ apiKey: [] }],
    tags: [{ name: 'Pets', description: 'Animals available for adoption.' }],
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: as_<stage>_<36 letters and digits>.',
        },
      },
      schemas,
      headers: usedHeaders(described),
      responses,
    },
  };
}

const pet = { id: 115_448_523_194_368, name: 'Rex', categoryId: 7, status: 'available' };

const invalidRequest = 'The request is not valid. The message names every invalid field.';

/** Answers that more than one operation gives, in the same words. */
const responses = {
  InvalidRequest: errorResponse(['invalid_request'], { description: invalidRequest }),
  Unauthorized: errorResponse(['unauthorized']),
  TooManyRequests: errorResponse(['rate_limit_exceeded', 'key_suspended']),
  InternalError: errorResponse(['internal_error']),
};

const ref = (name: keyof typeof responses) => ({ $ref: `#/components/responses/${name}` });

const commonErrors = {
  401: ref('Unauthorized'),
  429: ref('TooManyRequests'),
  500: ref('InternalError'),
};

const getPetLink = (id: string) => ({
  operationId: 'getPet',
  description: 'The animal by its id. The operation is deprecated.',
  parameters: { petId: id },
});

const listPets = {
  operationId: 'listPets',
  tags: ['Pets'],
  summary: 'List all animals',
  description:
    'Newest first. When more animals follow, `Link` carries the URL of the following page. Following it to the end ' +
    'returns every animal that existed at the start exactly once, whatever is added meanwhile.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of animals returned. A value out of range answers 400.',
      schema: {
        type: 'integer',
        format: 'int32',
        minimum: pageSize.min,
        maximum: pageSize.max,
        default: pageSize.default,
      },
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
      description: 'Where the previous page ended. Opaque: take it from `Link`, with the same `status`.',
      schema: { type: 'string', minLength: 1 },
    },
  ],
  responses: {
    200: {
      ...success(
        'A page of animals.',
        { always: [], sometimes: ['Link'] },
        { type: 'array', maxItems: pageSize.max, items: { $ref: '#/components/schemas/Pet' } },
        [pet],
      ),
      links: { newestPet: getPetLink('$response.body#/0/id') },
    },
    400: ref('InvalidRequest'),
    ...commonErrors,
    503: errorResponse(['service_unavailable']),
  },
};

const createPet = {
  operationId: 'createPet',
  tags: ['Pets'],
  summary: 'Add an animal',
  description:
    'Send an `Idempotency-Key` with every creation. A repeated request with the same key and the same body returns ' +
    'the first answer and creates nothing, so a creation whose answer was lost can be retried safely.',
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'A value that is unique to this creation, such as a UUID: 1 to 255 printable ASCII characters. It is bound ' +
        'to the API key and kept for 24 hours (draft-ietf-httpapi-idempotency-key-header).',
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[ -~]+$',
        examples: ['0b9d6f0e-6a0c-4f5f-9a7e-2f7c0c1d2e3f'],
      },
    },
  ],
  requestBody: {
    required: true,
    description: `At most ${maxBodyBytes / 1024} KiB.`,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/NewPet' },
        examples: { animal: { value: { name: 'Rex', categoryId: 7 } } },
      },
    },
  },
  responses: {
    201: {
      ...success(
        'The created animal.',
        { always: ['Location'], sometimes: ['Idempotency-Replayed'] },
        { $ref: '#/components/schemas/Pet' },
        pet,
      ),
      links: {
        createdPet: getPetLink('$response.body#/id'),
        petsOfThisStatus: {
          operationId: 'listPets',
          description: 'The newest animals with the same status, this one among them.',
          parameters: { status: '$response.body#/status' },
        },
      },
    },
    400: ref('InvalidRequest'),
    ...commonErrors,
    413: errorResponse(['payload_too_large']),
    415: errorResponse(['unsupported_media_type']),
    422: errorResponse(['idempotency_key_reused']),
    503: errorResponse(['service_unavailable'], {
      description:
        'The service is temporarily unavailable. The animal may have been created: retry with the same ' +
        '`Idempotency-Key` and the same body.',
    }),
  },
};

const deprecated = { deprecated: true } as const;

const getPet = {
  operationId: 'getPet',
  tags: ['Pets'],
  summary: 'Get an animal',
  ...deprecated,
  description: 'To be removed on 5 December 2030. Use `GET /pets` with the `status` filter instead.',
  parameters: [
    {
      name: 'petId',
      in: 'path',
      required: true,
      description: 'The identifier of the animal.',
      schema: petId,
    },
  ],
  responses: {
    200: success('The animal.', { always: [] }, { $ref: '#/components/schemas/Pet' }, pet, true),
    400: errorResponse(['invalid_request'], {
      ...deprecated,
      description: 'API Gateway rejected the request, for instance because its URL is too long.',
    }),
    401: errorResponse(['unauthorized'], deprecated),
    404: errorResponse(['pet_not_found'], deprecated),
    429: errorResponse(['rate_limit_exceeded', 'key_suspended'], deprecated),
    500: errorResponse(['internal_error'], deprecated),
    503: errorResponse(['service_unavailable'], deprecated),
  },
};

const paths = {
  '/pets': { get: listPets, post: createPet },
  '/pets/{petId}': { get: getPet },
};

function planTable(): string {
  return Object.entries(fixedPlans)
    .map(([plan, { perMinute, perDay }]) => `${plan}: ${perMinute} and ${perDay}`)
    .join(', ');
}
