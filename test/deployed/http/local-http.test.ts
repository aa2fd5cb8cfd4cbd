import { once } from 'node:events';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, inject, it } from 'vitest';
import { isLocal } from './support.ts';

/** What the local service makes of HTTP that is not as clients send it, as API Gateway where that is known. */

const { url, key } = inject('service');
const { port } = new URL(url);
const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
const head = (...lines: string[]) =>
  ['GET /v1/pets?limit=1 HTTP/1.1', `Authorization: Bearer ${key}`, ...lines, '', ''].join('\r\n');

/** What the server sends on a new connection until it closes it. */
function sendBytes(bytes: string): Promise<string> {
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}
const statuses = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** The answer to a request that `fetch` does not send, or whose answer is not one of the interface. */
async function ask(path: string, more: OutgoingHttpHeaders = {}, method = 'GET', body?: Buffer | string) {
  const options = { host: '127.0.0.1', port, path, method, headers: { ...headers, ...more } };
  const sent = request(options).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, text: await text(response) };
}
const statusOf = async (path: string, more: OutgoingHttpHeaders = {}) => (await ask(path, more)).status;

describe.runIf(isLocal)('a page of a browser', () => {
  it.each(['127.0.0.1:1', 'localhost', 'LOCALHOST:3000', '[::1]:80'])(
    'of %s may send requests',
    async (Host) => {
      expect(await statusOf('/v1/pets', { Host })).toBe(200);
    },
  );

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1'])(
    'behind the name %s reaches nothing, so that DNS rebinding does not work',
    async (Host) => {
      const Authorization =
        'AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/apigateway/aws4_request, SignedHeaders=host, Signature=00';
      expect(await statusOf('/v1/pets', { Host })).toBe(403);
      expect(await statusOf('/log', { Host })).toBe(403);
      expect(await statusOf('/apikeys', { Host, Authorization })).toBe(403);
    },
  );

  it('of another site may read nothing', async () => {
    for (const path of ['/v1/pets', '/', '/log', '/apikeys'])
      for (const method of ['GET', 'OPTIONS', 'POST']) {
        const response = await fetch(new URL(path, url), {
          method,
          headers: { Origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' },
        });
        expect(response.headers.get('access-control-allow-origin')).toBeNull();
        expect(response.headers.get('access-control-allow-private-network')).toBeNull();
      }
  });

  it('may not call AWS services without the session token of the run', async () => {
    const Authorization =
      'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/apigateway/aws4_request, SignedHeaders=host, Signature=00';
    for (const token of ['', 'x'.repeat(32)]) {
      const response = await fetch(new URL('/apikeys', url), {
        headers: { Authorization, 'X-Amz-Security-Token': token },
      });
      expect([response.status, await response.text()]).toEqual([
        400,
        expect.stringContaining('session token'),
      ]);
    }
  });
});

describe.runIf(isLocal)('a request', () => {
  it.each([
    ['localhost', 'evil.example'],
    ['localhost', 'localhost'],
  ])('with the hosts %s and %s is 400', async (...hosts) => {
    const answer = await sendBytes(head(...hosts.map((host) => `Host: ${host}`), 'Connection: close'));
    expect(statuses(answer)).toEqual([400]);
  });

  it('may have a target in absolute form, of this machine only', async () => {
    const to = async (target: string) =>
      statuses(
        await sendBytes(head('Host: localhost', 'Connection: close').replace('/v1/pets?limit=1', target)),
      );
    expect(await to('http://localhost/v1/pets?limit=1')).toEqual([200]);
    expect(await to('HTTP://127.0.0.1:1/v1/pets')).toEqual([200]);
    expect(await to('http://evil.example/v1/pets')).toEqual([403]);
    expect(await to('http://localhost@evil.example/v1/pets')).toEqual([403]);
  });

  it.each([
    ['that is none', 'no request\r\n\r\n', 400],
    [
      'whose body is not in chunks',
      'POST /v1/pets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
      400,
    ],
    [
      'with two lengths',
      'POST /v1/pets HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ],
    [
      'with headers of more than 10,240 bytes',
      `GET /v1/pets HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(10_240)}\r\n\r\n`,
      431,
    ],
    ['to be a proxy', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ])('%s is answered, after those before it, and ends the connection', async (_, bytes, status) => {
    const before = head('Host: localhost');
    expect(statuses(await sendBytes(before + before + bytes))).toEqual([200, 200, status]);
  });

  it('that arrives byte by byte is served, and one that ends early disturbs nobody', async () => {
    const socket = connect(Number(port), '127.0.0.1');
    const answer = text(socket);
    for (const part of head('Host: localhost', 'Connection: close').match(/.{1,20}/gs) ?? []) {
      socket.write(part);
      await sleep(20);
    }
    expect(statuses(await answer)).toEqual([200]);
    const early = connect(Number(port), '127.0.0.1');
    early.write('POST /v1/pets HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"n', () =>
      early.destroy(),
    );
    expect((await fetch(`${url}/pets?limit=1`, { headers })).status).toBe(200);
  });

  it('of another stage is 403', async () => {
    expect((await fetch(new URL('/v2/pets', url), { headers })).status).toBe(403);
  });

  it('may have more slashes before and after the stage', async () => {
    expect(await statusOf('//v1///pets//')).toBe(200);
  });
});

describe.runIf(isLocal)('a body', () => {
  const post = (body: Buffer | string, more = {}) =>
    fetch(`${url}/pets`, { method: 'POST', body, headers: { ...headers, ...more } });

  it.each([
    ['gzip', gzipSync('{"name":"Rex","categoryId":1}')],
    ['GZIP', gzipSync('{"name":"Rex","categoryId":1}')],
    ['deflate', deflateSync('{"name":"Rex","categoryId":1}')],
    ['identity', '{"name":"Rex","categoryId":1}'],
  ])('in the coding %s is read', async (coding, body) => {
    expect((await post(body, { 'Content-Encoding': coding })).status).toBe(201);
  });

  it.each([
    ['br', brotliCompressSync('{}')],
    ['gzip, gzip', gzipSync(gzipSync('{}'))],
    ['gzip', '{}'],
    ['gzip', gzipSync('{}').subarray(0, 12)],
  ])('that API Gateway cannot decode is 415: %s', async (coding, body) => {
    expect((await post(body, { 'Content-Encoding': coding })).status).toBe(415);
  });

  it.each([
    ['of more than 10 MB', 'x'.repeat(10_485_761), {}, 'HTTP content length exceeded 10485760 bytes.'],
    ['that makes an event of more than 6 MB', 'x'.repeat(6_291_457), {}, 'Request Too Long'],
    [
      'of more than 10 MB in a coding',
      gzipSync('x'.repeat(10_485_761)),
      { 'Content-Encoding': 'gzip' },
      'HTTP content length exceeded 10485760 bytes.',
    ],
  ])(
    '%s is 413 in the words of API Gateway, and the next request is served',
    async (_, body, more, message) => {
      const answer = await ask('/v1/pets', more, 'POST', body);
      expect(answer).toEqual({ status: 413, text: JSON.stringify({ message }) });
      expect((await fetch(`${url}/pets?limit=1`, { headers })).status).toBe(200);
    },
  );
});
