import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestOf } from './greeting.ts';

/** A stack made by hand, with everything that the local service serves, and nothing of any real one. */

/** Answers with its event, its context and its variables. */
const echo = `
export const handler = async (event, context) => {
  const { getRemainingTimeInMillis, ...rest } = context;
  const body = { event, context: { ...rest, remaining: getRemainingTimeInMillis() }, variables: { ...process.env } };
  return { statusCode: 200, headers: { 'X-Made-By': 'echo' }, body: JSON.stringify(body) };
};`;

/** Does what the request's body says. CommonJS, in a file whose kind depends on the folder it lies in. */
const puppet = `
const { setTimeout: sleep } = require('node:timers/promises');
let served = 0;
let running = 0;
exports.handler = async (event) => {
  const { answer, fail, exit, crash, sleepMs = 0, repeat, log, waitFor } = JSON.parse(event.body ?? '{}');
  served += 1;
  running += 1;
  const together = running;
  if (log) {
    console.log(log);
    console.warn({ structured: log });
    console.debug('below the level', log);
    console.error(log, new TypeError('an error'));
    process.stdout.write(JSON.stringify({ raw: log }) + '\\n');
  }
  if (crash) setTimeout(() => { throw new Error('uncaught'); });
  await sleep(sleepMs);
  if (waitFor) await fetch(waitFor);
  running -= 1;
  if (exit !== undefined) process.exit(exit);
  if (fail) throw new Error(fail);
  if (repeat) return { statusCode: 200, body: 'x'.repeat(repeat) };
  return answer ?? { statusCode: 200, body: JSON.stringify({ served, together }) };
};`;

/** Knows its callers by their token: "Bearer key <VALUE>", "Bearer deny", "Bearer fail", "Bearer nonsense". */
const authorizer = `
let asked = 0;
export const handler = async ({ authorizationToken, methodArn }) => {
  asked += 1;
  const [, what, usageIdentifierKey] = authorizationToken.split(' ');
  if (what === 'fail') throw new Error('boom');
  if (what === 'unauthorized') throw new Error('Unauthorized');
  if (what === 'nonsense') return { hello: 'world' };
  const Effect = what === 'deny' ? 'Deny' : 'Allow';
  const Resource = what === 'once' ? methodArn : methodArn.split('/').slice(0, 2).join('/') + '/*';
  return {
    principalId: 'caller',
    policyDocument: { Version: '2012-10-17', Statement: [{ Action: 'execute-api:Invoke', Effect, Resource }] },
    context: { asked, allowance: 300 },
    usageIdentifierKey,
  };
};`;

const broken = `import './no-such-module.mjs';`;

const code = {
  echo: ['index.mjs', echo],
  puppet: ['index.js', puppet],
  authorizer: ['index.mjs', authorizer],
  broken: ['index.mjs', broken],
} as const;
type CodeName = keyof typeof code;

function functionResource(of: CodeName, properties: object = {}): object {
  return {
    Type: 'AWS::Lambda::Function',
    Properties: {
      Code: { S3Bucket: { 'Fn::Sub': 'assets-${AWS::AccountId}' }, S3Key: `${of}.zip` },
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      Role: { 'Fn::GetAtt': ['Role', 'Arn'] },
      ...properties,
    },
  };
}

function invocation(target: object): object {
  return {
    'Fn::Join': [
      '',
      [
        'arn:',
        { Ref: 'AWS::Partition' },
        ':apigateway:',
        { Ref: 'AWS::Region' },
        ':lambda:path/2015-03-31/functions/',
        target,
        '/invocations',
      ],
    ],
  };
}

const arnOf = (logicalId: string) => ({ 'Fn::GetAtt': [logicalId, 'Arn'] });
const echoAlias = { Ref: 'EchoLive' };

function permission(target: object): object {
  return {
    Type: 'AWS::Lambda::Permission',
    Properties: {
      Action: 'lambda:InvokeFunction',
      FunctionName: target,
      Principal: 'apigateway.amazonaws.com',
    },
  };
}

function path(parent: object, part: string): object {
  return {
    Type: 'AWS::ApiGateway::Resource',
    Properties: { RestApiId: { Ref: 'Api' }, ParentId: parent, PathPart: part },
  };
}

const root = { 'Fn::GetAtt': ['Api', 'RootResourceId'] };

function method(
  resource: object,
  httpMethod: string,
  target: object,
  properties: object = {},
  integration: object = {},
) {
  return {
    Type: 'AWS::ApiGateway::Method',
    Properties: {
      RestApiId: { Ref: 'Api' },
      ResourceId: resource,
      HttpMethod: httpMethod,
      AuthorizationType: 'NONE',
      Integration: {
        Type: 'AWS_PROXY',
        IntegrationHttpMethod: 'POST',
        Uri: invocation(target),
        ...integration,
      },
      ...properties,
    },
  };
}

const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const metered = { ...guarded, ApiKeyRequired: true };

function usagePlan(name: string, limits: object): object {
  return {
    Type: 'AWS::ApiGateway::UsagePlan',
    Properties: {
      UsagePlanName: name,
      ApiStages: [{ ApiId: { Ref: 'Api' }, Stage: { Ref: 'Stage' } }],
      ...limits,
    },
  };
}

function gatewayResponse(ResponseType: string, properties: object): object {
  return {
    Type: 'AWS::ApiGateway::GatewayResponse',
    Properties: { RestApiId: { Ref: 'Api' }, ResponseType, ...properties },
  };
}

/** The indexes of the table of goods. */
export const goodsIndexes = [
  {
    IndexName: 'byColour',
    KeySchema: [
      { AttributeName: 'colour', KeyType: 'HASH' },
      { AttributeName: 'id', KeyType: 'RANGE' },
    ],
    Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['weight'] },
  },
];

/** @param suffix keeps the tables of several stacks in one DynamoDB Local apart */
export function template(suffix: string): { Resources: Record<string, object>; Outputs: object } {
  return {
    Resources: {
      Role: { Type: 'AWS::IAM::Role', Properties: {} },
      Queue: { Type: 'AWS::SQS::Queue', Properties: {} },
      Goods: {
        Type: 'AWS::DynamoDB::GlobalTable',
        Properties: {
          TableName: `goods-${suffix}`,
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [
            { AttributeName: 'id', AttributeType: 'N' },
            { AttributeName: 'colour', AttributeType: 'S' },
          ],
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          GlobalSecondaryIndexes: goodsIndexes,
          TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
          Replicas: [{ Region: { Ref: 'AWS::Region' } }],
        },
      },
      Stock: {
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          TableName: `stock-${suffix}`,
          AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
          KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
          ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
          StreamSpecification: { StreamViewType: 'NEW_IMAGE' },
        },
      },
      Echo: functionResource('echo', {
        FunctionName: `echo-${suffix}`,
        MemorySize: 256,
        Timeout: 10,
        Environment: { Variables: { GOODS_TABLE: { Ref: 'Goods' }, AWS_REGION: 'cannot-be-set' } },
      }),
      EchoVersion: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'Echo' } } },
      EchoLive: {
        Type: 'AWS::Lambda::Alias',
        Properties: {
          FunctionName: { Ref: 'Echo' },
          Name: 'live',
          FunctionVersion: { 'Fn::GetAtt': ['EchoVersion', 'Version'] },
        },
      },
      Puppet: functionResource('puppet', {
        Timeout: 30,
        LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO' },
      }),
      Hasty: functionResource('puppet', { Timeout: 1 }),
      Lonely: functionResource('puppet', { Timeout: 60, ReservedConcurrentExecutions: 1 }),
      Closed: functionResource('puppet', { ReservedConcurrentExecutions: 0 }),
      Broken: functionResource('broken'),
      Unused: {
        Type: 'AWS::Lambda::Function',
        Properties: { Runtime: 'python3.13', Handler: 'a.b', Code: {} },
      },
      Authorize: functionResource('authorizer'),
      EchoPermission: permission(echoAlias),
      ...Object.fromEntries(
        ['Puppet', 'Hasty', 'Lonely', 'Closed', 'Broken', 'Authorize'].map((name) => [
          `${name}Permission`,
          permission(arnOf(name)),
        ]),
      ),

      Api: {
        Type: 'AWS::ApiGateway::RestApi',
        Properties: {
          Name: 'api',
          ApiKeySourceType: 'AUTHORIZER',
          BinaryMediaTypes: ['application/octet-stream'],
        },
      },
      Deployment: { Type: 'AWS::ApiGateway::Deployment', Properties: { RestApiId: { Ref: 'Api' } } },
      Stage: {
        Type: 'AWS::ApiGateway::Stage',
        Properties: {
          RestApiId: { Ref: 'Api' },
          DeploymentId: { Ref: 'Deployment' },
          StageName: 'v7',
          Variables: { colour: 'red' },
        },
      },
      Authorizer: {
        Type: 'AWS::ApiGateway::Authorizer',
        Properties: {
          RestApiId: { Ref: 'Api' },
          Name: 'authorizer',
          Type: 'TOKEN',
          AuthorizerUri: invocation(arnOf('Authorize')),
          IdentitySource: 'method.request.header.Authorization',
          IdentityValidationExpression: 'Bearer .*',
          AuthorizerResultTtlInSeconds: 300,
        },
      },
      EchoPath: path(root, 'echo'),
      EchoIdPath: path({ Ref: 'EchoPath' }, '{id}'),
      FilesPath: path(root, 'files'),
      FilesAllPath: path({ Ref: 'FilesPath' }, '{path+}'),
      FilesKnownPath: path({ Ref: 'FilesPath' }, 'known'),
      DoPath: path(root, 'do'),
      SlowPath: path(root, 'slow'),
      LonelyPath: path(root, 'lonely'),
      HastyPath: path(root, 'hasty'),
      ClosedPath: path(root, 'closed'),
      BrokenPath: path(root, 'broken'),
      MockPath: path(root, 'mock'),
      GuardedPath: path(root, 'guarded'),
      GuardedOtherPath: path({ Ref: 'GuardedPath' }, '{other}'),
      MeteredPath: path(root, 'metered'),
      EchoAny: method({ Ref: 'EchoPath' }, 'ANY', echoAlias),
      EchoRoot: method(root, 'GET', echoAlias),
      EchoIdGet: method({ Ref: 'EchoIdPath' }, 'GET', echoAlias),
      FilesAny: method({ Ref: 'FilesAllPath' }, 'ANY', echoAlias),
      FilesKnownGet: method({ Ref: 'FilesKnownPath' }, 'GET', echoAlias),
      DoPost: method({ Ref: 'DoPath' }, 'POST', arnOf('Puppet')),
      DoGet: method({ Ref: 'DoPath' }, 'GET', echoAlias),
      SlowPost: method({ Ref: 'SlowPath' }, 'POST', arnOf('Puppet'), {}, { TimeoutInMillis: 100 }),
      LonelyPost: method({ Ref: 'LonelyPath' }, 'POST', arnOf('Lonely')),
      HastyPost: method({ Ref: 'HastyPath' }, 'POST', arnOf('Hasty')),
      ClosedPost: method({ Ref: 'ClosedPath' }, 'POST', arnOf('Closed')),
      BrokenGet: method({ Ref: 'BrokenPath' }, 'GET', arnOf('Broken')),
      MockGet: method({ Ref: 'MockPath' }, 'GET', echoAlias, { Integration: { Type: 'MOCK' } }),
      GuardedGet: method({ Ref: 'GuardedPath' }, 'GET', echoAlias, guarded),
      GuardedOtherGet: method({ Ref: 'GuardedOtherPath' }, 'GET', echoAlias, guarded),
      MeteredGet: method({ Ref: 'MeteredPath' }, 'GET', echoAlias, metered),

      // Rates so low that no test is slow enough to gain a token.
      Tiny: usagePlan('tiny', { Throttle: { RateLimit: 0.001, BurstLimit: 2 } }),
      Daily: usagePlan('daily', { Quota: { Limit: 2, Period: 'DAY' } }),
      Free: usagePlan('free', {}),
      TemplateKey: {
        Type: 'AWS::ApiGateway::ApiKey',
        Properties: { Name: 'of-the-template', Enabled: true, Value: 'templatekey0123456789' },
      },
      TemplateKeyPlan: {
        Type: 'AWS::ApiGateway::UsagePlanKey',
        Properties: { KeyId: { Ref: 'TemplateKey' }, KeyType: 'API_KEY', UsagePlanId: { Ref: 'Free' } },
      },
      DeniedResponse: gatewayResponse('ACCESS_DENIED', {
        StatusCode: '401',
        ResponseParameters: {
          'gatewayresponse.header.WWW-Authenticate': '\'Bearer error="invalid_token"\'',
          'gatewayresponse.header.X-Caller': 'context.authorizer.principalId',
        },
        ResponseTemplates: {
          'application/json': '{"why":$context.error.messageString,"id":"$context.requestId"}',
        },
      }),
      ThrottledResponse: gatewayResponse('THROTTLED', {
        ResponseParameters: {
          'gatewayresponse.header.Retry-After': "'60'",
          'gatewayresponse.header.X-Limit': 'context.authorizer.allowance',
        },
      }),
      DefaultResponse: gatewayResponse('DEFAULT_4XX', {
        ResponseTemplates: { 'application/json': '{"type":"$context.error.responseType"}' },
      }),
    },
    Outputs: {
      Goods: { Value: { Ref: 'Goods' } },
      ApiId: { Value: { Ref: 'Api' } },
      Url: { Value: { 'Fn::Sub': 'https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}/${Stage}/' } },
      Tiny: { Value: { Ref: 'Tiny' } },
      Daily: { Value: { Ref: 'Daily' } },
      Free: { Value: { Ref: 'Free' } },
      Hidden: { Value: { 'Fn::ImportValue': 'elsewhere' } },
    },
  };
}

export interface WrittenAssembly {
  readonly directory: string;
  remove(): Promise<void>;
}

/** Writes what `cdk synth` would. */
export async function writeAssembly(stackName: string, content: object): Promise<WrittenAssembly> {
  const directory = await mkdtemp(join(tmpdir(), 'assembly-'));
  const write = (name: string, value: object) => writeFile(join(directory, name), JSON.stringify(value));
  await write('manifest.json', manifestOf(stackName));
  await write(`${stackName}.template.json`, content);
  await write(`${stackName}.assets.json`, {
    version: '1',
    files: Object.fromEntries(
      Object.keys(code).map((name) => [
        name,
        {
          source: { path: `asset.${name}`, packaging: 'zip' },
          destinations: { here: { bucketName: 'assets', objectKey: `${name}.zip` } },
        },
      ]),
    ),
  });
  for (const [name, [file, text]] of Object.entries(code)) {
    await mkdir(join(directory, `asset.${name}`));
    await writeFile(join(directory, `asset.${name}`, file), text);
  }
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
