import { randomUUID } from 'node:crypto';

/** A request as API Gateway sees it. */
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
  readonly query: readonly (readonly [name: string, value: string])[];
  /** As API Gateway passes them on: without those that it drops, with those that it adds. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly protocol: string;
  /** Milliseconds since the Unix epoch. */
  readonly time: number;
  /** On the monotonic clock, in milliseconds. */
  readonly startedAt: number;
}

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
    'transfer-encoding upgrade www-authenticate x-http-method-override'
  ).split(' '),
);

/** Set by API Gateway. */
const forwarded = new Set(['x-amzn-trace-id', 'x-forwarded-for', 'x-forwarded-port', 'x-forwarded-proto']);

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
  const mark = url.indexOf('?');
  const fullPath = (mark < 0 ? url : url.slice(0, mark)).replace(/^\/+/, '/');
  const rawQuery = mark < 0 ? '' : url.slice(mark + 1);
  const sent = pairs(rawHeaders);
  const requestId = randomUUID();
  return {
    requestId,
    extendedRequestId: `${Buffer.from(randomHex(22), 'hex').toString('base64url')}=`,
    // API Gateway lets a header override the method.
    method: (lastValue(sent, 'x-http-method-override') ?? method).toUpperCase(),
    fullPath,
    path: fullPath.slice(1 + stage.length).replace(/^\/*/, '/'),
    rawQuery,
    query: parseQuery(rawQuery),
    headers: [
      ...sent
        .filter(([name]) => !dropped.has(name.toLowerCase()) && !forwarded.has(name.toLowerCase()))
        .map(
          ([name, value]) =>
            [name.toLowerCase() === 'authorization' ? 'Authorization' : name, value] as const,
        ),
      ['X-Amzn-Trace-Id', lastValue(sent, 'x-amzn-trace-id') ?? traceId(now)],
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
  const field = (name: string): string | undefined =>
    new RegExp(`(?:^|;)\\s*${name}=([^;]+)`).exec(header)?.[1];
  return `Root=${field('Root') ?? ''};Parent=${randomHex(16)};Sampled=${field('Sampled') ?? '0'}`;
}

/** Every value of a header. Names are case-insensitive. */
export function values(headers: GatewayRequest['headers'], name: string): string[] {
  return headers.filter(([own]) => own.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
}

/** API Gateway uses the last value where only one is possible. */
export function lastValue(headers: GatewayRequest['headers'], name: string): string | undefined {
  return values(headers, name).at(-1);
}

/** Decoded. A semicolon also separates parameters; invalid percent-encoding is not decoded. */
export function parseQuery(query: string): [name: string, value: string][] {
  return query
    .split(/[&;]/)
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals < 0
        ? [decode(part), '']
        : [decode(part.slice(0, equals)), decode(part.slice(equals + 1))];
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

function pairs(rawHeaders: readonly string[]): [string, string][] {
  return rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? '']] : []));
}

function traceId(now: number): string {
  return `Root=1-${Math.floor(now / 1000).toString(16)}-${randomHex(24)}`;
}

/** Up to 32 digits. UUIDs are the fastest source, because Node.js caches their random bytes. */
function randomHex(digits: number): string {
  return randomUUID().replaceAll('-', '').slice(0, digits);
}
