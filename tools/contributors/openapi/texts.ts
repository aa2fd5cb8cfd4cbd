import type { z } from 'zod';
import { newKey } from '../../../functions/access/keys.ts';
import { customPlan, fixedPlans } from '../../../functions/access/plans.ts';
import { secondsPerDay, secondsPerMinute } from '../../../functions/access/windows.ts';
import { type ErrorCode, errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { idempotencyKeys } from '../../../functions/http/idempotency-key.ts';
import { maxBodyBytes } from '../../../functions/http/input.ts';
import { idempotencyRetention } from '../../../functions/pets/idempotent-creation.ts';
import type { listing } from '../../../functions/pets/listing.ts';
import { defaultPetStatus, maxNameLength, type NewPet, type Pet } from '../../../functions/pets/schema.ts';
import type { OperationEntry } from '../../../functions/operations.ts';
import { titleCase } from '../../../lib/title-case.ts';

// What docs/openapi.yaml says in words, and its examples. tools/contributors/openapi/document.ts adds what the service enforces.

const number = new Intl.NumberFormat('en-US');
const id = 115_448_523_194_368;
const baseUrl = 'https://example.execute-api.us-east-1.amazonaws.com/v1';

/** The rows of the plans' table. */
function planRows(): string {
  const rows = Object.entries(fixedPlans).map(
    ([plan, { perMinute, perDay }]) =>
      `| ${titleCase(plan)} | ${number.format(perMinute)} | ${number.format(perDay)} |`,
  );
  return [...rows, `| ${titleCase(customPlan)} | custom | custom |`].join('\n');
}

/** An error that no operation answers. */
function coded(code: ErrorCode): string {
  return `${errorCatalogue[code].status} \`${code}\``;
}

export const invalidRequestExample = 'name: is required';

/** The page before the operations, in Markdown. */
const introduction = `List, filter and add the animals of a store over HTTP, with JSON. The [API guide](api.md) has complete programs, retries included.

Set the address and your API key, then list the newest animals:

\`\`\`sh
export API=https://example.execute-api.us-east-1.amazonaws.com/v1 KEY=as_prod_your_key
curl -sS -H "Authorization: Bearer $KEY" "$API/pets?limit=2"
\`\`\`

## Authentication

Send your API key with every request. A missing or invalid key gets 401, and a new one works some seconds after it was issued. Keep keys on a server: there is no CORS. [More about keys](api.md#authenticate)

\`\`\`http
Authorization: Bearer <API_KEY>
\`\`\`

## Plans and rate limits

The plan of a key sets its requests per UTC minute and UTC day:

| Plan | Per minute | Per day |
| --- | ---: | ---: |
${planRows()}

\`X-RateLimit-*\` describe the window, minute or day, that has the fewest requests remaining. \`RateLimit\` describes both. [More about rate limits](api.md#stay-within-the-rate-limits)

\`\`\`http
X-RateLimit-Limit: 300
X-RateLimit-Remaining: 299
X-RateLimit-Reset: 1767225660
RateLimit-Policy: "minute";q=300;w=60, "day";q=10000;w=86400
RateLimit: "minute";r=299;t=42, "day";r=9999;t=51042
\`\`\`

## Paging

A list has at most \`limit\` animals, newest first. When more follow, \`Link\` has the URL of the next page. Request it unchanged, until a response has no \`Link\`. [More about paging](api.md#page-through-a-list)

\`\`\`http
Link: <https://example.execute-api.us-east-1.amazonaws.com/v1/pets?limit=20&cursor=c>; rel="next"
\`\`\`

## Retries

After a 429 or 503, wait for the seconds in \`Retry-After\` and a random delay that doubles with each attempt, up to 5 seconds. A key that keeps sending after a 429 is suspended. [More about waiting](api.md#back-off-after-a-429)

Send an \`Idempotency-Key\` with every creation. You can then repeat it after a 5xx, a time-out or a lost connection without adding a second animal. [More about safe retries](api.md#retry-safely)

\`\`\`http
Idempotency-Key: 0b9d6f0e-6a0c-4f5f-9a7e-2f7c0c1d2e3f
\`\`\`

## Errors

Every error has the same body. Decide by \`code\`, and by \`status\` when you do not know the code. Quote the header \`X-Request-Id\` when you report a problem. [All codes, and what to do](api.md#handle-errors)

An unknown path answers ${coded('route_not_found')}, an unknown method ${coded('method_not_allowed')}. API Gateway rejects a body over 6 MB before the service sees it, with a message of its own.

\`\`\`json
${JSON.stringify(errorBody('invalid_request', invalidRequestExample), undefined, 2)}
\`\`\`

## Compatibility

Answers can carry fields, headers and error codes that are not described here yet. Ignore what you do not know.

\`id\` and \`categoryId\` are int64. A \`categoryId\` can be larger than JavaScript's \`JSON.parse\` keeps exactly. [How each language reads it](api.md#keep-int64-exact)`;

export const info = {
  title: 'Animal Store Service',
  version: '1.0.0',
  summary: 'Animals up for adoption: list, filter, add and fetch them.',
  description: introduction,
  contact: { name: 'The operator who issued your API key' },
  license: { name: 'MIT', identifier: 'MIT' },
} as const;

export const servers = [
  {
    url: 'https://{api}.execute-api.{region}.amazonaws.com/v1',
    description: 'A deployed stage: the output ApiUrl of its stack.',
    variables: {
      api: { default: 'example', description: 'ID of the REST API.' },
      region: { default: 'us-east-1', description: 'AWS Region.' },
    },
  },
  { url: 'http://127.0.0.1:3000/v1', description: 'The service on this machine: npm start.' },
];

export const tag = { name: 'Pets', description: 'Animals available for adoption.' } as const;

export const apiKey = `An API key: \`as_<stage>_<${newKey('prod').replace('as_prod_', '').length} letters and digits>\`.`;

export interface Field {
  readonly description?: string;
  readonly example?: string | number;
  /** JSON Schema of a rule that a function of `functions/` checks. A test compares both. */
  readonly rule?: Readonly<Record<string, unknown>>;
}

const categoryId = {
  description: 'The category the animal belongs to. The full range of int64, returned digit for digit.',
  example: 7,
};

/** What a request and its answer look like. */
export const examples = {
  NewPet: { name: 'Rex', categoryId: 7 },
  Pet: { id, name: 'Rex', categoryId: 7, status: defaultPetStatus },
} as const;

export const petStatusText = {
  description: 'Availability of the animal.',
  example: defaultPetStatus,
} as const;

/**
 * Of a text with a visible character. No pattern that ECMAScript, Python's `re` and RE2 all read can say more than that one of
 * its characters is not an invisible one of Latin-1: the rest of the rule is in words.
 */
const visibleText = { minLength: 1, pattern: String.raw`[^\x00-\x20\x7F-\xA0\xAD]` };

export const newPetTexts = {
  description: 'An animal as sent on creation. Unknown fields are ignored, `id` included.',
  fields: {
    name: {
      description:
        `The animal's name: 1 to ${maxNameLength} Unicode code points, at least one of them visible (not a separator, ` +
        'control or format character). Lone surrogates and U+FFFD are rejected.',
      example: 'Rex',
      rule: visibleText,
    },
    categoryId,
    status: { description: `Availability of the animal. \`${defaultPetStatus}\` when omitted.` },
  } satisfies Record<keyof NewPet, Field>,
};

export const petTexts = {
  description: 'An animal as returned.',
  fields: {
    id: {
      description: 'Assigned by the service: at most 2^53 − 1, in order of creation.',
      example: id,
    },
    name: { description: "The animal's name.", example: 'Rex' },
    categoryId,
    status: {},
  } satisfies Record<keyof Pet, Field>,
};

export const errorTexts = {
  description: 'The body of every answer that is not a success.',
  fields: {
    code: {
      description: 'Machine-readable error code. The list can grow: treat an unknown code by its status.',
      example: 'invalid_request',
    },
    message: { description: 'Human-readable. Names every invalid field.', example: invalidRequestExample },
    status: { description: 'The HTTP status code.', example: 400, rule: { format: 'int32' } },
  } satisfies Record<keyof ReturnType<typeof errorBody>, Field>,
};

/** What an answer with a code means, where the default message of the code does not say it. */
export const errorDescriptions: { readonly [Code in ErrorCode]?: string } = {
  invalid_request: 'The request is not valid. The message names every invalid field.',
};

/** The 400 of an operation without invalid requests. */
export const rejectedByGateway =
  'API Gateway rejected the request, for instance because its URL is too long.';

export const listingTexts = {
  limit: 'Maximum number of animals returned. A value out of range answers 400.',
  status: 'Only animals with this status are returned.',
  cursor: 'Where the previous page ended. Opaque: take it from `Link`, with the same `status`.',
} satisfies Record<keyof z.input<typeof listing>, string>;

/** Parameters in paths. */
export const pathTexts = {
  petId: { description: 'The identifier of the animal.', example: id },
} as const;

export const idempotencyKeyText = {
  description:
    `A value that is unique to this creation, such as a UUID: 1 to ${idempotencyKeys.maxLength} printable ASCII characters. It is ` +
    `bound to the API key and kept for ${idempotencyRetention / 3600} hours (draft-ietf-httpapi-idempotency-key-header).`,
  example: '0b9d6f0e-6a0c-4f5f-9a7e-2f7c0c1d2e3f',
};

export const bodyText = `At most ${maxBodyBytes / 1024} KiB.`;

export interface Header {
  /** The name, where it is not that of the component. */
  readonly name?: string;
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

const wholeNumber = { type: 'integer', minimum: 0 };

export const headers = {
  'X-RateLimit-Limit': {
    description:
      'The limit in force: of the window, minute or day, that has the fewest requests remaining. 0 without a valid key.',
    schema: { ...wholeNumber, examples: [fixedPlans.free.perMinute] },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests remaining in that window.',
    schema: { ...wholeNumber, examples: [fixedPlans.free.perMinute - 1] },
  },
  'X-RateLimit-Reset': {
    description: 'Unix timestamp in seconds at which that limit resets.',
    schema: { ...wholeNumber, examples: [1_767_225_660] },
  },
  'X-Request-Id': {
    description: 'Identifies this request. Quote it when you report a problem.',
    schema: { type: 'string', minLength: 1, examples: ['5f0c7f4e-7f0b-4b4c-9d0a-1f2e3d4c5b6a'] },
  },
  'RateLimit-Policy': {
    description: 'Both windows: quota `q` in `w` seconds (draft-ietf-httpapi-ratelimit-headers-11).',
    schema: {
      type: 'string',
      pattern: String.raw`^"minute";q=\d+;w=${secondsPerMinute}, "day";q=\d+;w=${secondsPerDay}$`,
      examples: [
        `"minute";q=${fixedPlans.free.perMinute};w=${secondsPerMinute}, "day";q=${fixedPlans.free.perDay};w=${secondsPerDay}`,
      ],
    },
  },
  RateLimit: {
    description: 'Both windows: `r` requests available in the next `t` seconds.',
    schema: {
      type: 'string',
      pattern: String.raw`^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+$`,
      examples: ['"minute";r=59;t=42, "day";r=999;t=51042'],
    },
  },
  'Retry-After': {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  Location: {
    description:
      'URL of the new animal. The body is the animal itself, so there is no need to request it, which is deprecated.',
    schema: { type: 'string', format: 'uri', examples: [`${baseUrl}/pets/${id}`] },
  },
  'Idempotency-Replayed': {
    description:
      'Sent with a repeated answer: the animal was created by an earlier request with the same key.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Next-Link': {
    name: 'Link',
    description: 'The following page as `rel="next"` (RFC 8288). Absent on the last page.',
    schema: {
      type: 'string',
      pattern: '^<[^>]+>; rel="next"$',
      examples: [`<${baseUrl}/pets?limit=20&cursor=c>; rel="next"`],
    },
  },
  'Successor-Link': {
    name: 'Link',
    description:
      'What to use instead, as `rel="successor-version"` (RFC 5829). The list of the animal\'s status when it was found.',
    schema: {
      type: 'string',
      pattern: '^<[^>]+>; rel="successor-version"$',
      examples: [`<${baseUrl}/pets?status=available>; rel="successor-version"`],
    },
  },
  Deprecation: {
    description: 'Since when the operation is deprecated (RFC 9745).',
    schema: { type: 'string', pattern: String.raw`^@\d+$` },
  },
  Sunset: { description: 'When the operation is removed (RFC 8594).', schema: { type: 'string' } },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 6750).',
    schema: { type: 'string', examples: ['Bearer realm="animal-store"'] },
  },
} as const satisfies Record<string, Header>;
export type HeaderName = keyof typeof headers;

export interface Texts {
  readonly summary: string;
  /** `REMOVAL` stands for the day of a deprecated operation's removal. */
  readonly description: string;
  /** The answer that is a success. */
  readonly success: string;
  readonly links?: Readonly<
    Record<
      string,
      {
        readonly operationId: string;
        readonly description: string;
        readonly parameters: Readonly<Record<string, string>>;
      }
    >
  >;
}

const byId = 'The animal by its id. The operation is deprecated.';

export const operationTexts: Readonly<Record<OperationEntry, Texts>> = {
  'list-pets': {
    summary: 'List all animals',
    description:
      'Newest first. When more animals follow, `Link` carries the URL of the following page. Following it to the end returns ' +
      'every animal that was listed at the start exactly once, whatever is added meanwhile. A new animal is listed after a ' +
      'moment, usually within a second.',
    success: 'A page of animals.',
    links: {
      newestPet: { operationId: 'getPet', description: byId, parameters: { petId: '$response.body#/0/id' } },
    },
  },
  'create-pet': {
    summary: 'Add an animal',
    description:
      'Send an `Idempotency-Key` with every creation. A repeated request with the same key and the same body returns the ' +
      'first answer and creates nothing, so a creation whose answer was lost can be retried safely.',
    success: 'The created animal.',
    links: {
      createdPet: { operationId: 'getPet', description: byId, parameters: { petId: '$response.body#/id' } },
      petsOfThisStatus: {
        operationId: 'listPets',
        description: 'The newest animals with the same status, this one among them.',
        parameters: { status: '$response.body#/status' },
      },
    },
  },
  'get-pet': {
    summary: 'Get an animal',
    description: 'To be removed on REMOVAL. Use `GET /pets` with the `status` filter instead.',
    success: 'The animal.',
  },
};
