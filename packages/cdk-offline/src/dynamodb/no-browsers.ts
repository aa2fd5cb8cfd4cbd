import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as send, type Server } from 'node:http';
import { pipeline } from 'node:stream';
import { isLocalHost } from '../http/local-host.ts';
import { freePort, isPortFree } from '../system/ports.ts';

/**
 * A page of any site can send requests to 127.0.0.1, and Dynoxide permits each origin to read its answers. So Dynoxide listens
 * where no page finds it, behind a server that answers no browser.
 */

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Browsers connect to none of them. https://fetch.spec.whatwg.org/#port-blocking */
const blockedPorts = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];

/** One of 2^38 addresses or, on macOS, where 127.0.0.1 is the only address, a port that browsers block. */
export async function hiddenAddress(platform: string = process.platform): Promise<Address> {
  if (platform !== 'darwin') {
    const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
    return { host, port: await freePort() };
  }
  const ports = blockedPorts.map((port) => ({ port, order: randomInt(1_000_000) }));
  for (const { port } of ports.toSorted((one, other) => one.order - other.order)) {
    if (await isPortFree(port)) return { host: '127.0.0.1', port };
  }
  throw new Error(
    `Dynoxide needs one of these ports: ${blockedPorts.join(', ')}. Stop what listens on them.`,
  );
}

/** Forwards what programs send to a port of 127.0.0.1. @throws Error when the port is in use */
export async function forwardPrograms(port: number, { host, port: hiddenPort }: Address): Promise<Server> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    if (isOfBrowser(request)) {
      const message =
        'The local database answers no browser, and programs only at 127.0.0.1 or localhost. See "Databases" in the README of cdk-offline.';
      response.writeHead(403, { 'Content-Type': 'application/x-amz-json-1.0', Connection: 'close' });
      response.end(JSON.stringify({ __type: 'AccessDeniedException', message }));
      return;
    }
    const { method, url: path, rawHeaders: headers } = request;
    const forwarded = send({ agent, host, port: hiddenPort, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
      pipeline(answer, response, () => {});
    });
    pipeline(request, forwarded, (error) => error && response.destroy());
  });
  // As Dynoxide: clients close connections.
  server.keepAliveTimeout = 0;
  server.listen({ port, host: '127.0.0.1' });
  await once(server, 'listening');
  return server;
}

/** Browsers send one of these headers to an address of this machine, and a Host of their own after DNS rebinding. */
function isOfBrowser({ headers }: IncomingMessage): boolean {
  const ofBrowsers = headers.origin ?? headers['sec-fetch-site'] ?? headers['access-control-request-method'];
  return ofBrowsers !== undefined || !isLocalHost(headers.host);
}
