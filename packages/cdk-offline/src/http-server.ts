import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Gateway, largestBody } from './gateway/gateway.ts';
import type { HttpAnswer } from './gateway/proxy-answer.ts';
import { toGatewayRequest } from './gateway/request.ts';
import { jsonError } from './management/answer.ts';
import { answerManagement, type Services, signedService } from './management/management.ts';

export interface HttpServer {
  readonly port: number;
  /** Cuts every connection. */
  stop(): Promise<void>;
}

/** Request line and headers, in bytes. https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-execution-service-limits-table.html */
const largestHead = 10_240;

/** Longer than clients keep an idle connection, so that it is they who close it. */
const keepAliveMs = 75_000;

export interface HttpHandlers {
  readonly stage: string;
  readonly gateway: Gateway;
  readonly services: Services;
  /** Told of faults of this program. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Serves the API under its stage, and what is signed for a service of AWS beside it.
 *
 * @throws Error naming the port when it is taken
 */
export async function startHttpServer(port: number, handlers: HttpHandlers): Promise<HttpServer> {
  const server = createServer(
    { maxHeaderSize: largestHead, keepAliveTimeout: keepAliveMs, noDelay: true },
    (request, response) => {
      respond(request, response, handlers).catch((error: unknown) => {
        handlers.onFault(error);
        response.destroy();
      });
    },
  );
  const listening = once(server, 'listening');
  server.listen(port, '127.0.0.1');
  try {
    await listening;
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    throw taken
      ? new Error(`Port ${port} is taken: choose another one with --port.`, { cause: error })
      : error;
  }
  return {
    port: z.object({ port: z.number() }).parse(server.address()).port,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  handlers: HttpHandlers,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return;
  // What did not fit is still under way: nothing else can follow on this connection.
  if (body.length > largestBody) response.shouldKeepAlive = false;
  write(response, await answer(request, body, handlers));
}

async function answer(
  request: IncomingMessage,
  body: Buffer,
  { stage, gateway, services }: HttpHandlers,
): Promise<HttpAnswer> {
  const { method = 'GET', url = '/', headers, rawHeaders, socket, httpVersion } = request;
  const path = url.split('?', 1)[0] ?? '';
  if (path === `/${stage}` || path.startsWith(`/${stage}/`)) {
    const { remoteAddress = '127.0.0.1', localPort = 0 } = socket;
    const incoming = { method, url, rawHeaders, body, sourceIp: remoteAddress, port: localPort, httpVersion };
    return gateway.handle(toGatewayRequest(incoming, stage, Date.now()));
  }
  const service = signedService(headers.authorization);
  // There is no such stage.
  if (service === undefined) return jsonError(403, 'ForbiddenException', 'Forbidden');
  return answerManagement(services, service, {
    method,
    path: path.replace(/(?<=.)\/+$/, ''),
    query: new URLSearchParams(url.slice(path.length)),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body,
  });
}

/** At most a little more than what the gateway takes. `undefined` when the client went away. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
      if (size > largestBody) break;
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

function write(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  // A header's text goes out as UTF-8; Node.js writes one byte for each character.
  const raw = headers.flatMap(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
  const hasBody = status !== 204 && status !== 304;
  if (hasBody) raw.push('Content-Length', String(body.length));
  response.writeHead(status, raw);
  response.end(hasBody ? body : undefined);
}
