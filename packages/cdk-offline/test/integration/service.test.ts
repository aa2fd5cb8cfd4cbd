import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { type OfflineService, type RequestRecord, serve } from 'cdk-offline';
import { code, goodsIndexes, template } from './whole-stack.ts';
import { startGate } from './gate.ts';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { gatewayResponse, removeDirectory, writeAssembly } from './template.ts';

const stackName = 'Gateway';
const suffix = `gateway-${process.pid}`;
const progress: string[] = [];
const logs: { readonly from: string; readonly line: string }[] = [];
const records: RequestRecord[] = [];
let service: OfflineService;

beforeAll(async () => {
  const assembly = await writeAssembly({ [stackName]: template(suffix) }, code);
  service = await serve({
    assembly,
    stack: stackName,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (message) => void progress.push(message),
    onLog: (from, line) => void logs.push({ from, line }),
    onRequest: (record) => void records.push(record),
  });
  // What was synthesized is not needed any longer.
  await removeDirectory(assembly);
});

afterAll(async () => {
  await service.stop();
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(service.url + path, { headers });
const post = (path: string, body: unknown) =>
  fetch(service.url + path, { method: 'POST', body: JSON.stringify(body) });

const echoed = z.object({
  event: z.record(z.string(), z.unknown()),
  context: z.record(z.string(), z.unknown()),
  variables: z.record(z.string(), z.string()),
});
async function echoOf(response: Response | Promise<Response>): Promise<z.infer<typeof echoed>> {
  return echoed.parse(await (await response).json());
}

const logged = (from: string) => logs.filter((entry) => entry.from === from).map(({ line }) => line);

describe('a started stack', () => {
  it('reports what it does not support in the template', () => {
    expect(progress).toEqual([
      'Created the tables',
      'Stock: table streams are not supported by cdk-offline',
      'AWS::SQS::Queue is not supported by cdk-offline: Queue',
      'Output Hidden: No stack of the assembly exports elsewhere',
    ]);
  });

  it('has its outputs, with the local address of the API', () => {
    expect(service.url).toBe(`${service.endpoint}/v7`);
    expect(service.outputs).toMatchObject({ Goods: `goods-${suffix}`, Url: `${service.url}/` });
  });

  it('has its tables with keys, indexes and expiry', async () => {
    const client = new DynamoDBClient({
      region: 'us-east-1',
      endpoint: service.endpoint,
      credentials: service.credentials,
    });
    const { Table } = await client.send(new DescribeTableCommand({ TableName: `goods-${suffix}` }));
    expect(Table).toMatchObject({
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
      GlobalSecondaryIndexes: goodsIndexes,
    });
    const { TimeToLiveDescription } = await client.send(
      new DescribeTimeToLiveCommand({ TableName: `goods-${suffix}` }),
    );
    expect(TimeToLiveDescription).toEqual({ AttributeName: 'expiresAt', TimeToLiveStatus: 'ENABLED' });
    await client.send(new DescribeTableCommand({ TableName: `stock-${suffix}` }));
    // The calls that warm the database wrote nothing.
    for (const TableName of [`goods-${suffix}`, `stock-${suffix}`]) {
      expect((await client.send(new ScanCommand({ TableName }))).Items).toEqual([]);
    }
  });
});

describe('the proxy event', () => {
  it('is complete, as API Gateway sends it', async () => {
    const { host } = new URL(service.url);
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
      'X-Forwarded-Port': new URL(service.url).port,
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
        apiId: service.outputs['ApiId'],
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
    expect((await fetch(`${service.url}/echo/7`, { method: 'DELETE' })).status).toBe(403);
  });

  it('a binary body is base64 in the event and in the result', async () => {
    const bytes = Buffer.from([0, 255, 128]);
    const body = { answer: { statusCode: 200, isBase64Encoded: true, body: bytes.toString('base64') } };
    const headers = { 'Content-Type': 'application/octet-stream', Accept: 'application/octet-stream' };
    const { event } = await echoOf(fetch(`${service.url}/echo`, { method: 'POST', body: bytes, headers }));
    expect(event).toMatchObject({ isBase64Encoded: true, body: 'AP+A' });
    const answered = await fetch(`${service.url}/do`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { Accept: headers.Accept },
    });
    expect(Buffer.from(await answered.arrayBuffer())).toEqual(bytes);
  });
});

describe('a function', () => {
  it('has the environment variables and the context of Lambda', async () => {
    const { context, variables } = await echoOf(get('/echo'));
    expect(variables).toMatchObject({
      GOODS_TABLE: `goods-${suffix}`,
      AWS_REGION: 'us-east-1',
      AWS_LAMBDA_FUNCTION_NAME: `echo-${suffix}`,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_ENDPOINT_URL_DYNAMODB: service.dynamodbEndpoint,
      _HANDLER: 'index.handler',
    });
    expect(variables).not.toHaveProperty('HOME');
    expect(context).toMatchObject({
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:echo-${suffix}`,
      functionName: `echo-${suffix}`,
      memoryLimitInMB: '256',
      logGroupName: `/aws/lambda/echo-${suffix}`,
    });
    expect(context['remaining']).toBeLessThanOrEqual(10_000);
    expect(context['remaining']).toBeGreaterThan(0);
  });

  it('gets its response headers, and the request IDs that API Gateway adds', async () => {
    const response = await get('/echo');
    expect(response.headers.get('x-made-by')).toBe('echo');
    expect(response.headers.get('content-type')).toBe('application/json');
    const { event } = await echoOf(response);
    expect(event['requestContext']).toMatchObject({
      requestId: response.headers.get('x-amzn-requestid'),
      extendedRequestId: response.headers.get('x-amz-apigw-id'),
    });
  });

  it('HEAD returns the headers without the body', async () => {
    const response = await fetch(`${service.url}/echo`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(100);
    expect(await response.text()).toBe('');
  });

  it.each([
    [{ answer: { statusCode: 204 } }, 204],
    [{ answer: { nonsense: true } }, 502],
    [{ fail: 'no way' }, 502],
    [{ repeat: 6_291_600 }, 502],
    [{ repeat: 6_000_000 }, 200],
  ])('that does %j gets %i', async (what, status) => {
    const response = await post('/do', what);
    expect(response.status).toBe(status);
    const body = await response.text();
    if (status === 502) expect(body).toBe('{"message":"Internal server error"}');
    const isRejected = status === 502 && !('answer' in what);
    if (isRejected) expect(records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
  });

  it.each([
    ['exits', { exit: 1 }],
    ['throws where nobody catches', { crash: true, sleepMs: 1500 }],
  ])('that %s ends its environment: 502, and the next request starts a new one', async (_, what) => {
    expect((await post('/do', what)).status).toBe(502);
    expect(records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
    expect((await post('/do', {})).status).toBe(200);
  });

  it('whose environment ended is reported in the log', () => {
    expect(logged('Puppet').join('\n')).toMatch(/Error: uncaught/);
  });

  it('that exceeds its time-out ends its environment: 502, and the log says so', async () => {
    expect((await post('/hasty', { sleepMs: 60_000 })).status).toBe(502);
    expect(records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
    expect((await post('/hasty', {})).status).toBe(200);
    expect(logged('Hasty')).toContainEqual(expect.stringMatching(/Task timed out after 1\.00 seconds$/));
  });

  it('that is slower than the integration time-out gets 504', async () => {
    const response = await post('/slow', { sleepMs: 1000 });
    expect(response.status).toBe(504);
    expect(await response.text()).toBe('{"message":"Endpoint request timed out"}');
  });

  it('that cannot be loaded gets 502, and the log has the reason', async () => {
    expect((await get('/broken')).status).toBe(502);
    expect(logged('Broken').join('\n')).toMatch(/no-such-module/);
  });

  it('with a reserved concurrency of 0 gets 500', async () => {
    expect((await post('/closed', {})).status).toBe(500);
  });

  it('serves one invocation at a time in each environment', async () => {
    const results = await Promise.all(
      Array.from({ length: 12 }, async () =>
        z.object({ together: z.number() }).parse(await (await post('/do', { sleepMs: 10 })).json()),
      ),
    );
    expect(results.every(({ together }) => together === 1)).toBe(true);
  });

  it('is throttled beyond its reserved concurrency: 500 at once, and it is not invoked', async () => {
    const served = async () =>
      z.object({ served: z.number() }).parse(await (await post('/lonely', {})).json()).served;
    const before = await served();
    const gate = await startGate();
    const busy = post('/lonely', { waitFor: gate.url });
    await gate.reached;
    const response = await post('/lonely', {});
    expect(response.status).toBe(500);
    expect(records.at(-1)).toMatchObject({
      errorType: 'INTEGRATION_FAILURE',
      functionError: 'TooManyRequestsException: Rate Exceeded.',
    });
    gate.open();
    expect((await busy).status).toBe(200);
    expect(await served()).toBe(before + 2);
  });

  it('logs as Lambda does: console calls as JSON from its level, standard output unchanged', async () => {
    const marker = 'a line to be found again';
    await post('/do', { log: marker });
    const found = () => logged('Puppet').filter((line) => line.includes(marker));
    await expect.poll(() => found().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    const lines = found().map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
    const common = {
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    };
    expect(lines).toEqual([
      { ...common, level: 'INFO', message: marker },
      { ...common, level: 'WARN', message: { structured: marker } },
      {
        ...common,
        level: 'ERROR',
        message: expect.stringMatching(/^a line to be found again TypeError: an error/),
        errorType: 'TypeError',
        errorMessage: 'an error',
        stackTrace: expect.any(Array),
      },
      { raw: marker },
    ]);
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
    const socket = connect(Number(new URL(service.endpoint).port), '127.0.0.1');
    socket.end(`${head.join('\r\n')}\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('overload', () => {
  it('throttles requests beyond the concurrency as INTEGRATION_FAILURE of the template and runs no function', async () => {
    const Overloaded = gatewayResponse('INTEGRATION_FAILURE', {
      StatusCode: '503',
      ResponseParameters: { 'gatewayresponse.header.Retry-After': "'1'" },
    });
    const gate = await startGate();
    const { get: send, logs: printed } = await serveGreeting(greetingTemplate({ Overloaded }), {
      concurrency: 1,
      code: `export const handler = async (event) => {
        if (event.queryStringParameters?.wait) await fetch('${gate.url}');
        else process.stdout.write('it runs\\n');
        return { statusCode: 200 };
      };`,
    });
    const busy = send('/greet?wait=1');
    await gate.reached;
    const shed = await Promise.all(Array.from({ length: 50 }, () => send()));
    const answers = new Set(shed.map(({ status, headers }) => `${status} ${headers.get('retry-after')}`));
    expect(answers).toEqual(new Set(['503 1']));
    gate.open();
    expect((await busy).status).toBe(200);
    expect((await send()).status).toBe(200);
    // Node.js prints warnings of its own, which differ from version to version.
    const runs = () => printed.filter(([, line]) => line === 'it runs');
    await expect.poll(() => runs().length, { timeout: 60_000 }).toBe(1);
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

  it('another stage gets 403', async () => {
    const response = await fetch(`${service.endpoint}/v8/echo`);
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
    const response = await fetch(`${service.url}/echo`, { method: 'POST', body: 'x'.repeat(size) });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({ message });
  });

  it('serves further requests of a client whose body was too large', async () => {
    await fetch(`${service.url}/echo`, { method: 'POST', body: 'x'.repeat(12_000_000) });
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

/** A request whose header names keep their case. */
function raw(
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
  body: string,
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const sent = httpRequest(service.endpoint + path, { method, headers }, (response) => {
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
