import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve, type ServeOptions } from 'cdk-offline';
import { zipSync } from 'fflate';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import {
  greetingStack,
  greetingTemplate,
  method,
  removeDirectory,
  resource,
  writeGreeting,
} from './greeting.ts';

/** What CDK apps have besides one stack with routes, functions and tables of its own. */

const answer = (expression: string) =>
  `export const handler = async () => ({ statusCode: 200, body: JSON.stringify(${expression}) });`;

async function start(
  template: object,
  {
    code,
    others,
    ...options
  }: Partial<ServeOptions> & { code?: string; others?: Record<string, object> } = {},
) {
  const assembly = await writeGreeting(template, code, others);
  onTestFinished(() => removeDirectory(assembly));
  const progress: string[] = [];
  const service = await serve({
    assembly,
    stack: greetingStack,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (line) => void progress.push(line),
    ...options,
  });
  onTestFinished(() => service.stop());
  const get = (path = '/greet', init?: RequestInit) => fetch(service.url + path, init);
  return { service, progress, get };
}

const functionUri = (arn: string) =>
  `arn:\${AWS::Partition}:apigateway:\${AWS::Region}:lambda:path/2015-03-31/functions/${arn}/invocations`;

describe('another stack of the assembly', () => {
  const exported = (name: string, Value: object) => ({ [name]: { Value, Export: { Name: `Data:${name}` } } });
  const imported = (name: string) => ({ 'Fn::ImportValue': `Data:${name}` });
  const tableName = `imported-${process.pid}`;
  const data = {
    Resources: {
      Goods: {
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          TableName: tableName,
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
          BillingMode: 'PAY_PER_REQUEST',
        },
      },
      Greet: {
        Type: 'AWS::Lambda::Function',
        Properties: {
          Code: { S3Bucket: 'b', S3Key: 'other.zip' },
          Handler: 'index.handler',
          Runtime: 'nodejs24.x',
        },
      },
    },
    Outputs: {
      ...exported('Goods', { Ref: 'Goods' }),
      ...exported('Greet', { 'Fn::GetAtt': ['Greet', 'Arn'] }),
    },
  };

  it('has the tables and functions that are imported', async () => {
    const { Type, Properties } = { Type: 'AWS::Lambda::Permission', Properties: {} };
    const Uri = { 'Fn::Sub': [functionUri('${Arn}'), { Arn: imported('Greet') }] };
    const template = greetingTemplate(
      'greet',
      {
        OtherPath: resource('other'),
        OtherGet: {
          Type: 'AWS::ApiGateway::Method',
          Properties: {
            ResourceId: { Ref: 'OtherPath' },
            HttpMethod: 'GET',
            Integration: { Type: 'AWS_PROXY', IntegrationHttpMethod: 'POST', Uri },
          },
        },
        OtherPermission: {
          Type,
          Properties: {
            ...Properties,
            Action: 'lambda:InvokeFunction',
            FunctionName: imported('Greet'),
            Principal: 'apigateway.amazonaws.com',
          },
        },
      },
      25,
      { Environment: { Variables: { TABLE: imported('Goods') } } },
    );
    const code = `
      import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
      export const handler = async () => {
        const TableName = process.env.TABLE ?? '${tableName}';
        const { Count } = await new DynamoDBClient({}).send(new ScanCommand({ TableName }));
        return { statusCode: 200, body: JSON.stringify([process.env.AWS_LAMBDA_FUNCTION_NAME, Count]) };
      };`;
    const { get, service } = await start(template, {
      code,
      others: { Data: data, Unused: { Resources: {} } },
    });
    expect(await (await get()).json()).toEqual(['Greeting-Greet', 0]);
    expect(await (await get('/other')).json()).toEqual(['Data-Greet', 0]);
    expect(service.functions.map(({ logicalId }) => logicalId)).toEqual(['Data.Greet', 'Greet']);
  });
});

describe('code', () => {
  it('in the template is served', async () => {
    const Code = { ZipFile: `exports.handler = async () => ({ statusCode: 200, body: '"inline"' });` };
    const { get } = await start(greetingTemplate('greet', {}, 25, { Code }));
    expect(await (await get()).json()).toBe('inline');
  });

  it('in a zip file is served', async () => {
    const assembly = await writeGreeting();
    onTestFinished(() => removeDirectory(assembly));
    const folder = await mkdtemp(join(tmpdir(), 'zip-'));
    onTestFinished(() => removeDirectory(folder));
    const files = {
      'index.mjs': Buffer.from(`import { text } from './lib/text.mjs'; ${answer('text')}`),
      'lib/text.mjs': Buffer.from(`export const text = 'zipped';`),
      '../outside.mjs': Buffer.from('not written'),
    };
    await writeFile(join(folder, 'code.zip'), zipSync(files));
    const source = { path: join(folder, 'code.zip'), packaging: 'file' };
    const asset = { source, destinations: { here: { objectKey: 'greet.zip' } } };
    await writeFile(join(assembly, `${greetingStack}.assets.json`), JSON.stringify({ files: { asset } }));
    const service = await serve({ assembly, stack: greetingStack });
    onTestFinished(() => service.stop());
    expect(await (await fetch(`${service.url}/greet`)).json()).toBe('zipped');
  });
});

describe('what is not supported', () => {
  const changes = {
    Python: {
      Type: 'AWS::Lambda::Function',
      Properties: { Runtime: 'python3.13', Handler: 'a.b', Code: {} },
    },
    PythonPermission: {
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        FunctionName: { 'Fn::GetAtt': ['Python', 'Arn'] },
        Principal: 'apigateway.amazonaws.com',
      },
    },
    PythonPath: resource('python'),
    PythonGet: method('PythonPath', functionUri('${Python.Arn}')),
    SignedPath: resource('signed'),
    SignedGet: {
      Type: 'AWS::ApiGateway::Method',
      Properties: { ResourceId: { Ref: 'SignedPath' }, HttpMethod: 'GET', AuthorizationType: 'AWS_IAM' },
    },
  };
  const reasons = [
    expect.stringMatching(
      /^GET \/python answers 501: Python \(AWS::Lambda::Function\): .*only Node\.js functions/,
    ),
    'GET /signed answers 501: authorization by AWS_IAM is not supported by cdk-offline',
  ];

  it('is named at the start, answers 501 with the reason, and does not stop the other routes', async () => {
    const { get, progress } = await start(greetingTemplate('greet', changes));
    expect(progress).toEqual(reasons);
    const signed = await get('/signed');
    expect(signed.status).toBe(501);
    expect(await signed.json()).toMatchObject({
      message: 'authorization by AWS_IAM is not supported by cdk-offline',
    });
    expect((await get('/python')).status).toBe(501);
    expect((await get()).status).toBe(200);
  });

  it('is refused with "strict"', async () => {
    const starting = start(greetingTemplate('greet', changes), { strict: true });
    await expect(starting).rejects.toThrow(
      /^Not started, because --strict is set:\nGET \/python .*\nGET \/signed /,
    );
  });

  it('in the value of a variable leaves out the variable, and is named', async () => {
    const Environment = { Variables: { A: { 'Fn::GetAtt': ['Special', 'Name'] }, B: 'b' } };
    const Special = { Type: 'Custom::Special', Properties: {} };
    const { get, progress } = await start(greetingTemplate('greet', { Special }, 25, { Environment }), {
      code: answer('[process.env.A ?? null, process.env.B]'),
    });
    expect(await (await get()).json()).toEqual([null, 'b']);
    expect(progress).toEqual([
      expect.stringMatching(
        /^Greet: the variable A: .*Special \(Custom::Special\) is not supported.*It is not set\.$/,
      ),
      'Custom::Special is not supported by cdk-offline: Special',
    ]);
  });
});

it('variables for every function replace those of the template', async () => {
  const Environment = { Variables: { A: 'a', B: 'b' } };
  const { get } = await start(greetingTemplate('greet', {}, 25, { Environment }), {
    code: answer('[process.env.A, process.env.B, process.env.C]'),
    env: { B: 'given', C: 'added' },
  });
  expect(await (await get()).json()).toEqual(['a', 'given', 'added']);
});

it('values for parameters replace their defaults', async () => {
  const Environment = { Variables: { SIZE: { Ref: 'Size' } } };
  const template = {
    ...greetingTemplate('greet', {}, 25, { Environment }),
    Parameters: { Size: { Type: 'Number', Default: 1 } },
  };
  const { get } = await start(template, { code: answer('process.env.SIZE'), parameters: { Size: '7' } });
  expect(await (await get()).json()).toBe('7');
});

it('a CORS preflight is answered without an authorizer or function', async () => {
  const Options = {
    Type: 'AWS::ApiGateway::Method',
    Properties: {
      ResourceId: { Ref: 'Path' },
      HttpMethod: 'OPTIONS',
      Integration: {
        Type: 'MOCK',
        RequestTemplates: { 'application/json': '{ statusCode: 200 }' },
        IntegrationResponses: [
          {
            StatusCode: '204',
            ResponseParameters: { 'method.response.header.Access-Control-Allow-Origin': "'*'" },
          },
        ],
      },
    },
  };
  const { get, progress } = await start(greetingTemplate('greet', { Options }));
  const response = await get('/greet', { method: 'OPTIONS' });
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(progress).toEqual([]);
});

it('settings of usage plans that are not enforced are named', async () => {
  const ApiStages = [{ ApiId: { Ref: 'Api' }, Stage: { Ref: 'Stage' }, Throttle: { '/greet/GET': {} } }];
  const Properties = { ApiStages, Quota: { Limit: 5, Period: 'MONTH' } };
  const Plan = { Type: 'AWS::ApiGateway::UsagePlan', Properties };
  const { progress } = await start(greetingTemplate('greet', { Plan }));
  expect(progress).toEqual([
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
  const { Type, Properties } = method('Path', functionUri('${Greet.Arn}')) as {
    Type: string;
    Properties: object;
  };
  const changes = {
    Authorize: {
      Type: 'AWS::Lambda::Function',
      Properties: { Code: { ZipFile: authorize }, Handler: 'index.handler', Runtime: 'nodejs24.x' },
    },
    AuthorizePermission: {
      Type: 'AWS::Lambda::Permission',
      Properties: {
        Action: 'lambda:InvokeFunction',
        FunctionName: { 'Fn::GetAtt': ['Authorize', 'Arn'] },
        Principal: 'apigateway.amazonaws.com',
      },
    },
    Authorizer: {
      Type: 'AWS::ApiGateway::Authorizer',
      Properties: {
        Type: 'REQUEST',
        AuthorizerUri: { 'Fn::Sub': functionUri('${Authorize.Arn}') },
        IdentitySource: 'method.request.header.X-User,method.request.querystring.team',
      },
    },
    Get: {
      Type,
      Properties: { ...Properties, AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } },
    },
  };
  const code = `export const handler = async ({ requestContext }) =>
    ({ statusCode: 200, body: JSON.stringify(requestContext.authorizer) });`;
  const { get } = await start(greetingTemplate('greet', changes), { code });
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

it('one of several APIs is chosen by its logical ID or name', async () => {
  const RestApiId = { Ref: 'Other' };
  const changes = {
    Other: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'the other' } },
    OtherStage: { Type: 'AWS::ApiGateway::Stage', Properties: { RestApiId, StageName: 'test' } },
    OtherGet: {
      Type: 'AWS::ApiGateway::Method',
      Properties: {
        RestApiId,
        ResourceId: { 'Fn::GetAtt': ['Other', 'RootResourceId'] },
        HttpMethod: 'GET',
        AuthorizationType: 'AWS_IAM',
      },
    },
  };
  const first = await start(greetingTemplate('greet', changes), { api: 'Api' });
  expect((await first.get()).status).toBe(200);
  expect(first.progress).toEqual([]);
  const { service, progress } = await start(greetingTemplate('greet', changes), { api: 'the other' });
  expect(service.url).toMatch(/\/test$/);
  expect(progress).toEqual(['GET / answers 501: authorization by AWS_IAM is not supported by cdk-offline']);
});

it('routes with a request validator are named in one line', async () => {
  const template = greetingTemplate() as { Resources: Record<string, { Properties: object }> };
  const { Get } = template.Resources;
  if (Get !== undefined) Get.Properties = { ...Get.Properties, RequestValidatorId: { Ref: 'Validator' } };
  const Validator = { Type: 'AWS::ApiGateway::RequestValidator', Properties: { ValidateRequestBody: true } };
  const { progress } = await start({ ...template, Resources: { ...template.Resources, Validator } });
  expect(progress).toEqual(['Request validators are not run by cdk-offline: GET /greet']);
});
