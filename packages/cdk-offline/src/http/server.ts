import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Gateway, largestBody } from '../gateway/gateway.ts';
import { toGatewayRequest } from '../gateway/request.ts';
import type { HttpResponse } from './response.ts';
import { jsonError } from '../management/answers.ts';
import { isLocalHost } from './local-host.ts';
import { answerMalformed } from './malformed.ts';
import type { Pages } from '../service/types.ts';
import type { RequestRecord } from './request-record.ts';
import {
  answerManagement,
  notSupported,
  type Services,
  signedService,
  unsignedCall,
} from '../management/services.ts';

/** Limit for the request line and headers, in bytes. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
const largestHead = 10_240;

/** Longer than the idle time-out of clients, so that the client closes the connection. */
const keepAliveMs = 75_000;

/** Further connections are closed at once, to limit memory. */
const maxConnections = 4_096;

/** Connections that wait to be accepted. Linux drops more, and the client retries after seconds. */
const backlog = maxConnections;

/** Requests in progress. More are rejected as throttled. */
const maxRequests = 4_096;

/** Requests started in one turn of the event loop. */
const requestsPerTurn = 4;

/** Bodies of requests in progress, in bytes. Limits the memory for many large requests. */
const maxBodyBytes = 256 * 1024 * 1024;

export interface HttpHandlers {
  /** Called for every request, because an update replaces the gateway. */
  readonly gateway: () => Gateway;
  readonly services: Services;
  /** Of the requests to `services`. */
  readonly sessionToken: string;
  readonly pages: Pages;
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
  /** Called with errors of cdk-offline itself. */
  readonly onError: (error: unknown) => void;
}

/** Serves the API under its stage, and signed requests to AWS services elsewhere. */
export class HttpServer {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly #server: Server;
  readonly #responder: PromiseWithResolvers<Responder>;

  private constructor(server: Server, responder: PromiseWithResolvers<Responder>) {
    const { port } = z.object({ port: z.number() }).parse(server.address());
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#server = server;
    this.#responder = responder;
  }

  /**
   * Requests wait until `serve` is called.
   *
   * @param port any free one when 0
   * @throws Error naming the port when it is in use
   */
  static async listen(port: number): Promise<HttpServer> {
    const responder = Promise.withResolvers<Responder>();
    const server = createServer(
      { maxHeaderSize: largestHead, keepAliveTimeout: keepAliveMs, noDelay: true },
      (request, response) => void responder.promise.then((ready) => ready.respond(request, response)),
    );
    answerMalformed(server);
    server.maxConnections = maxConnections;
    const listening = once(server, 'listening');
    server.listen({ port, host: '127.0.0.1', backlog });
    try {
      await listening;
    } catch (error) {
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      throw taken ? new Error(portInUse(port), { cause: error }) : error;
    }
    return new HttpServer(server, responder);
  }

  serve(handlers: HttpHandlers): void {
    this.#responder.resolve(new Responder(handlers));
  }

  /** Closes every connection. */
  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

export function portInUse(port: number): string {
  return `Port ${port} is in use. Stop the process that listens on it, or choose another one with --port.`;
}

class Responder {
  readonly #handlers: HttpHandlers;
  readonly #turns = new Turns();
  #inProgress = 0;
  #bodyBytes = 0;

  constructor(handlers: HttpHandlers) {
    this.#handlers = handlers;
  }

  async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const fits = this.#inProgress < maxRequests;
    this.#inProgress += 1;
    try {
      if (fits) await this.#turns.next();
      await this.#respond(request, response, startedAt, fits);
    } catch (error) {
      this.#handlers.onError(error);
      response.destroy();
    } finally {
      this.#inProgress -= 1;
    }
  }

  async #respond(
    request: IncomingMessage,
    response: ServerResponse,
    startedAt: number,
    fits: boolean,
  ): Promise<void> {
    const body = fits ? await this.#readBody(request) : 'shed';
    if (body === 'aborted') return;
    try {
      // The rest of the body still arrives, so the connection cannot be reused.
      if (!request.complete) response.shouldKeepAlive = false;
      write(response, await this.#answer(request, body, startedAt));
    } finally {
      if (body !== 'shed') this.#bodyBytes -= body.length;
    }
  }

  async #answer(request: IncomingMessage, body: Buffer | 'shed', startedAt: number): Promise<HttpResponse> {
    const { method = 'GET', url: target = '/', headers, rawHeaders, socket, httpVersion } = request;
    const { authority, url } = readTarget(target);
    const path = url.split('?', 1)[0] ?? '';
    const query = url.slice(path.length + 1);
    const time = Date.now();
    const reject = (status: number, name: string, message: string, functionError?: string): HttpResponse => {
      const durationMs = performance.now() - startedAt;
      const requestId = crypto.randomUUID();
      this.#handlers.onRequest?.({
        time,
        method,
        path,
        query,
        status,
        durationMs,
        requestId,
        errorType: name,
        functionError,
      });
      return jsonError(status, name, message);
    };
    if ([headers.host, authority].some((host) => host !== undefined && !isLocalHost(host))) {
      return reject(403, 'ForbiddenException', 'The Host must be 127.0.0.1, localhost or [::1]');
    }
    if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1) {
      return reject(400, 'BadRequestException', 'The request has more than one Host header');
    }
    const gateway = this.#handlers.gateway();
    const first = path.replace(/^\/+/, '').split('/', 1)[0];
    if (first === gateway.stage) {
      const { remoteAddress = '127.0.0.1', localPort = 0 } = socket;
      const incoming = {
        method,
        url,
        rawHeaders,
        body: body === 'shed' ? Buffer.alloc(0) : body,
        sourceIp: remoteAddress,
        port: localPort,
        httpVersion,
      };
      const gatewayRequest = toGatewayRequest(incoming, gateway.stage, time, startedAt);
      return body === 'shed' ? gateway.shed(gatewayRequest) : gateway.handle(gatewayRequest);
    }
    if (body === 'shed')
      return reject(503, 'ServiceUnavailableException', 'Too many requests are in progress');
    const service = signedService(headers.authorization);
    const page = service === undefined ? this.#handlers.pages.get(path) : undefined;
    if (page !== undefined && (method === 'GET' || method === 'HEAD')) return pageAnswer(page);
    const call = {
      method,
      path: path.replace(/(?<=.)\/+$/, ''),
      query: new URLSearchParams(query),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      body,
    };
    if (service === undefined) {
      const unsigned = unsignedCall(call);
      if (unsigned !== undefined) return notSupported(unsigned, call);
      const unknown = `no stage ${first}, only ${gateway.stage}`;
      return reject(403, 'ForbiddenException', 'Forbidden', unknown);
    }
    const { services, sessionToken } = this.#handlers;
    return answerManagement(services, sessionToken, service, call);
  }

  /** Reads little more than the gateway's limit. The bytes count as in progress unless the result is `shed`. */
  async #readBody(request: IncomingMessage): Promise<Buffer | 'aborted' | 'shed'> {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    if (length === undefined && encoding === undefined) return Buffer.alloc(0);
    const chunks: Buffer[] = [];
    let size = 0;
    let outcome: 'aborted' | 'shed' | undefined;
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        const bytes = Buffer.from(chunk);
        chunks.push(bytes);
        size += bytes.length;
        this.#bodyBytes += bytes.length;
        if (this.#bodyBytes > maxBodyBytes) outcome = 'shed';
        if (outcome !== undefined || size > largestBody) break;
      }
    } catch {
      outcome = 'aborted';
    }
    if (outcome === undefined) return Buffer.concat(chunks);
    this.#bodyBytes -= size;
    return outcome;
  }
}

/** A target in absolute form, as clients send to a proxy, has a host of its own (RFC 9112, section 3.2.2). */
function readTarget(target: string): { readonly authority: string | undefined; readonly url: string } {
  const [, authority, rest = target] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
  return { authority, url: authority === undefined || rest.startsWith('/') ? rest : `/${rest}` };
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

/** A page may contain keys: no other site can embed or frame it. */
const pageHeaders = [
  ['Cache-Control', 'no-store'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['X-Content-Type-Options', 'nosniff'],
  ['X-Frame-Options', 'DENY'],
] as const;

function pageAnswer({
  type,
  body,
}: {
  readonly type: string;
  readonly body: string | Uint8Array;
}): HttpResponse {
  const headers = [['Content-Type', type], ...pageHeaders] as const;
  return { status: 200, headers, body: Buffer.from(body) };
}

function write(response: ServerResponse, { status, headers, body }: HttpResponse): void {
  // Headers are sent as UTF-8, and Node.js writes one byte for each character.
  const raw = headers.flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
  const hasBody = status !== 204 && status !== 304;
  if (hasBody) raw.push('Content-Length', String(body.length));
  response.writeHead(status, raw);
  response.end(hasBody ? body : undefined);
}
