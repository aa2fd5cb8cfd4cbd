import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonError, type ManagementRequest } from './aws-services.ts';
import type { Gateway, RequestRecord } from './gateway.ts';
import { largestBody } from './gateway-response.ts';
import { type HttpResponse, isLocalHost } from './http.ts';
import { answerMalformed } from './malformed-http.ts';

/** Static content by its path. */
export type Pages = ReadonlyMap<string, { readonly type: string; readonly body: string | Uint8Array }>;

/** Limit for the request line and headers together, in bytes. API Gateway has this limit for each of them. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
const largestHead = 10_240;

/** Longer than the idle time-out of clients, so that the client closes the connection. */
const keepAliveMs = 75_000;

/** Further connections are closed at once, to limit memory. */
const maxConnections = 4_096;

/** Requests in progress, of which one connection can send many at once. More are rejected. */
const maxRequests = 4_096;

/** Requests started in one turn of the event loop. */
const requestsPerTurn = 4;

/** Bodies of requests in progress, in bytes. Limits the memory for many large requests. */
const maxBodyBytes = 256 * 1024 * 1024;

export interface HttpHandlers {
  /** Called for every request, because an update replaces the gateway. */
  readonly gateway: () => Gateway;
  /** @param service that the request is signed for */
  readonly callService: (service: string, call: ManagementRequest) => Promise<HttpResponse>;
  readonly pages: Pages;
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Called with errors of the local service itself. */
  readonly onError: (error: unknown) => void;
}

/** Serves the API under its stage, and signed requests to AWS services elsewhere, on 127.0.0.1. */
export class HttpServer {
  readonly #server: Server;
  readonly #handlers = Promise.withResolvers<HttpHandlers>();
  readonly #turns = new Turns();
  #inProgress = 0;
  #bodyBytes = 0;

  private constructor() {
    this.#server = createServer(
      { maxHeaderSize: largestHead, keepAliveTimeout: keepAliveMs },
      (request, response) => void this.#respond(request, response),
    );
    answerMalformed(this.#server);
    this.#server.maxConnections = maxConnections;
  }

  /**
   * Requests wait until `serve` is called.
   *
   * @param port any free one when 0
   */
  static async listen(port: number): Promise<HttpServer> {
    const http = new HttpServer();
    // Linux drops connections that do not fit, and the client retries after seconds.
    http.#server.listen({ port, host: '127.0.0.1', backlog: maxConnections });
    await once(http.#server, 'listening');
    return http;
  }

  /** `http://127.0.0.1:PORT` */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  serve(handlers: HttpHandlers): void {
    this.#handlers.resolve(handlers);
  }

  /** Closes every connection. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const time = Date.now();
    const handlers = await this.#handlers.promise;
    const fits = this.#inProgress < maxRequests;
    this.#inProgress += 1;
    let held = 0;
    const hold = (bytes: number): boolean => {
      held += bytes;
      this.#bodyBytes += bytes;
      return this.#bodyBytes <= maxBodyBytes;
    };
    try {
      if (fits) await this.#turns.next();
      const body = fits ? await readBody(request, hold) : undefined;
      // The rest of the body still arrives, so the connection cannot be reused.
      if (!request.complete) response.shouldKeepAlive = false;
      const { status, headers, body: answer } = await answerTo(request, body, time, handlers);
      response.writeHead(status, [...headers.flat(), 'Content-Length', String(answer.length)]).end(answer);
    } catch (error) {
      // Unless the client has gone away.
      if (request.errored === null) handlers.onError(error);
      response.destroy();
    } finally {
      this.#inProgress -= 1;
      this.#bodyBytes -= held;
    }
  }
}

export function portInUse(port: number): string {
  return `Port ${port} is in use. Stop the process that listens on it, or choose another one with --port.`;
}

/**
 * Spreads requests over turns of the event loop. A turn accepts one connection, however many requests it serves, and
 * hands over the results of functions: both would wait for seconds behind a thousand requests.
 */
class Turns {
  readonly #waiting: (() => void)[] = [];

  next(): Promise<void> {
    if (this.#waiting.length === 0) setImmediate(() => this.#begin());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #begin(): void {
    for (const start of this.#waiting.splice(0, requestsPerTurn)) start();
    if (this.#waiting.length > 0) setImmediate(() => this.#begin());
  }
}

/**
 * Reads little more than the gateway's limit.
 *
 * @param hold whether the service holds so many bytes more
 */
async function readBody(
  request: IncomingMessage,
  hold: (bytes: number) => boolean,
): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (!hold(bytes.length)) return undefined;
    if (size > largestBody) break;
  }
  return Buffer.concat(chunks);
}

/** @param body undefined: the service does not hold more, and reads no further */
async function answerTo(
  request: IncomingMessage,
  body: Buffer | undefined,
  time: number,
  { gateway, callService, pages, onRequest }: HttpHandlers,
): Promise<HttpResponse> {
  const { method = 'GET', url: target = '/', headers, headersDistinct, rawHeaders } = request;
  // A target in absolute form, as clients send to a proxy, has a host of its own (RFC 9112, section 3.2.2).
  const [, authority, url = '/'] = /^(?:https?:\/\/([^/?#]*))?(.*)$/is.exec(target) ?? [];
  const [path = '', query = ''] = url.split(/\?(.*)/s);
  const reject = (status: number, name: string, message: string, functionError?: string): HttpResponse => {
    const record = { time, method, path, query, status, requestId: crypto.randomUUID() };
    onRequest?.({ ...record, durationMs: Date.now() - time, errorType: name, functionError });
    return jsonError(status, name, message);
  };
  if ([headers.host, authority].some((host) => host !== undefined && !isLocalHost(host)))
    return reject(403, 'ForbiddenException', 'The Host must be 127.0.0.1, localhost or [::1]');
  if ((headersDistinct['host'] ?? []).length > 1)
    return reject(400, 'BadRequestException', 'The request has more than one Host header');

  const { stage } = gateway().place;
  const [first] = path.replace(/^\/+/, '').split('/', 1);
  if (first === stage) {
    const sent = { method, url, rawHeaders, body: body ?? Buffer.alloc(0), time };
    return body === undefined ? gateway().shed(sent) : gateway().handle(sent);
  }
  if (body === undefined)
    return reject(503, 'ServiceUnavailableException', 'Too many requests are in progress');
  const service = signedService(headers.authorization);
  const page = pages.get(path);
  if (service !== undefined)
    return callService(service, {
      method,
      path,
      query: new URLSearchParams(query),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body,
    });
  if (page !== undefined && (method === 'GET' || method === 'HEAD')) return pageAnswer(page);
  return reject(403, 'ForbiddenException', 'Forbidden', `no stage ${first}, only ${stage}`);
}

/**
 * The service that a request is signed for. The signature is not verified: the session token is the secret.
 *
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
function signedService(authorization = ''): string | undefined {
  return /^AWS4-HMAC-SHA256 .*?Credential=[^/\s]+\/\d{8}\/[^/\s]+\/([^/\s]+)\/aws4_request/.exec(
    authorization,
  )?.[1];
}

/** A page may contain keys: no other site can embed or frame it. */
function pageAnswer({
  type,
  body,
}: {
  readonly type: string;
  readonly body: string | Uint8Array;
}): HttpResponse {
  const headers = [
    ['Content-Type', type],
    ['Cache-Control', 'no-store'],
    ['Cross-Origin-Resource-Policy', 'same-origin'],
    ['X-Content-Type-Options', 'nosniff'],
    ['X-Frame-Options', 'DENY'],
  ] as const;
  return { status: 200, headers, body: Buffer.from(body) };
}
