import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Those of Node.js. */
const statusLines = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);

/**
 * Answers what Node.js cannot read as a request, and CONNECT, which only a proxy serves, after the requests before it on
 * the connection. Node.js alone closes the connection at once, and the client does not learn that those were served.
 */
export function answerMalformed(server: Server): void {
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>();
  server.on('request', ({ socket }, response) => {
    const responses = unanswered.get(socket) ?? new Set();
    unanswered.set(socket, responses.add(response));
    response.on('close', () => responses.delete(response));
  });
  const refuse = (socket: Duplex, status: string): void => {
    const responses = unanswered.get(socket) ?? new Set();
    const end = (): void => {
      if ([...responses].some(({ req }) => req.complete)) return;
      if (!socket.writable) return void socket.destroy();
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () =>
        socket.destroy(),
      );
    };
    // It may be the body of the last request, which then gets no other answer.
    for (const response of responses) if (response.req.complete) response.on('close', end);
    end();
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
    refuse(socket, statusLines.get(error.code ?? '') ?? '400 Bad Request'),
  );
  server.on('connect', (_, socket) => {
    // Node.js no longer listens to its errors.
    socket.on('error', () => socket.destroy());
    refuse(socket, '405 Method Not Allowed');
  });
}
