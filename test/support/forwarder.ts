import { once } from 'node:events';
import { type Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
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
}

/** Sends a request on to another server. @returns its answer, whose body is still to be read */
export function sendOn(
  target: string,
  { method, headers, url = '/' }: IncomingMessage,
  body: Buffer,
  agent?: Agent,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(new URL(url, target), {
    method,
    headers: { ...headers, 'content-length': body.length },
    ...(agent && { agent }),
  });
  sent.on('response', resolve).on('error', reject).end(body);
  return promise;
}

export function passBack(answer: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
  answer.pipe(outgoing);
}

/** Ends the connection in place of an answer that was given. */
export function loseAnswer(answer: IncomingMessage, outgoing: ServerResponse): void {
  answer.resume().on('end', () => outgoing.destroy());
}

/** A server on this machine that passes requests on to another one. */
export async function forwardTo(
  target: string,
  { rewrite = (body) => body, answer = () => false }: Interception,
): Promise<Forwarder> {
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const received = await buffer(incoming);
    if (await answer(incoming, outgoing)) return;
    const body = Buffer.from(rewrite(received.toString()));
    passBack(await sendOn(target, incoming, body), outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, close: () => void server.close() };
}
