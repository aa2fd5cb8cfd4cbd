import { deepStrictEqual } from 'node:assert';
import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorCatalogue, gatewayErrors } from '../../../functions/http/errors.ts';
import type { Operation } from '../../../functions/operations.ts';
import { rateLimitHeaders } from '../../../functions/http/headers.ts';
import { errorsThatCanLackTheLimit } from '../../../lib/api/gateway-responses.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { errorsOf, exampleOf, isIdempotent } from './errors.ts';
import {
  commonHeaders,
  type Header,
  type HeaderId,
  type Node,
  type Occurrence,
  specialHeaders,
} from './headers.ts';
import type { descriptions } from './operations.ts';
import { jsonContent, referenceTo } from './schemas.ts';

// The answers of operations.

type Description = (typeof descriptions)[keyof typeof descriptions];
type RateLimitHeader = (typeof rateLimitHeaders)[keyof typeof rateLimitHeaders];
type Occurrences = { readonly [Id in HeaderId | RateLimitHeader]?: Occurrence };

/** Parts of the document that others refer to. */
export const components: Record<'headers' | 'responses', Record<string, Node>> = {
  headers: {},
  responses: {},
};

function reference(kind: keyof typeof components, name: string, part: Node): Node {
  components[kind][name] ??= part;
  deepStrictEqual(components[kind][name], part, `Two ${kind} of docs/openapi.yaml are called ${name}.`);
  return { $ref: `#/components/${kind}/${name}` };
}

/** Those of every answer, and others. What is said of one replaces that it is in every answer. */
function headers(others: Occurrences): Node {
  const all: Readonly<Record<string, Header>> = { ...commonHeaders, ...specialHeaders };
  const found = [
    ...Object.keys(commonHeaders).map((id) => [id, 'always'] as const),
    ...Object.entries(others),
  ];
  return Object.fromEntries(
    found.map(([id, occurrence]) => {
      const { name = id, text, schema } = all[id]!;
      const isRequired = occurrence === 'always';
      const header = { description: text, schema, ...(isRequired && { required: true }) };
      return [name, reference('headers', isRequired ? id : `${id}.optional`, header)];
    }),
  );
}

const windows = (occurrence: Occurrence): Occurrences => ({
  'RateLimit-Policy': occurrence,
  RateLimit: occurrence,
});
/** Which key it is, API Gateway knows only if the authorizer has run. */
const limitIfKnown: Occurrences = {
  [rateLimitHeaders.limit]: 'sometimes',
  [rateLimitHeaders.reset]: 'sometimes',
};
const deprecation = (occurrence: Occurrence): Occurrences => ({
  Deprecation: occurrence,
  Sunset: occurrence,
  'Successor-Link': occurrence,
});

export function successResponse(operation: Operation, { success }: Description): Node {
  const { deprecated } = operation;
  return {
    description: success.description,
    headers: headers({
      ...windows('always'),
      ...(deprecated && deprecation('always')),
      ...success.headers,
      ...(isIdempotent(operation) && { 'Idempotency-Replayed': 'sometimes' }),
    }),
    ...(success.body && { content: jsonContent(success.body, 'success') }),
  };
}

const fromGateway = new Set<ErrorCode>(gatewayErrors);

/** The answer to errors of one status. */
function errorResponse(status: number, codes: readonly ErrorCode[], isDeprecated: boolean): Node {
  // API Gateway's own answers have fewer headers.
  const occurrence = codes.some((code) => fromGateway.has(code)) ? 'sometimes' : 'always';
  return {
    description: codes.map((code) => exampleOf(code).meaning).join(' Or: '),
    headers: headers({
      ...(codes.some((code) => errorsThatCanLackTheLimit.has(code)) && limitIfKnown),
      ...([429, 503].includes(status) && { 'Retry-After': 'always' }),
      ...(status !== 401 && windows(occurrence)),
      ...(isDeprecated && deprecation(occurrence)),
      ...(status === 401 && { 'WWW-Authenticate': 'sometimes' }),
    }),
    content: {
      'application/json': {
        schema: referenceTo('Error'),
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code).body }])),
      },
    },
  };
}

/** The 400 of an operation without invalid requests. */
export const rejectedByGateway =
  'API Gateway rejected the request, for instance because its URL is too long.';

/** The answers to errors, by status. */
export function errorResponses(
  operation: Operation,
  description: Description,
): Readonly<Record<string, Node>> {
  const { deprecated, unavailable } = operation;
  const { parameters, request } = description;
  const takesQuery = Object.values(parameters).some((parameter) => parameter.in === 'query');
  const codesOf = Map.groupBy(errorsOf(operation, description), (code) => errorCatalogue[code].status);
  const ownDescriptions: Readonly<Record<number, string | undefined>> = {
    400: takesQuery || request !== undefined ? undefined : rejectedByGateway,
    503: unavailable,
  };
  return Object.fromEntries(
    Array.from(codesOf, ([status, codes]) => {
      const words = codes.length === 1 ? codes[0]!.split('_') : STATUS_CODES[status]!.split(' ');
      const name = `${titleCase(words.join('-'))}${deprecated ? '.deprecated' : ''}`;
      const own = ownDescriptions[status];
      const shared = reference('responses', name, errorResponse(status, codes, deprecated !== undefined));
      return [String(status), { ...shared, ...(own !== undefined && { description: own }) }];
    }),
  );
}
