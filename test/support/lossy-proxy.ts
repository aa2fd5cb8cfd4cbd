import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LossyProxy {
  /** The base address, with the path of the service's. */
  readonly url: string;
  /** Answers that were dropped so far. */
  readonly lost: () => number;
  stop(): void;
}

export interface LossyProxyOptions {
  /** One of so many answers to POST is lost: the service has handled the request, the client's connection is cut. */
  readonly loseOneIn: number;
  readonly removeIdempotencyKeys?: boolean;
}

/** A proxy on loopback in front of the service at `target`. */
export async function startLossyProxy(
  target: string,
  { loseOneIn, removeIdempotencyKeys = false }: LossyProxyOptions,
): Promise<LossyProxy> {
  // oxlint-disable-next-line eslint/no-restricted-properties -- of an HTTP URL
  const { origin, pathname } = new URL(target);
  let posts = 0;
  let lost = 0;
  const forwarded = ['authorization', 'content-type', ...(removeIdempotencyKeys ? [] : ['idempotency-key'])];

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const headers = forwarded.flatMap((name): [string, string][] => {
      const value = request.headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    });
    const answer = await fetch(origin + url, {
      method,
      headers,
      ...(method === 'POST' && { body: Buffer.concat(chunks) }),
    });
    const body = await answer.text();
    if (method === 'POST') {
      posts += 1;
      if (posts % loseOneIn === 0) {
        lost += 1;
        response.destroy();
        return;
      }
    }
    const passed = [
      'content-type',
      'location',
      'link',
      'retry-after',
      'idempotency-replayed',
      'x-request-id',
    ];
    for (const name of passed) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.writeHead(answer.status).end(body);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${pathname}`,
    lost: () => lost,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
