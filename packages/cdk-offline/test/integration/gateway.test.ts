import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { echoOf, serveWholeStack } from './whole-stack.ts';

/** Requests to a served stack up to the function, and the errors of API Gateway itself. */

let served: Awaited<ReturnType<typeof serveWholeStack>>;
beforeAll(async () => {
  served = await serveWholeStack('Gateway');
});
afterAll(() => served.service.stop());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(served.service.url + path, { headers });

describe('the proxy event', () => {
  it('is complete, as API Gateway sends it', async () => {
    const { host } = new URL(served.service.url);
    const { event } = await echoOf(
      raw(
        'POST',
        '/v7/echo/?a=1&a=2&b=x%20y',
        {
          'X-CusTom': 'kept',
          'X-Twice': ['one', 'two'],
          'User-Agent': 'tester',
          'Content-Type': 'text/plain',
        },
        'Grüße',
      ),
    );
    const headers = {
      'Content-Type': 'text/plain',
      Host: host,
      'User-Agent': 'tester',
      'X-Amzn-Trace-Id': expect.stringMatching(/^Root=1-/),
      'X-CusTom': 'kept',
      'X-Forwarded-For': '127.0.0.1',
      'X-Forwarded-Port': new URL(served.service.url).port,
      'X-Forwarded-Proto': 'http',
    };
    expect(event).toEqual({
      resource: '/echo',
      path: '/echo/',
      httpMethod: 'POST',
      headers: { ...headers, 'X-Twice': 'two' },
      multiValueHeaders: {
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
        'X-Twice': ['one', 'two'],
      },
      queryStringParameters: { a: '2', b: 'x y' },
      multiValueQueryStringParameters: { a: ['1', '2'], b: ['x y'] },
      pathParameters: null,
      stageVariables: { colour: 'red' },
      requestContext: {
        resourceId: expect.stringMatching(/^[0-9a-z]{10}$/),
        resourcePath: '/echo',
        httpMethod: 'POST',
        extendedRequestId: expect.stringMatching(/^[\w-]{15}=$/),
        requestTime: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        requestTimeEpoch: expect.any(Number),
        path: '/v7/echo/',
        accountId: '123456789012',
        protocol: 'HTTP/1.1',
        stage: 'v7',
        domainName: host,
        domainPrefix: '127',
        deploymentId: expect.stringMatching(/^[0-9a-z]{10}$/),
        requestId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        identity: {
          cognitoIdentityPoolId: null,
          accountId: null,
          cognitoIdentityId: null,
          caller: null,
          sourceIp: '127.0.0.1',
          principalOrgId: null,
          accessKey: null,
          cognitoAuthenticationType: null,
          cognitoAuthenticationProvider: null,
          userArn: null,
          userAgent: 'tester',
          user: null,
        },
        apiId: served.service.outputs['ApiId'],
      },
      body: 'Grüße',
      isBase64Encoded: false,
    });
  });

  it.each([
    ['', '/', null],
    ['/echo/a%2Fb', '/echo/{id}', { id: 'a%2Fb' }],
  ])('%j has the parameters of %s', async (path, resource, pathParameters) => {
    expect((await echoOf(get(path))).event).toMatchObject({ resource, pathParameters, body: null });
  });

  it('slashes after the stage collapse in path, and those before it in requestContext.path (recorded on AWS by LocalStack)', async () => {
    const { event } = await echoOf(raw('GET', '//v7///echo//', {}, ''));
    expect(event).toMatchObject({ path: '/echo//', resource: '/echo' });
    expect(event['requestContext']).toMatchObject({ path: '/v7///echo//' });
  });

  it('Authorization arrives in this spelling for every spelling sent (recorded on AWS by LocalStack)', async () => {
    const { event } = await echoOf(raw('GET', '/v7/echo', { authorization: 'Basic a', 'x-other': 'b' }, ''));
    expect(event).toMatchObject({
      headers: { Authorization: 'Basic a', 'x-other': 'b' },
      multiValueHeaders: { Authorization: ['Basic a'] },
    });
    expect(event['headers']).not.toHaveProperty('authorization');
  });

  it('a method missing on a resource falls through to its sibling {proxy+} (recorded on AWS by LocalStack)', async () => {
    const response = raw('PUT', '/v7/files/known', {}, '');
    expect((await echoOf(response)).event).toMatchObject({
      resource: '/files/{path+}',
      pathParameters: { path: 'known' },
    });
  });

  it('a specific method takes precedence over ANY, and a resource without the method is skipped', async () => {
    expect((await echoOf(get('/do'))).event).toMatchObject({ resource: '/do', httpMethod: 'GET' });
    expect((await fetch(`${served.service.url}/echo/7`, { method: 'DELETE' })).status).toBe(403);
  });

  it('a binary body is base64 in the event and in the result', async () => {
    const bytes = Buffer.from([0, 255, 128]);
    const body = { answer: { statusCode: 200, isBase64Encoded: true, body: bytes.toString('base64') } };
    const headers = { 'Content-Type': 'application/octet-stream', Accept: 'application/octet-stream' };
    const { event } = await echoOf(
      fetch(`${served.service.url}/echo`, { method: 'POST', body: bytes, headers }),
    );
    expect(event).toMatchObject({ isBase64Encoded: true, body: 'AP+A' });
    const answered = await fetch(`${served.service.url}/do`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { Accept: headers.Accept },
    });
    expect(Buffer.from(await answered.arrayBuffer())).toEqual(bytes);
  });
});

describe('the Host header', () => {
  it.each(['127.0.0.1:1', 'localhost', 'LOCALHOST:3000', '[::1]:80'])('%s is accepted', async (host) => {
    expect((await raw('GET', '/v7/echo', { host }, '')).status).toBe(200);
  });

  it.each(['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', '10.0.0.1'])(
    '%j is rejected by every endpoint, so that DNS rebinding does not work',
    async (host) => {
      const authorization =
        'AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/apigateway/aws4_request, SignedHeaders=host, Signature=00';
      for (const path of ['/v7/echo', '/apikeys']) {
        const response = await raw('GET', path, { host, authorization }, '');
        expect([path, response.status]).toEqual([path, 403]);
      }
    },
  );
});

describe('a second Host header', () => {
  it.each([
    ['localhost', 'evil.example'],
    ['localhost', 'localhost'],
  ])('is refused: %s and %s', async (...hosts) => {
    const head = ['GET /v7/echo HTTP/1.1', ...hosts.map((host) => `Host: ${host}`), 'Connection: close'];
    expect(await sendBytes(`${head.join('\r\n')}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('an absolute-form request target', () => {
  const statusOf = async (target: string) =>
    /^HTTP\/1\.1 (\d+)/.exec(
      await sendBytes(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    )?.[1];

  it('is served as its path and query', async () => {
    const answer = await sendBytes(
      `GET http://localhost/v7/echo?a=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('"path":"/echo"');
    expect(answer).toContain('"queryStringParameters":{"a":"1"}');
    expect(await statusOf('HTTP://127.0.0.1:1/v7/echo')).toBe('200');
    expect(await statusOf('http://localhost?/v7/echo')).toBe('403');
  });

  it('of another host is refused, so that DNS rebinding does not work', async () => {
    expect(await statusOf('http://evil.example/v7/echo')).toBe('403');
    expect(await statusOf('http://localhost@evil.example/v7/echo')).toBe('403');
  });
});

describe('what is no request', () => {
  const post = (body: object) => {
    const content = JSON.stringify(body);
    return `POST /v7/do HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${content.length}\r\n\r\n${content}`;
  };
  const statuses = (answers: string) =>
    [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

  it('gets 400 after the answers to the requests before it on the connection', async () => {
    const answers = await sendBytes(`${post({ sleepMs: 50 })}${post({})}no request\r\n\r\n`);
    expect(statuses(answers)).toEqual(['200', '200', '400']);
  });

  it.each([
    [
      'a body that is not in chunks',
      'POST /v7/do HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n',
      '400',
    ],
    [
      'two lengths',
      'POST /v7/do HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      '400',
    ],
    [
      'headers of more than 10,240 bytes',
      `GET /v7/echo HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(10_240)}\r\n\r\n`,
      '431',
    ],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n', '405'],
  ])('gets an answer and the end of the connection: %s', async (_, bytes, status) => {
    expect(statuses(await sendBytes(`${post({})}${bytes}`))).toEqual(['200', status]);
  });
});

describe('a compressed body', () => {
  const send = (coding: string, body: Buffer | string) =>
    fetch(`${served.service.url}/echo`, {
      method: 'POST',
      body,
      headers: { 'Content-Encoding': coding, 'Content-Type': 'application/json' },
    });

  it.each([
    ['gzip', gzipSync('{"a":1}')],
    ['GZIP', gzipSync('{"a":1}')],
    ['deflate', deflateSync('{"a":1}')],
    ['identity', '{"a":1}'],
  ])('reaches the function without its coding, and with its header: %s', async (coding, body) => {
    const { event } = await echoOf(send(coding, body));
    expect(event).toMatchObject({
      body: '{"a":1}',
      isBase64Encoded: false,
      headers: { 'Content-Encoding': coding },
    });
  });

  it.each([
    ['br', brotliCompressSync('{}')],
    ['gzip, gzip', gzipSync(gzipSync('{}'))],
    ['gzip', '{}'],
    ['gzip', gzipSync('{}').subarray(0, 12)],
  ])('gets 415 when API Gateway cannot decode it: %s', async (coding, body) => {
    const response = await send(coding, body);
    expect(response.status).toBe(415);
    expect(await response.json()).toEqual({ type: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('gets 413 when it has more than 10 MB without its coding', async () => {
    expect((await send('gzip', gzipSync('x'.repeat(10_485_761)))).status).toBe(413);
  });
});

describe('gateway errors', () => {
  it("an unknown route gets API Gateway's response", async () => {
    const response = await get('/nowhere');
    expect(response.status).toBe(403);
    expect(response.headers.get('x-amzn-errortype')).toBe('MissingAuthenticationTokenException');
    expect(await response.json()).toEqual({ type: 'MISSING_AUTHENTICATION_TOKEN' });
  });

  it('a bearer token on an unknown route gets the signature error, which does not repeat the token', async () => {
    const response = await get('/nowhere', { Authorization: 'Bearer very-secret' });
    expect(response.status).toBe(403);
    expect(response.headers.get('x-amzn-errortype')).toBe('IncompleteSignatureException');
    expect(await response.text()).not.toContain('very-secret');
  });

  it('the log says that a route or a stage does not exist', async () => {
    served.records.length = 0;
    await get('/nowhere');
    await fetch(`${served.service.endpoint}/v8/echo`);
    expect(served.records.map(({ functionError }) => functionError)).toEqual([
      'no route GET /nowhere',
      'no stage v8, only v7',
    ]);
  });

  it('another stage gets 403', async () => {
    const response = await fetch(`${served.service.endpoint}/v8/echo`);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ message: 'Forbidden' });
  });

  it('an integration of an unsupported type gets 500', async () => {
    expect((await get('/mock')).status).toBe(500);
  });

  it.each([
    ['a body of more than 10 MB', 10_485_761, 'HTTP content length exceeded 10485760 bytes.'],
    ['an event of more than 6 MB', 6_291_457, 'Request Too Long'],
  ])('%s gets 413', async (_, size, message) => {
    const response = await fetch(`${served.service.url}/echo`, { method: 'POST', body: 'x'.repeat(size) });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({ message });
  });

  it('serves further requests of a client whose body was too large', async () => {
    await fetch(`${served.service.url}/echo`, { method: 'POST', body: 'x'.repeat(12_000_000) });
    expect((await get('/echo')).status).toBe(200);
  });
});

describe('the authorizer', () => {
  const ask = (token: string, path = '/guarded') => get(path, { Authorization: token });

  it('passes its context to the function as strings', async () => {
    const { event } = await echoOf(ask('Bearer allow a'));
    expect(event['requestContext']).toMatchObject({
      authorizer: {
        principalId: 'caller',
        asked: expect.stringMatching(/^\d+$/),
        allowance: '300',
        integrationLatency: expect.any(Number),
      },
    });
  });

  it.each([
    [undefined, 401, 'UnauthorizedException'],
    ['Basic abc', 401, 'UnauthorizedException'],
    ['Bearer unauthorized', 401, 'UnauthorizedException'],
    ['Bearer fail', 500, 'AuthorizerConfigurationException'],
    ['Bearer nonsense', 500, 'AuthorizerConfigurationException'],
    ['Bearer deny', 401, 'AccessDeniedException'],
  ])('the token %s gets %i from %s', async (token, status, errorType) => {
    const response = await get('/guarded', token === undefined ? {} : { Authorization: token });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-amzn-errortype')).toBe(errorType);
  });

  it('a rejection has the headers and the body of the template', async () => {
    const response = await ask('Bearer deny');
    expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    expect(response.headers.get('x-caller')).toBe('caller');
    expect(await response.json()).toEqual({
      why: 'User is not authorized to access this resource with an explicit deny',
      id: response.headers.get('x-amzn-requestid'),
    });
  });

  it('a method ARN that is too long gets 414 without an invocation', async () => {
    expect((await ask('Bearer allow c', `/guarded/${'x'.repeat(1600)}`)).status).toBe(414);
  });
});

describe('an API key of the template', () => {
  it('is accepted, and its ID and value are in the event', async () => {
    const { event } = await echoOf(get('/metered', { Authorization: 'Bearer key templatekey0123456789' }));
    expect(event['requestContext']).toMatchObject({
      identity: { apiKey: 'templatekey0123456789', apiKeyId: expect.stringMatching(/^[0-9a-z]{10}$/) },
    });
  });

  it.each(['Bearer key', 'Bearer key unknownkey0123456789'])('%s gets 403', async (token) => {
    const response = await get('/metered', { Authorization: token });
    expect(response.status).toBe(403);
    expect(await response.json()).toEqual({ type: 'INVALID_API_KEY' });
  });
});

/** What the server sends on a new connection until it closes it. */
function sendBytes(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(served.service.endpoint).port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

/** A request whose header names keep their case. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
  body: string,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const sent = httpRequest(served.service.endpoint + path, { method, headers }, (response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => void chunks.push(chunk));
    response.on('end', () =>
      resolve(new Response(Buffer.concat(chunks), { status: response.statusCode ?? 0 })),
    );
  });
  sent.on('error', reject);
  sent.end(body);
  return promise;
}
