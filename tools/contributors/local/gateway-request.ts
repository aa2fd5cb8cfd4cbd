import { randomUUID } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import { accountId } from './template.ts';

/** A request as API Gateway sees it, and the event of a function that it makes of it. */
export interface GatewayRequest {
  readonly requestId: string;
  readonly extendedRequestId: string;
  readonly method: string;
  /** As sent, with the stage, without the query, with one leading slash. */
  readonly fullPath: string;
  /** As sent, without the stage and the query, with one leading slash. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly rawQuery: string;
  readonly query: readonly Pair[];
  /** As API Gateway passes them on: without those that it drops, with those that it adds. */
  readonly headers: readonly Pair[];
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly protocol: string;
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  /** On the monotonic clock, in milliseconds. */
  readonly startedAt: number;
}
type Pair = readonly [name: string, value: string];

export interface IncomingRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly port: number;
  readonly httpVersion: string;
}

/** Not passed to functions. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html */
const dropped = new Set(
  (
    'connection content-length content-md5 expect keep-alive max-forwards proxy-authenticate server te trailer ' +
    'transfer-encoding upgrade www-authenticate x-amzn-trace-id x-forwarded-for x-forwarded-port x-forwarded-proto'
  ).split(' '),
);

/**
 * @param now milliseconds since the Unix epoch
 * @param startedAt on the monotonic clock, in milliseconds
 */
export function toGatewayRequest(
  incoming: IncomingRequest,
  stage: string,
  now: number,
  startedAt: number,
): GatewayRequest {
  const { method, url, rawHeaders, body, sourceIp, port, httpVersion } = incoming;
  const [beforeQuery = '', rawQuery = ''] = url.split(/\?(.*)/s);
  const fullPath = beforeQuery.replace(/^\/+/, '/');
  const sent = rawHeaders.flatMap((name, index): Pair[] =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : [],
  );
  const trace = `Root=1-${Math.floor(now / 1000).toString(16)}-${randomHex(24)}`;
  return {
    requestId: randomUUID(),
    extendedRequestId: `${Buffer.from(randomHex(22), 'hex').toString('base64url')}=`,
    method,
    fullPath,
    path: fullPath.slice(1 + stage.length).replace(/^\/*/, '/'),
    rawQuery,
    query: parseQuery(rawQuery),
    headers: [
      ...sent
        .filter(([name]) => !dropped.has(name.toLowerCase()))
        .map(([name, value]) => [/^authorization$/i.test(name) ? 'Authorization' : name, value] as const),
      ['X-Amzn-Trace-Id', lastValue(sent, 'x-amzn-trace-id') ?? trace],
      ['X-Forwarded-For', [...values(sent, 'x-forwarded-for'), sourceIp].join(', ')],
      ['X-Forwarded-Port', String(port)],
      ['X-Forwarded-Proto', 'http'],
    ],
    body,
    sourceIp,
    protocol: `HTTP/${httpVersion}`,
    time: now,
    startedAt,
  };
}

/**
 * What a function gets as `_X_AMZN_TRACE_ID`: the request's trace, with a segment for the function.
 *
 * https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
 */
export function traceIdOf({ headers }: Pick<GatewayRequest, 'headers'>): string {
  const header = lastValue(headers, 'x-amzn-trace-id') ?? '';
  const field = (name: string) => new RegExp(`(?:^|;)\\s*${name}=([^;]+)`).exec(header)?.[1];
  return `Root=${field('Root') ?? ''};Parent=${randomHex(16)};Sampled=${field('Sampled') ?? '0'}`;
}

/** Every value of a header. Names are case-insensitive. */
export function values(headers: readonly Pair[], name: string): string[] {
  return headers.filter(([own]) => own.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/** API Gateway uses the last value where only one is possible. */
export function lastValue(headers: readonly Pair[], name: string): string | undefined {
  return values(headers, name).at(-1);
}

/** Decoded. A semicolon also separates parameters; invalid percent-encoding is not decoded. */
function parseQuery(query: string): Pair[] {
  return query
    .split(/[&;]/)
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', value = ''] = part.split(/=(.*)/s);
      return [decode(name), decode(value)];
    });
}

function decode(text: string): string {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

/** Up to 32 digits. UUIDs are the fastest source, because Node.js caches their random bytes. */
function randomHex(digits: number): string {
  return randomUUID().replaceAll('-', '').slice(0, digits);
}

/** The API and its stage. */
export interface Place {
  readonly apiId: string;
  readonly stage: string;
  readonly deploymentId: string;
}

export interface Route {
  readonly resourceId: string;
  readonly resourcePath: string;
  readonly pathParameters: Readonly<Record<string, string>>;
}

export interface Caller {
  /** The authorizer's context, with `principalId`. */
  readonly authorizer?: Readonly<Record<string, string | number | null>>;
  readonly apiKey?: { readonly id: string; readonly value: string };
}

/** `$context`, which is also a function's `requestContext`. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html */
export function requestContext(
  request: GatewayRequest,
  place: Place,
  route: Route | undefined,
  { authorizer, apiKey }: Caller,
): Readonly<Record<string, unknown>> {
  const domainName = lastValue(request.headers, 'host') ?? 'localhost';
  const [, day, month, year, clock] = new Date(request.time).toUTCString().split(' ');
  return {
    ...(route && { resourceId: route.resourceId, resourcePath: route.resourcePath }),
    ...(authorizer && { authorizer }),
    httpMethod: request.method,
    extendedRequestId: request.extendedRequestId,
    requestTime: `${day}/${month}/${year}:${clock} +0000`,
    path: request.fullPath,
    accountId,
    protocol: request.protocol,
    stage: place.stage,
    domainPrefix: domainName.split(/[.:]/, 1)[0],
    requestTimeEpoch: request.time,
    requestId: request.requestId,
    identity: {
      cognitoIdentityPoolId: null,
      accountId: null,
      cognitoIdentityId: null,
      caller: null,
      sourceIp: request.sourceIp,
      principalOrgId: null,
      accessKey: null,
      cognitoAuthenticationType: null,
      cognitoAuthenticationProvider: null,
      userArn: null,
      userAgent: lastValue(request.headers, 'user-agent') ?? null,
      user: null,
      ...(apiKey && { apiKey: apiKey.value, apiKeyId: apiKey.id }),
    },
    domainName,
    deploymentId: place.deploymentId,
    apiId: place.apiId,
  };
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format */
export function proxyEvent(
  { path, method, headers, query, body }: GatewayRequest,
  { resourcePath, pathParameters }: Route,
  context: Readonly<Record<string, unknown>>,
): Record<keyof APIGatewayProxyEvent, unknown> {
  return {
    resource: resourcePath,
    path,
    httpMethod: method,
    headers: Object.fromEntries(headers),
    multiValueHeaders: grouped(headers),
    queryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters: query.length === 0 ? null : grouped(query),
    pathParameters: Object.keys(pathParameters).length === 0 ? null : pathParameters,
    stageVariables: null,
    requestContext: context,
    body: body.length === 0 ? null : body.toString(),
    isBase64Encoded: false,
  };
}

function grouped(entries: readonly Pair[]): Record<string, string[]> {
  const groups = Map.groupBy(entries, ([name]) => name);
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.map(([, value]) => value)]));
}
