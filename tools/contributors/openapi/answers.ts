import { deepStrictEqual } from 'node:assert';
import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { gatewayErrors, type Operation, writes } from '../../../functions/operations.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { commonHeaders, specialHeaders } from './headers.ts';
import { bodyText, headerText } from './interface.ts';
import { jsonContent, type Node, referenceTo } from './schemas.ts';

// The answers of operations.

type Occurrence = 'always' | 'sometimes';

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

/** Those of every answer, and others. */
function headers(others: Readonly<Record<string, Occurrence>>): Node {
  const all = { ...commonHeaders, ...specialHeaders };
  const found = [
    ...Object.keys(commonHeaders).map((id) => [id, 'always'] as const),
    ...Object.entries(others),
  ];
  return Object.fromEntries(
    found.map(([id, occurrence]) => {
      const { name, description } = headerText(id);
      const schema = all[id];
      if (schema === undefined) throw new Error(`tools/contributors/openapi/headers.ts has no header ${id}.`);
      const isRequired = occurrence === 'always';
      const header = { description, schema, ...(isRequired && { required: true }) };
      return [name, reference('headers', isRequired ? id : `${id}.optional`, header)];
    }),
  );
}

const windows = (occurrence: Occurrence) => ({ 'RateLimit-Policy': occurrence, RateLimit: occurrence });
const deprecation = (occurrence: Occurrence) => ({
  Deprecation: occurrence,
  Sunset: occurrence,
  'Successor-Link': occurrence,
});

function isIdempotent(operation: Operation): boolean {
  return writes(operation) && operation.idempotent === true;
}

export function successResponse(operation: Operation, description: string): Node {
  const { success, deprecated } = operation;
  return {
    description,
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
  const invalid = bodyText('Error').sample;
  const words = (code: ErrorCode) =>
    code === invalid['code']
      ? { meaning: 'The request is not valid. The message names every invalid field.', value: invalid }
      : { meaning: errorCatalogue[code].message, value: errorBody(code) };
  return {
    description: codes.map((code) => words(code).meaning).join(' Or: '),
    headers: headers({
      ...([429, 503].includes(status) && { 'Retry-After': 'always' }),
      ...(status !== 401 && windows(occurrence)),
      ...(isDeprecated && deprecation(occurrence)),
      ...(status === 401 && { 'WWW-Authenticate': 'sometimes' }),
    }),
    content: {
      'application/json': {
        schema: referenceTo('Error'),
        examples: Object.fromEntries(codes.map((code) => [code, { value: words(code).value }])),
      },
    },
  };
}

/** The errors that an operation can answer, by status. */
function errorsOf(operation: Operation): Map<number, ErrorCode[]> {
  const { request, errors } = operation;
  const found = new Set<ErrorCode>([...gatewayErrors, 'key_suspended', ...errors]);
  found.delete('route_not_found');
  if (request === undefined) found.delete('unsupported_media_type');
  else found.add('payload_too_large');
  if (isIdempotent(operation)) found.add('idempotency_key_reused');
  // In the order of the catalogue, which is that of the statuses.
  const ordered = (Object.keys(errorCatalogue) as ErrorCode[]).filter((code) => found.has(code));
  return Map.groupBy(ordered, (code) => errorCatalogue[code].status);
}

/** The 400 of an operation without invalid requests. */
export const rejectedByGateway =
  'API Gateway rejected the request, for instance because its URL is too long.';

/** The answers to errors, by status. @param takesQuery whether the operation has a parameter in the query */
export function errorResponses(operation: Operation, takesQuery: boolean): Readonly<Record<string, Node>> {
  const { deprecated, request } = operation;
  const ownDescriptions: Readonly<Record<number, string | undefined>> = {
    400: takesQuery || request !== undefined ? undefined : rejectedByGateway,
    503: writes(operation) ? operation.unavailable : undefined,
  };
  return Object.fromEntries(
    Array.from(errorsOf(operation), ([status, codes]) => {
      const words = codes.length === 1 ? codes[0]!.split('_') : STATUS_CODES[status]!.split(' ');
      const name = `${titleCase(words.join('-'))}${deprecated ? '.deprecated' : ''}`;
      const description = ownDescriptions[status];
      const shared = reference('responses', name, errorResponse(status, codes, deprecated !== undefined));
      return [String(status), { ...shared, ...(description !== undefined && { description }) }];
    }),
  );
}
