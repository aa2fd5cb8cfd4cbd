import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { zipSync } from 'fflate';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RequestRecord } from 'cdk-offline';
import { z } from 'zod';
import { answer, greetingAssembly, greetingTemplate, serveGreeting } from './greeting.ts';
import {
  arnOf,
  attribute,
  gatewayResponse,
  invocable,
  invocation,
  lambdaFunction,
  method,
  permission,
  removeDirectory,
  resource,
  table,
} from './template.ts';

/** What CDK apps have besides one stack with routes, functions and tables of its own. */

it('tables and functions of another stack of the assembly are served when they are imported', async () => {
  const exported = (name: string, Value: object) => ({ [name]: { Value, Export: { Name: `Data:${name}` } } });
  const imported = (name: string) => ({ 'Fn::ImportValue': `Data:${name}` });
  const tableName = `imported-${process.pid}`;
  const Data = {
    Resources: { Goods: table(tableName), Greet: lambdaFunction('greet') },
    Outputs: { ...exported('Goods', { Ref: 'Goods' }), ...exported('Greet', arnOf('Greet')) },
  };
  const changes = {
    OtherPath: resource('other'),
    OtherGet: method({ Ref: 'OtherPath' }, imported('Greet')),
    OtherPermission: permission(imported('Greet')),
  };
  const template = greetingTemplate(changes, { Environment: { Variables: { TABLE: imported('Goods') } } });
  const { get, service } = await serveGreeting(template, {
    code: answer('[process.env.AWS_LAMBDA_FUNCTION_NAME, process.env.TABLE ?? null]'),
    others: { Data, Unused: { Resources: {} } },
  });
  expect(await (await get()).json()).toEqual(['Greeting-Greet', tableName]);
  expect(await (await get('/other')).json()).toEqual(['Data-Greet', null]);
  expect(service.functions.map(({ logicalId }) => logicalId)).toEqual(['Data.Greet', 'Greet']);
  const { endpoint, credentials } = service;
  const client = new DynamoDBClient({ region: 'us-east-1', endpoint, credentials });
  await client.send(new DescribeTableCommand({ TableName: tableName }));
});

describe('code', () => {
  it('in the template is served', async () => {
    const Code = { ZipFile: `exports.handler = async () => ({ statusCode: 200, body: '"inline"' });` };
    const { get } = await serveGreeting(greetingTemplate({}, { Code }));
    expect(await (await get()).json()).toBe('inline');
  });

  it('in a zip file is served', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'zip-'));
    onTestFinished(() => removeDirectory(folder));
    const files = {
      'index.mjs': Buffer.from(`import { text } from './lib/text.mjs'; ${answer('text')}`),
      'lib/text.mjs': Buffer.from(`export const text = 'zipped';`),
      '../outside.mjs': Buffer.from('not written'),
    };
    await writeFile(join(folder, 'code.zip'), zipSync(files));
    const assembly = await greetingAssembly(greetingTemplate({}, { Code: { S3Key: 'packed.zip' } }));
    const source = { path: join(folder, 'code.zip'), packaging: 'file' };
    const asset = { source, destinations: { here: { objectKey: 'packed.zip' } } };
    await writeFile(join(assembly, 'assets.json'), JSON.stringify({ files: { asset } }));
    const { get } = await serveGreeting(undefined, { assembly });
    expect(await (await get()).json()).toBe('zipped');
  });
});

it('the value of an API key that AWS would generate is printed at the start', async () => {
  const key = (properties: object) => ({ Type: 'AWS::ApiGateway::ApiKey', Properties: properties });
  const changes = { Made: key({ Enabled: true }), Given: key({ Value: 'given-value-0123456789' }) };
  const { progress } = await serveGreeting(greetingTemplate(changes));
  expect(progress).toEqual([expect.stringMatching(/^API key Made: [\w-]{20,}$/)]);
});

it('a runtime with the AWS SDK 2 is named at the start', async () => {
  const { progress } = await serveGreeting(greetingTemplate({}, { Runtime: 'nodejs16.x' }));
  expect(progress).toEqual([
    'Greet: Lambda no longer supports nodejs16.x, and cdk-offline has no aws-sdk 2. Use a newer runtime, or bundle the package.',
  ]);
});

describe('routes that are not supported', () => {
  const changes = {
    ...invocable('Python', 'greet', { Runtime: 'python3.13' }),
    PythonPath: resource('python'),
    PythonGet: method({ Ref: 'PythonPath' }, arnOf('Python')),
    SignedPath: resource('signed'),
    SignedGet: method({ Ref: 'SignedPath' }, arnOf('Greet'), { AuthorizationType: 'AWS_IAM' }),
  };

  it('are named at the start, answer 501 with the reason, and do not stop the other routes', async () => {
    const { get, progress } = await serveGreeting(greetingTemplate(changes));
    expect(progress).toEqual([
      expect.stringMatching(
        /^GET \/python answers 501: Python \(AWS::Lambda::Function\): .*only Node\.js functions/,
      ),
      'GET /signed answers 501: authorization by AWS_IAM is not supported by cdk-offline',
    ]);
    const signed = await get('/signed');
    expect(signed.status).toBe(501);
    expect(await signed.json()).toMatchObject({
      message: 'authorization by AWS_IAM is not supported by cdk-offline',
    });
    expect((await get('/python')).status).toBe(501);
    expect((await get()).status).toBe(200);
  });

  it('answer with the headers of errors, so that a browser shows the reason', async () => {
    const ResponseParameters = { 'gatewayresponse.header.Access-Control-Allow-Origin': "'*'" };
    const Errors = gatewayResponse('DEFAULT_5XX', { StatusCode: '500', ResponseParameters });
    const { get } = await serveGreeting(greetingTemplate({ ...changes, Errors }));
    const response = await get('/signed');
    expect(response.status).toBe(501);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ __type: 'NotSupportedByCdkOffline' });
  });

  it('are refused with "strict"', async () => {
    await expect(serveGreeting(greetingTemplate(changes), { strict: true })).rejects.toThrow(
      /^Not started, because --strict is set:\nGET \/python .*\nGET \/signed /,
    );
  });
});

it.each([
  [
    { Type: 'AWS', Uri: 'arn:aws:apigateway:us-east-1:sqs:path/123456789012/jobs' },
    'integrations of type AWS with sqs (path/123456789012/jobs) are not supported by cdk-offline',
  ],
  [
    { Type: 'AWS', Uri: { 'Fn::Sub': 'arn:${AWS::Partition}:apigateway:eu-west-1:dynamodb:action/PutItem' } },
    'integrations of type AWS with dynamodb (action/PutItem) are not supported by cdk-offline',
  ],
  [
    { Type: 'AWS', Uri: invocation(arnOf('Greet')) },
    'integrations of type AWS with a function are not supported by cdk-offline',
  ],
  [
    { Type: 'HTTP_PROXY', Uri: 'https://example.com/a' },
    'integrations of type HTTP_PROXY with https://example.com/a are not supported by cdk-offline',
  ],
  [
    {
      Type: 'AWS_PROXY',
      IntegrationHttpMethod: 'POST',
      Uri: 'arn:aws:apigateway:us-east-1:lambda:path/2021-11-15/functions/arn:aws:lambda:us-east-1:123456789012:function:f/response-streaming-invocations',
    },
    'streamed responses of functions are not supported by cdk-offline',
  ],
])('an integration that is not supported is named with its service: %j', async (Integration, reason) => {
  const Get = method({ Ref: 'Path' }, arnOf('Greet'), { Integration });
  const { get } = await serveGreeting(greetingTemplate({ Get }));
  expect(await (await get()).json()).toMatchObject({ message: reason });
});

it('variables have the values of the template, its parameters and "env"; one whose value is not known is left out', async () => {
  const Variables = { A: 'a', B: 'b', SIZE: { Ref: 'Size' }, UNKNOWN: attribute('Special', 'Name') };
  const Special = { Type: 'Custom::Special', Properties: {} };
  const template = {
    ...greetingTemplate({ Special }, { Environment: { Variables } }),
    Parameters: { Size: { Type: 'Number', Default: 1 } },
  };
  const { get, progress } = await serveGreeting(template, {
    code: answer(`['A', 'B', 'C', 'SIZE', 'UNKNOWN'].map((name) => process.env[name])`),
    env: { B: 'given', C: 'added' },
    parameters: { Size: '7' },
  });
  expect(await (await get()).json()).toEqual(['a', 'given', 'added', '7', null]);
  expect(progress).toEqual([
    expect.stringMatching(
      /^Greet: the variable UNKNOWN: .*Special \(Custom::Special\) is not supported.*It is not set\.$/,
    ),
    'Custom::Special is not supported by cdk-offline: Special',
  ]);
});

it('a CORS preflight is answered without an authorizer or function', async () => {
  const Integration = {
    Type: 'MOCK',
    RequestTemplates: { 'application/json': '{ statusCode: 200 }' },
    IntegrationResponses: [
      {
        StatusCode: '204',
        ResponseParameters: { 'method.response.header.Access-Control-Allow-Origin': "'*'" },
      },
    ],
  };
  const Options = method({ Ref: 'Path' }, arnOf('Greet'), { Integration }, 'OPTIONS');
  const { get, progress } = await serveGreeting(greetingTemplate({ Options }));
  const response = await get('/greet', { method: 'OPTIONS' });
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(progress).toEqual([]);
});

it('settings of usage plans and routes that have no effect are named', async () => {
  const ApiStages = [{ ApiId: { Ref: 'Api' }, Stage: { Ref: 'Stage' }, Throttle: { '/greet/GET': {} } }];
  const Properties = { ApiStages, Quota: { Limit: 5, Period: 'MONTH' } };
  const { progress } = await serveGreeting(
    greetingTemplate({
      Plan: { Type: 'AWS::ApiGateway::UsagePlan', Properties },
    }),
  );
  expect(progress.toSorted()).toEqual([
    'Plan: only quotas per DAY without an offset are enforced by cdk-offline',
    'Plan: throttling of single methods is not enforced by cdk-offline',
  ]);
});

it('a REQUEST authorizer gets the request without its body, and is cached by its identity sources', async () => {
  const authorize = `
    let asked = 0;
    exports.handler = async ({ methodArn, ...event }) => ({
      principalId: event.headers['X-User'],
      policyDocument: { Statement: [{ Action: 'execute-api:Invoke', Effect: 'Allow', Resource: methodArn }] },
      context: { event: JSON.stringify(event), asked: asked += 1 },
    });`;
  const changes = {
    ...invocable('Authorize', 'greet', { Code: { ZipFile: authorize } }),
    Authorizer: {
      Type: 'AWS::ApiGateway::Authorizer',
      Properties: {
        RestApiId: { Ref: 'Api' },
        Type: 'REQUEST',
        AuthorizerUri: invocation(arnOf('Authorize')),
        IdentitySource: 'method.request.header.X-User,method.request.querystring.team',
      },
    },
    Get: method({ Ref: 'Path' }, arnOf('Greet'), {
      AuthorizationType: 'CUSTOM',
      AuthorizerId: { Ref: 'Authorizer' },
    }),
  };
  const code = answer('event.requestContext.authorizer');
  const { get } = await serveGreeting(greetingTemplate(changes), { code });
  expect((await get('/greet?team=a')).status).toBe(401);
  const ask = async (team: string) =>
    z
      .object({ principalId: z.string(), event: z.string(), asked: z.string() })
      .parse(await (await get(`/greet?team=${team}`, { headers: { 'X-User': 'me' } })).json());
  const first = await ask('a');
  expect(first).toMatchObject({ principalId: 'me', asked: '1' });
  expect(JSON.parse(first.event)).toMatchObject({
    type: 'REQUEST',
    resource: '/greet',
    path: '/greet',
    httpMethod: 'GET',
    queryStringParameters: { team: 'a' },
    multiValueQueryStringParameters: { team: ['a'] },
    pathParameters: null,
    requestContext: { stage: 'dev', resourcePath: '/greet' },
  });
  expect(JSON.parse(first.event)).not.toHaveProperty('body');
  expect((await ask('a')).asked).toBe('1');
  expect((await ask('b')).asked).toBe('2');
});

const authorized = (authorize: string) => ({
  ...invocable('Authorize', 'greet', { Code: { ZipFile: `exports.handler = async () => (${authorize});` } }),
  Authorizer: {
    Type: 'AWS::ApiGateway::Authorizer',
    Properties: { RestApiId: { Ref: 'Api' }, Type: 'TOKEN', AuthorizerUri: invocation(arnOf('Authorize')) },
  },
  Get: method({ Ref: 'Path' }, arnOf('Greet'), {
    AuthorizationType: 'CUSTOM',
    AuthorizerId: { Ref: 'Authorizer' },
  }),
});
const anyone = `principalId: 'anyone', policyDocument: { Statement: { Action: '*', Effect: 'Allow', Resource: '*' } }`;

it("null in an authorizer's context reaches the function", async () => {
  const { get } = await serveGreeting(
    greetingTemplate(authorized(`{ ${anyone}, context: { team: null } }`)),
    {
      code: answer('event.requestContext.authorizer'),
    },
  );
  const response = await get('/greet', { headers: { Authorization: 'a' } });
  expect(await response.json()).toMatchObject({ principalId: 'anyone', team: null });
});

it.each([
  [
    `{ ${anyone}, context: { team: ['a'] } }`,
    'Malformed authorizer response: context.team: must be text, a number or a flag',
  ],
  [
    `{ principalId: 'a', policyDocument: { Statement: [{ Action: '*', Effect: 'allow', Resource: '*' }] } }`,
    'Malformed authorizer response: policyDocument.Statement.0.Effect: Invalid option: expected one of "Allow"|"Deny"',
  ],
  [
    `{ policyDocument: { Statement: [] } }`,
    'Malformed authorizer response: principalId: Invalid input: expected string, received undefined',
  ],
])('the log names what is wrong with the answer of an authorizer: %s', async (authorize, problem) => {
  const records: RequestRecord[] = [];
  const { get } = await serveGreeting(greetingTemplate(authorized(authorize)), {
    onRequest: (record) => void records.push(record),
  });
  expect((await get('/greet', { headers: { Authorization: 'a' } })).status).toBe(500);
  expect(records).toMatchObject([{ functionError: problem }]);
});

it('the log names what is wrong with the answer of a function', async () => {
  const records: RequestRecord[] = [];
  const { get } = await serveGreeting(undefined, {
    code: `export const handler = async () => ({ statusCode: 200, body: { hello: 'world' } });`,
    onRequest: (record) => void records.push(record),
  });
  expect((await get()).status).toBe(502);
  expect(records).toMatchObject([
    {
      functionError: 'Malformed Lambda proxy response: body: Invalid input: expected string, received object',
    },
  ]);
});

it.each([
  [
    {
      'X-Amz-Target': 'AWSCognitoIdentityProviderService.SignUp',
      'Content-Type': 'application/x-amz-json-1.1',
    },
    'AWSCognitoIdentityProviderService (SignUp)',
  ],
  [
    {
      'X-Amz-Target': 'AWSCognitoIdentityService.GetId',
      'Content-Type': 'application/x-amz-json-1.1',
      'User-Agent':
        'aws-sdk-js/3.1164.0 ua/2.1 os/linux lang/js md/nodejs#24.1.0 api/cognito-identity#3.1164.0 m/E',
    },
    'cognito-identity (GetId)',
  ],
  [{ 'User-Agent': 'aws-sdk-js/3.1164.0 ua/2.1 api/sso-oidc#3.1164.0' }, 'sso-oidc'],
])('an unsigned call of an SDK is told which service is not supported: %j', async (headers, name) => {
  const { service } = await serveGreeting();
  const response = await fetch(service.endpoint, { method: 'POST', headers, body: '{}' });
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({
    __type: 'NotSupportedByCdkOffline',
    message: `The AWS service ${name} is not supported by cdk-offline, and nothing was sent to AWS`,
  });
});

it.each([
  [
    'AWS::ApiGatewayV2::Api',
    /^Greeting has no REST API\. HTTP and WebSocket APIs are not supported: Other\.$/,
  ],
  ['AWS::Lambda::Url', /^Greeting has no REST API\. Function URLs are not supported: Other\.$/],
  ['AWS::SQS::Queue', /^Greeting has no REST API\.$/],
])('a stack without a REST API is refused, and what it has instead is named: %s', async (Type, message) => {
  const assembly = await greetingAssembly({ Resources: { Other: { Type, Properties: {} } } });
  await expect(serveGreeting(undefined, { assembly })).rejects.toThrow(message);
});

it('one of several APIs is chosen by its logical ID or name', async () => {
  const RestApiId = { Ref: 'Other' };
  const template = greetingTemplate({
    Other: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'the other' } },
    OtherStage: { Type: 'AWS::ApiGateway::Stage', Properties: { RestApiId, StageName: 'test' } },
    OtherGet: method(attribute('Other', 'RootResourceId'), arnOf('Greet'), {
      RestApiId,
      AuthorizationType: 'AWS_IAM',
    }),
  });
  const first = await serveGreeting(template, { api: 'Api' });
  expect((await first.get()).status).toBe(200);
  expect(first.progress).toEqual([]);
  const { service, progress } = await serveGreeting(template, { api: 'the other' });
  expect(service.url).toMatch(/\/test$/);
  expect(progress).toEqual(['GET / answers 501: authorization by AWS_IAM is not supported by cdk-offline']);
});
