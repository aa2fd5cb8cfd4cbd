import { randomBytes, randomUUID } from 'node:crypto';
import type { APIGatewayProxyEvent } from 'aws-lambda';
import type { ApiKey } from './api-keys.ts';
import { accountId } from './template.ts';

/** A request as API Gateway sees it, and the event of a function that it makes of it. */

type Pair = readonly [name: string, value: string];

export interface IncomingRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly url: string;
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** When it arrived, in milliseconds since the Unix epoch. */
  readonly time: number;
}

export interface GatewayRequest extends Pick<IncomingRequest, 'method' | 'body' | 'time'> {
  readonly requestId: string;
  /** As sent, with the stage, without the query, with one leading slash. */
  readonly fullPath: string;
  /** As sent, without the stage and the query, with one leading slash. */
  readonly path: string;
  /** As sent, without the question mark. */
  readonly rawQuery: string;
  readonly query: readonly Pair[];
  /** As API Gateway passes them on: without those that it drops, with those that it adds. */
  readonly headers: readonly Pair[];
  /** https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader */
  readonly traceId: string;
}

/** Not passed to functions. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html */
const dropped = new Set(
  (
    'connection content-length content-md5 expect keep-alive max-forwards proxy-authenticate server te trailer ' +
    'transfer-encoding upgrade www-authenticate x-amzn-trace-id x-forwarded-for x-forwarded-port x-forwarded-proto'
  ).split(' '),
);

export function toGatewayRequest(
  { method, url, rawHeaders, body, time }: IncomingRequest,
  stage: string,
): GatewayRequest {
  const [beforeQuery = '', rawQuery = ''] = url.split(/\?(.*)/s);
  const fullPath = beforeQuery.replace(/^\/+/, '/');
  const sent = rawHeaders.flatMap((name, index): Pair[] =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : [],
  );
  const traceId = traceOf(lastValue(sent, 'x-amzn-trace-id') ?? '', time);
  return {
    requestId: randomUUID(),
    method,
    fullPath,
    path: fullPath.slice(1 + stage.length).replace(/^\/*/, '/'),
    rawQuery,
    query: parseQuery(rawQuery),
    headers: [
      ...sent
        .filter(([name]) => !dropped.has(name.toLowerCase()))
        .map(([name, value]) => [/^authorization$/i.test(name) ? 'Authorization' : name, value] as const),
      ['X-Amzn-Trace-Id', traceId],
      ['X-Forwarded-For', [...values(sent, 'x-forwarded-for'), '127.0.0.1'].join(', ')],
      ['X-Forwarded-Proto', 'http'],
    ],
    body,
    traceId,
    time,
  };
}

/** The trace that the client has sent, with what it lacks. */
function traceOf(sent: string, time: number): string {
  const field = (name: string) => new RegExp(`(?:^|;)\\s*${name}=([^;]+)`).exec(sent)?.[1];
  const newRoot = () => `1-${Math.floor(time / 1000).toString(16)}-${randomBytes(12).toString('hex')}`;
  const parent = field('Parent') ?? randomBytes(8).toString('hex');
  return `Root=${field('Root') ?? newRoot()};Parent=${parent};Sampled=${field('Sampled') ?? '0'}`;
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

/** The API and its stage. */
export interface Place {
  readonly apiId: string;
  readonly stage: string;
}

/** What is known of a request by the time it is answered. */
export interface Known {
  readonly request: GatewayRequest;
  readonly route?: {
    /** The path of the resource, such as `/pets/{petId}`. */
    readonly resource: string;
    readonly pathParameters: Readonly<Record<string, string>> | null;
    readonly functionArn: string;
  };
  /** The authorizer's context, with `principalId`. */
  readonly authorizer?: Readonly<Record<string, string | null>> | undefined;
  readonly apiKey?: ApiKey;
}

/** `$context`, which is also a function's `requestContext`. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html */
export function requestContext(
  { request, route, authorizer, apiKey }: Known,
  { apiId, stage }: Place,
): Readonly<Record<string, unknown>> {
  return {
    ...(route && { resourcePath: route.resource }),
    ...(authorizer && { authorizer }),
    httpMethod: request.method,
    path: request.fullPath,
    accountId,
    protocol: 'HTTP/1.1',
    stage,
    requestTimeEpoch: request.time,
    requestId: request.requestId,
    identity: {
      sourceIp: '127.0.0.1',
      userAgent: lastValue(request.headers, 'user-agent') ?? null,
      ...(apiKey && { apiKey: apiKey.value, apiKeyId: apiKey.id }),
    },
    domainName: lastValue(request.headers, 'host') ?? 'localhost',
    apiId,
  };
}

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html#api-gateway-simple-proxy-for-lambda-input-format */
export function proxyEvent(
  { request: { path, method, headers, query, body }, route }: Known,
  context: Readonly<Record<string, unknown>>,
): Record<keyof APIGatewayProxyEvent, unknown> {
  return {
    resource: route?.resource,
    path,
    httpMethod: method,
    headers: Object.fromEntries(headers),
    multiValueHeaders: grouped(headers),
    queryStringParameters: query.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters: query.length === 0 ? null : grouped(query),
    pathParameters: route?.pathParameters,
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
