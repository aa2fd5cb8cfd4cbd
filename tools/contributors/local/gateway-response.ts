import { promisify } from 'node:util';
import { deflate, gunzip, gzip, inflate } from 'node:zlib';
import { z } from 'zod';
import { type GatewayRequest, lastValue, values } from './gateway-request.ts';
import type { HttpResponse } from './http.ts';
import type { Stack } from './template.ts';

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

const denied = 'User is not authorized to access this resource';
const explicitly = 'with an explicit deny in an identity-based policy';
const failed = ['InternalServerError', 'Internal server error'] as const;

export const gatewayErrors = {
  accessDenied: error(403, 'ACCESS_DENIED', 'AccessDenied', denied),
  explicitlyDenied: error(403, 'ACCESS_DENIED', 'AccessDenied', `${denied} ${explicitly}`),
  /** Recorded by ministack on AWS (its pull request 1756, 2026-09-16). */
  authorizerFailed: error(500, 'AUTHORIZER_FAILURE', 'AuthorizerConfiguration', null),
  authorizerMalformed: error(500, 'AUTHORIZER_CONFIGURATION_ERROR', 'AuthorizerConfiguration', null),
  /** A function that Lambda throttles. https://repost.aws/knowledge-center/api-gateway-lambda-429 */
  integrationThrottled: error(500, 'INTEGRATION_FAILURE', ...failed),
  /** A function that throws, crashes or times out: what access logs of AWS show. */
  integrationFailed: error(502, 'INTEGRATION_FAILURE', ...failed),
  /** "Execution failed due to configuration error: Malformed Lambda proxy response". */
  malformedAnswer: error(502, 'DEFAULT_5XX', ...failed),
  integrationTimeout: error(504, 'INTEGRATION_TIMEOUT', 'InternalServerError', 'Endpoint request timed out'),
  unsupportedMediaType: error(415, 'UNSUPPORTED_MEDIA_TYPE', 'BadRequest', 'Unsupported Media Type'),
  invalidApiKey: error(403, 'INVALID_API_KEY', 'Forbidden', 'Forbidden'),
  missingRoute: error(
    403,
    'MISSING_AUTHENTICATION_TOKEN',
    'MissingAuthenticationToken',
    'Missing Authentication Token',
  ),
  quotaExceeded: error(429, 'QUOTA_EXCEEDED', 'LimitExceeded', 'Limit Exceeded'),
  eventTooLarge: error(413, 'REQUEST_TOO_LARGE', 'RequestTooLarge', 'Request Too Long'),
  requestTooLarge: error(
    413,
    'REQUEST_TOO_LARGE',
    'RequestTooLarge',
    'HTTP content length exceeded 10485760 bytes.',
  ),
  throttled: error(429, 'THROTTLED', 'TooManyRequests', 'Too Many Requests'),
  unauthorized: error(401, 'UNAUTHORIZED', 'Unauthorized', 'Unauthorized'),
  uriTooLong: error(414, 'DEFAULT_4XX', 'RequestURITooLong', 'Request URI too long'),
};

/** By type. */
type GatewayResponses = ReadonlyMap<
  string,
  {
    readonly status: number | undefined;
    /** `gatewayresponse.header.NAME` to the source of its value. */
    readonly parameters: Readonly<Record<string, string>>;
    readonly template: string;
  }
>;

const defaultTemplate = '{"message":$context.error.messageString}';

export function gatewayResponsesOf(stack: Stack): GatewayResponses {
  return new Map(
    stack.resources('AWS::ApiGateway::GatewayResponse').map(({ properties }) => [
      properties.ResponseType,
      {
        status: properties.StatusCode,
        parameters: properties.ResponseParameters,
        template: properties.ResponseTemplates?.['application/json'] ?? defaultTemplate,
      },
    ]),
  );
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
  const headers = new Map<string, readonly [string, string]>();
  const set = (name: string, value: string): void => void headers.set(name.toLowerCase(), [name, value]);
  set('Content-Type', 'application/json');
  set('x-amzn-ErrorType', errorType);
  for (const [target, source] of Object.entries(found?.parameters ?? {})) {
    const value = valueOf(source);
    if (value !== undefined) set(target.replace('gatewayresponse.header.', ''), value);
  }
  const body = (found?.template ?? defaultTemplate).replaceAll(
    /\$(context(?:\.\w+)+|stageVariables\.\w+|method\.request\.\w+\.[\w-]+)/g,
    (_, source: string) => valueOf(source) ?? '',
  );
  return { status: found?.status ?? status, headers: [...headers.values()], body: Buffer.from(body) };
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
  const literal = /^'(.*)'$/s.exec(source)?.[1];
  if (literal !== undefined) return literal;
  const [, place, name = ''] = /^method\.request\.(header|querystring)\.(.+)$/.exec(source) ?? [];
  if (place === 'header') return lastValue(headers, name);
  if (place === 'querystring') return query.findLast(([own]) => own === name)?.[1];
  const value = source
    .split('.')
    .reduce<unknown>((parent, part) => (parent as Record<string, unknown> | undefined)?.[part], { context });
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined;
}

const scalar = z
  .union([z.string(), z.number(), z.boolean()], 'must be text, a number or a flag')
  .transform(String);

/** Trials of the SAM CLI's developers on AWS: https://github.com/aws/aws-sam-cli/pull/2941 */
const base64Flag = z
  .union([z.boolean(), z.enum(['true', 'True', 'false', 'False'])], 'must be true or false')
  .nullish();

/** An answer with another field is malformed. The API has no binary media types: base64 is sent as it is. */
const proxyAnswer = z.strictObject({
  statusCode: z.coerce.number().int().min(200).max(599).optional(),
  headers: z.record(z.string(), scalar).nullish(),
  multiValueHeaders: z.record(z.string(), z.array(scalar)).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: base64Flag,
  base64Encoded: base64Flag,
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
  const { statusCode: status = 200, headers, multiValueHeaders, body } = parsed.data;
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

/** RFC 9110, sections 5.1 and 5.5. */
function isHeader(name: string, value: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(name) && !/[\0-\x08\n-\x1f\x7f]/.test(value);
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
    const [name = '', ...parameters] = entry.toLowerCase().split(';');
    const weight = parameters.map((each) => /^\s*q\s*=\s*([\d.]+)\s*$/.exec(each)?.[1]).at(-1);
    return { name: name.trim(), weight: Number(weight ?? 1) };
  });
  const [first] = weighted
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight);
  return first?.name ?? '';
}
