import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startGate } from './gate.ts';
import { greetingTemplate, serveGreeting } from './greeting.ts';
import { gatewayResponse } from './template.ts';
import { echoOf, goodsIndexes, serveWholeStack } from './whole-stack.ts';

/** What a served stack has, and how its functions run. */

let served: Awaited<ReturnType<typeof serveWholeStack>>;
beforeAll(async () => {
  served = await serveWholeStack('Service');
});
afterAll(() => served.service.stop());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(served.service.url + path, { headers });
const post = (path: string, body: unknown) =>
  fetch(served.service.url + path, { method: 'POST', body: JSON.stringify(body) });

const logged = (from: string) => served.logs.filter((entry) => entry.from === from).map(({ line }) => line);

describe('a started stack', () => {
  it('reports what it does not support in the template', () => {
    expect(served.progress).toEqual([
      'Created the tables',
      'Stock: table streams are not supported by cdk-offline',
      'AWS::SQS::Queue is not supported by cdk-offline: Queue',
      'Output Hidden: No stack of the assembly exports elsewhere',
    ]);
  });

  it('has its outputs, with the local address of the API', () => {
    expect(served.service.url).toBe(`${served.service.endpoint}/v7`);
    expect(served.service.outputs).toMatchObject({
      Goods: `goods-${served.suffix}`,
      Url: `${served.service.url}/`,
    });
  });

  it('has its tables with keys, indexes and expiry', async () => {
    const client = new DynamoDBClient({
      region: 'us-east-1',
      endpoint: served.service.endpoint,
      credentials: served.service.credentials,
    });
    const { Table } = await client.send(new DescribeTableCommand({ TableName: `goods-${served.suffix}` }));
    expect(Table).toMatchObject({
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
      GlobalSecondaryIndexes: goodsIndexes,
    });
    const { TimeToLiveDescription } = await client.send(
      new DescribeTimeToLiveCommand({ TableName: `goods-${served.suffix}` }),
    );
    expect(TimeToLiveDescription).toEqual({ AttributeName: 'expiresAt', TimeToLiveStatus: 'ENABLED' });
    await client.send(new DescribeTableCommand({ TableName: `stock-${served.suffix}` }));
    // The calls that warm the database wrote nothing.
    for (const TableName of [`goods-${served.suffix}`, `stock-${served.suffix}`]) {
      expect((await client.send(new ScanCommand({ TableName }))).Items).toEqual([]);
    }
  });
});

describe('a function', () => {
  it('has the environment variables and the context of Lambda', async () => {
    const { context, variables } = await echoOf(get('/echo'));
    expect(variables).toMatchObject({
      GOODS_TABLE: `goods-${served.suffix}`,
      AWS_REGION: 'us-east-1',
      AWS_LAMBDA_FUNCTION_NAME: `echo-${served.suffix}`,
      AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '256',
      AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
      AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
      AWS_ENDPOINT_URL_DYNAMODB: served.service.dynamodbEndpoint,
      _HANDLER: 'index.handler',
    });
    expect(variables).not.toHaveProperty('HOME');
    expect(context).toMatchObject({
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      invokedFunctionArn: `arn:aws:lambda:us-east-1:123456789012:function:echo-${served.suffix}`,
      functionName: `echo-${served.suffix}`,
      memoryLimitInMB: '256',
      logGroupName: `/aws/lambda/echo-${served.suffix}`,
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
    const response = await fetch(`${served.service.url}/echo`, { method: 'HEAD' });
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
    if (isRejected) expect(served.records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
  });

  it.each([
    ['exits', { exit: 1 }],
    ['throws where nobody catches', { crash: true, sleepMs: 1500 }],
  ])('that %s ends its environment: 502, and the next request starts a new one', async (_, what) => {
    expect((await post('/do', what)).status).toBe(502);
    expect(served.records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
    expect((await post('/do', {})).status).toBe(200);
  });

  it('whose environment ended is reported in the log', () => {
    expect(logged('Puppet').join('\n')).toMatch(/Error: uncaught/);
  });

  it('that exceeds its time-out ends its environment: 502, and the log says so', async () => {
    expect((await post('/hasty', { sleepMs: 60_000 })).status).toBe(502);
    expect(served.records.at(-1)).toMatchObject({ errorType: 'INTEGRATION_FAILURE' });
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
    const count = async () =>
      z.object({ served: z.number() }).parse(await (await post('/lonely', {})).json()).served;
    const before = await count();
    const gate = await startGate();
    const busy = post('/lonely', { waitFor: gate.url });
    await gate.reached;
    const response = await post('/lonely', {});
    expect(response.status).toBe(500);
    expect(served.records.at(-1)).toMatchObject({
      errorType: 'INTEGRATION_FAILURE',
      functionError: 'TooManyRequestsException: Rate Exceeded.',
    });
    gate.open();
    expect((await busy).status).toBe(200);
    expect(await count()).toBe(before + 2);
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
