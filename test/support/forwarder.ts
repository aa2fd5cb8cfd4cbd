import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Forwarder {
  readonly endpoint: string;
  close(): void;
}

export interface Interception {
  /** Changes the body of a request. */
  readonly rewrite?: (body: string) => string;
  /** Answers a request instead of the service. Returns whether it did. */
  readonly answer?: (incoming: IncomingMessage, outgoing: ServerResponse) => boolean | Promise<boolean>;
  /** Whether the connection breaks when the service has executed a request, so that its answer is lost. */
  readonly losesAnswer?: (incoming: IncomingMessage) => boolean;
  /** A page that a proxy sends in place of the answer when the service has executed a request. */
  readonly replacesAnswer?: (incoming: IncomingMessage) => string | undefined;
}

/** A server on this machine that passes requests on to another one. */
export async function forwardTo(
  target: string,
  {
    rewrite = (body) => body,
    answer = () => false,
    losesAnswer = () => false,
    replacesAnswer = () => undefined,
  }: Interception,
): Promise<Forwarder> {
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const received = await buffer(incoming);
    if (await answer(incoming, outgoing)) return;
    const loses = losesAnswer(incoming);
    const page = replacesAnswer(incoming);
    const body = Buffer.from(rewrite(received.toString()));
    const { method, headers, url = '/' } = incoming;
    const forwarded = request(new URL(url, target), {
      method,
      headers: { ...headers, 'content-length': body.length },
    });
    forwarded.on('response', (response) => {
      if (loses) {
        response.resume().on('end', () => outgoing.destroy());
        return;
      }
      if (page !== undefined) {
        response.resume().on('end', () => outgoing.writeHead(200, { 'content-type': 'text/html' }).end(page));
        return;
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.end(body);
  };
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
