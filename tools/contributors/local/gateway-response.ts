import { validateHeaderName, validateHeaderValue } from 'node:http';
import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { z } from 'zod';
import { type GatewayRequest, lastValue, values } from './gateway-request.ts';
import type { HttpResponse } from './http.ts';
import type { Resource, Stack } from './template.ts';

/** What API Gateway makes of a function's answer, of an error of its own, and of the codings of bodies. */

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html */
export interface GatewayError {
  readonly type: string;
  /** Unless the template sets another. */
  readonly status: number;
  /** For `$context.error.message`; API Gateway has none when an authorizer fails. */
  readonly message: string | null;
  /** The value of `x-amzn-ErrorType`. */
  readonly errorType: string;
}

function error(status: number, type: string, errorType: string, message: string | null): GatewayError {
  return { type, status, message, errorType: `${errorType}Exception` };
}

const denied =
  'User is not authorized to access this resource with an explicit deny in an identity-based policy';
const tooLarge = ['REQUEST_TOO_LARGE', 'RequestTooLarge'] as const;
const failed = ['InternalServerError', 'Internal server error'] as const;
const missingToken = ['MissingAuthenticationToken', 'Missing Authentication Token'] as const;

export const gatewayErrors = {
  accessDenied: error(403, 'ACCESS_DENIED', 'AccessDenied', denied),
  /** Recorded by ministack on AWS (its pull request 1756, 2026-09-16). */
  authorizerFailed: error(500, 'AUTHORIZER_FAILURE', 'AuthorizerConfiguration', null),
  authorizerMalformed: error(500, 'AUTHORIZER_CONFIGURATION_ERROR', 'AuthorizerConfiguration', null),
  eventTooLarge: error(413, ...tooLarge, 'Request Too Long'),
  /** A function that throws, crashes, times out or is throttled: what access logs of AWS show. */
  integrationFailed: error(502, 'INTEGRATION_FAILURE', ...failed),
  integrationTimeout: error(504, 'INTEGRATION_TIMEOUT', 'InternalServerError', 'Endpoint request timed out'),
  invalidApiKey: error(403, 'INVALID_API_KEY', 'Forbidden', 'Forbidden'),
  /** "Execution failed due to configuration error: Malformed Lambda proxy response". */
  malformedAnswer: error(502, 'DEFAULT_5XX', ...failed),
  missingRoute: error(403, 'MISSING_AUTHENTICATION_TOKEN', ...missingToken),
  quotaExceeded: error(429, 'QUOTA_EXCEEDED', 'LimitExceeded', 'Limit Exceeded'),
  requestTooLarge: error(413, ...tooLarge, 'HTTP content length exceeded 10485760 bytes.'),
  throttled: error(429, 'THROTTLED', 'TooManyRequests', 'Too Many Requests'),
  unauthorized: error(401, 'UNAUTHORIZED', 'Unauthorized', 'Unauthorized'),
  unsupportedMediaType: error(415, 'UNSUPPORTED_MEDIA_TYPE', 'BadRequest', 'Unsupported Media Type'),
  uriTooLong: error(414, 'DEFAULT_4XX', 'RequestURITooLong', 'Request URI too long'),
};

type GatewayResponses = ReadonlyMap<string, Resource<'AWS::ApiGateway::GatewayResponse'>['properties']>;

/** By type. */
export function gatewayResponsesOf(stack: Stack): GatewayResponses {
  const all = stack.resources('AWS::ApiGateway::GatewayResponse');
  return new Map(all.map(({ properties }) => [properties.ResponseType, properties]));
}

/**
 * The answer for an error: the template's gateway response of its type, else that of DEFAULT_4XX or DEFAULT_5XX, else API
 * Gateway's own. The answer to a request that is too large cannot be changed.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html
 *
 * @param context `$context`
 */
export function gatewayAnswer(
  { type, status, message, errorType }: GatewayError,
  responses: GatewayResponses,
  request: GatewayRequest,
  context: Readonly<Record<string, unknown>>,
): HttpResponse {
  const family = status >= 500 ? 'DEFAULT_5XX' : 'DEFAULT_4XX';
  // A type with an entry but no status keeps its own (recorded on AWS by LocalStack, 2024-06-20).
  const found = type === 'REQUEST_TOO_LARGE' ? undefined : (responses.get(type) ?? responses.get(family));
  const messages = { message: message ?? '', messageString: JSON.stringify(message), responseType: type };
  const valueOf = (source: string) => mappedValue(source, request, { ...context, error: messages });
  const mapped = Object.entries(found?.ResponseParameters ?? {}).flatMap(([target, source]) => {
    const value = valueOf(source);
    return value === undefined ? [] : [[target.replace('gatewayresponse.header.', ''), value] as const];
  });
  const template =
    found?.ResponseTemplates?.['application/json'] ?? '{"message":$context.error.messageString}';
  const body = template.replaceAll(/\$(context(?:\.\w+)+)/g, (_, source: string) => valueOf(source) ?? '');
  const headers = { 'Content-Type': 'application/json', 'x-amzn-ErrorType': errorType };
  return {
    status: found?.StatusCode ?? status,
    headers: Object.entries({ ...headers, ...(Object.fromEntries(mapped) as Record<string, string>) }),
    body: Buffer.from(body),
  };
}

/**
 * The value of a mapping: `'static text'`, `context.…` or `method.request.header.NAME` or `….querystring.NAME`.
 *
 * @returns `undefined` when the value does not exist: the header is omitted
 */
function mappedValue(
  source: string,
  { headers, query }: GatewayRequest,
  context: Readonly<Record<string, unknown>>,
): string | undefined {
  const [, literal, place, name = ''] =
    /^(?:'(.*)'|method\.request\.(header|querystring)\.(.+))$/s.exec(source) ?? [];
  if (literal !== undefined) return literal;
  if (place === 'header') return lastValue(headers, name);
  if (place === 'querystring') return query.findLast(([own]) => own === name)?.[1];
  const value = source
    .split('.')
    .reduce<unknown>((parent, part) => (parent as Record<string, unknown> | undefined)?.[part], { context });
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/** An answer with another field is malformed. The API has no binary media types: base64 is sent as it is. */
const proxyAnswer = z.strictObject({
  statusCode: z.coerce.number().int().min(200).max(599).default(200),
  headers: z.record(z.string(), scalar).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(scalar)).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html */
const remapped =
  /^(?:authorization|connection|content-md5|date|max-forwards|server|user-agent|www-authenticate)$/i;
const dropped =
  /^(?:content-length|expect|host|proxy-authenticate|te|trailer|transfer-encoding|upgrade|via)$/i;

/**
 * Parses the answer of a function with proxy integration.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-output-format
 *
 * @param payload JSON
 * @returns the response, or what is wrong
 */
export function readProxyAnswer(payload: string): HttpResponse | string {
  const parsed = proxyAnswer.safeParse(JSON.parse(payload));
  if (!parsed.success) return `Malformed Lambda proxy response: ${problemOf(parsed.error)}`;
  const { statusCode: status, headers, multiValueHeaders, body } = parsed.data;
  const multiple = Object.entries(multiValueHeaders ?? {}).flatMap(([name, all]) =>
    all.map((value) => [name, value] as const),
  );
  // The values of both fields are merged, and a pair that is in both appears once.
  const single = Object.entries(headers ?? {}).filter(
    ([name, value]) => !values(multiple, name).includes(value),
  );
  const all = [...multiple, ...single];
  const invalid = all.find(([name, value]) => !isHeader(name, value));
  if (invalid !== undefined)
    return `Malformed Lambda proxy response: headers: ${JSON.stringify(invalid[0])} is not a valid header`;
  return {
    status,
    headers: [
      ...(values(all, 'content-type').length > 0 ? [] : [['Content-Type', 'application/json'] as const]),
      ...all
        .filter(([name]) => !dropped.test(name))
        .map(([name, value]) => [remapped.test(name) ? `x-amzn-Remapped-${name}` : name, value] as const),
    ],
    body: Buffer.from(body ?? ''),
  };
}

/** The first problem, and the member that has it. */
export function problemOf({ issues: [issue] }: z.ZodError): string {
  return [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

const codings = new Map([
  ['gzip', { encode: promisify(gzip), decode: promisify(gunzip) }],
  ['deflate', { encode: promisify(deflate), decode: promisify(inflate) }],
]);

/** Bytes. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
export const largestBody = 10_485_760;

/**
 * The body without its content coding. The header stays as it is.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
export async function decodedBody({
  headers,
  body,
}: Pick<GatewayRequest, 'headers' | 'body'>): Promise<Buffer | GatewayError> {
  if (body.length > largestBody) return gatewayErrors.requestTooLarge;
  const name = values(headers, 'content-encoding').join().trim().toLowerCase();
  if (body.length === 0 || name === '' || name === 'identity') return body;
  try {
    const decoded = await codings.get(name)?.decode(body, { maxOutputLength: largestBody });
    return decoded ?? gatewayErrors.unsupportedMediaType;
  } catch (cause) {
    const isTooLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? gatewayErrors.requestTooLarge : gatewayErrors.unsupportedMediaType;
  }
}

/**
 * The response of a function, compressed if the client asks for it and the function has not done it.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html
 */
export async function compressed(
  response: HttpResponse,
  { headers }: GatewayRequest,
  minimumSize: number,
): Promise<HttpResponse> {
  const { body } = response;
  const name = preferredCoding(values(headers, 'accept-encoding').join());
  const coding = codings.get(name);
  const isEncoded = values(response.headers, 'content-encoding').length > 0;
  if (coding === undefined || isEncoded || body.length === 0 || body.length < minimumSize) return response;
  const encoded = await coding.encode(body);
  return { ...response, headers: [...response.headers, ['Content-Encoding', name]], body: encoded };
}

/** "The highest-priority content encoding must be one supported by API Gateway"; of equal ones the first. */
function preferredCoding(accept: string): string {
  const weighted = accept.split(',').map((entry) => {
    const [name = '', weight = '1'] = entry.toLowerCase().split(/;\s*q\s*=/);
    return { name: name.trim(), weight: Number(weight) };
  });
  const [first] = weighted
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight);
  return first?.name ?? '';
}
