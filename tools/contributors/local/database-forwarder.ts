import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as send } from 'node:http';
import { isLocalHost } from './http.ts';
import { freePort, isPortFree } from './ports.ts';

/**
 * Stands before Dynoxide and answers programs and no browsers: a page of any site can send requests to 127.0.0.1, and Dynoxide
 * permits each origin to read its answers.
 */

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Browsers connect to none of them. https://fetch.spec.whatwg.org/#port-blocking */
const blockedPorts = [
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10_080,
];

/** One of 2^38 addresses or, on macOS, where 127.0.0.1 is the only address, a port that browsers block. */
export async function hiddenAddress(): Promise<Address> {
  if (process.platform !== 'darwin') {
    const host = `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}`;
    return { host, port: await freePort() };
  }
  for (const port of blockedPorts) if (await isPortFree(port)) return { host: '127.0.0.1', port };
  throw new Error(
    `Dynoxide needs one of these ports: ${blockedPorts.join(', ')}. Stop what listens on them.`,
  );
}

/** Forwards what programs send to the port on 127.0.0.1. @throws Error when the port is in use */
export async function forwardPrograms(port: number, dynoxide: Address): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const refuse = (status: number, type: string, message: string): void => {
      response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.0', Connection: 'close' });
      response.end(JSON.stringify({ __type: type, message }));
    };
    if (isOfBrowser(request)) {
      const message = 'The local database answers no browser, and programs only at 127.0.0.1 or localhost.';
      refuse(403, 'AccessDeniedException', message);
      return;
    }
    const { method, url: path, rawHeaders: headers } = request;
    const forwarded = send({ ...dynoxide, agent, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
      answer.on('error', () => response.destroy());
      answer.pipe(response);
    });
    // An error of either side ends this exchange and nothing else.
    forwarded.on('error', ({ message }) => {
      if (response.headersSent) response.destroy();
      else refuse(503, 'ServiceUnavailable', `The local database does not answer: ${message}`);
    });
    for (const stream of [request, response]) stream.on('error', () => forwarded.destroy());
    // The client is gone. Otherwise its connection may be used for another request already.
    response.on('close', () => response.writableFinished || forwarded.destroy());
    request.pipe(forwarded);
  });
  // As Dynoxide: clients close connections.
  server.keepAliveTimeout = 0;
  server.listen({ port, host: '127.0.0.1' });
  await once(server, 'listening');
}

/** Browsers send one of these headers to an address of this machine, and a Host of their own after DNS rebinding. */
function isOfBrowser({ headers }: IncomingMessage): boolean {
  const ofBrowsers = headers.origin ?? headers['sec-fetch-site'] ?? headers['access-control-request-method'];
  return ofBrowsers !== undefined || !isLocalHost(headers.host);
}
