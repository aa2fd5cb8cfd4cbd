import { type RequestRecord, serve } from 'cdk-offline';
import { inject } from 'vitest';
import { z } from 'zod';
import {
  arnOf,
  attribute,
  type Code,
  gatewayResponse,
  integration,
  invocable,
  invocation,
  lambdaFunction,
  method,
  permission,
  removeDirectory,
  resource,
  root,
  usagePlan,
  writeAssembly,
} from './template.ts';

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
  const Resource = methodArn.split('/').slice(0, 2).join('/') + '/*';
  return {
    principalId: 'caller',
    policyDocument: { Version: '2012-10-17', Statement: [{ Action: 'execute-api:Invoke', Effect, Resource }] },
    context: { asked, allowance: 300 },
    usageIdentifierKey,
  };
};`;

/** The assets of the template. */
export const code: Code = {
  echo: ['index.mjs', echo],
  puppet: ['index.js', puppet],
  authorizer: ['index.mjs', authorizer],
  broken: ['index.mjs', `import './no-such-module.mjs';`],
};

const echoAlias = { Ref: 'EchoLive' };
const slow = { Integration: integration(arnOf('Puppet'), { TimeoutInMillis: 100 }) };
const guarded = { AuthorizationType: 'CUSTOM', AuthorizerId: { Ref: 'Authorizer' } };
const metered = { ...guarded, ApiKeyRequired: true };

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
      Echo: lambdaFunction('echo', {
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
          FunctionVersion: attribute('EchoVersion', 'Version'),
        },
      },
      EchoPermission: permission(echoAlias),
      ...invocable('Puppet', 'puppet', {
        Timeout: 30,
        LoggingConfig: { LogFormat: 'JSON', ApplicationLogLevel: 'INFO' },
      }),
      ...invocable('Hasty', 'puppet', { Timeout: 1 }),
      ...invocable('Lonely', 'puppet', { Timeout: 60, ReservedConcurrentExecutions: 1 }),
      ...invocable('Closed', 'puppet', { ReservedConcurrentExecutions: 0 }),
      ...invocable('Broken', 'broken'),
      ...invocable('Authorize', 'authorizer'),
      Unused: {
        Type: 'AWS::Lambda::Function',
        Properties: { Runtime: 'python3.13', Handler: 'a.b', Code: {} },
      },

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
      EchoRoot: method(root, echoAlias),
      EchoPath: resource('echo'),
      EchoAny: method({ Ref: 'EchoPath' }, echoAlias, {}, 'ANY'),
      EchoIdPath: resource('{id}', { Ref: 'EchoPath' }),
      EchoIdGet: method({ Ref: 'EchoIdPath' }, echoAlias),
      FilesPath: resource('files'),
      FilesAllPath: resource('{path+}', { Ref: 'FilesPath' }),
      FilesAny: method({ Ref: 'FilesAllPath' }, echoAlias, {}, 'ANY'),
      FilesKnownPath: resource('known', { Ref: 'FilesPath' }),
      FilesKnownGet: method({ Ref: 'FilesKnownPath' }, echoAlias),
      DoPath: resource('do'),
      DoGet: method({ Ref: 'DoPath' }, echoAlias),
      DoPost: method({ Ref: 'DoPath' }, arnOf('Puppet'), {}, 'POST'),
      SlowPath: resource('slow'),
      SlowPost: method({ Ref: 'SlowPath' }, arnOf('Puppet'), slow, 'POST'),
      LonelyPath: resource('lonely'),
      LonelyPost: method({ Ref: 'LonelyPath' }, arnOf('Lonely'), {}, 'POST'),
      HastyPath: resource('hasty'),
      HastyPost: method({ Ref: 'HastyPath' }, arnOf('Hasty'), {}, 'POST'),
      ClosedPath: resource('closed'),
      ClosedPost: method({ Ref: 'ClosedPath' }, arnOf('Closed'), {}, 'POST'),
      BrokenPath: resource('broken'),
      BrokenGet: method({ Ref: 'BrokenPath' }, arnOf('Broken')),
      MockPath: resource('mock'),
      MockGet: method({ Ref: 'MockPath' }, echoAlias, { Integration: { Type: 'MOCK' } }),
      GuardedPath: resource('guarded'),
      GuardedGet: method({ Ref: 'GuardedPath' }, echoAlias, guarded),
      GuardedOtherPath: resource('{other}', { Ref: 'GuardedPath' }),
      GuardedOtherGet: method({ Ref: 'GuardedOtherPath' }, echoAlias, guarded),
      MeteredPath: resource('metered'),
      MeteredGet: method({ Ref: 'MeteredPath' }, echoAlias, metered),

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

/** Serves the stack. Its tables are those of this name and process. */
export async function serveWholeStack(stack: string) {
  const suffix = `${stack.toLowerCase()}-${process.pid}`;
  const progress: string[] = [];
  const logs: { readonly from: string; readonly line: string }[] = [];
  const records: RequestRecord[] = [];
  const assembly = await writeAssembly({ [stack]: template(suffix) }, code);
  const service = await serve({
    assembly,
    stack,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (message) => void progress.push(message),
    onLog: (from, line) => void logs.push({ from, line }),
    onRequest: (record) => void records.push(record),
  });
  // What was synthesized is not needed any longer.
  await removeDirectory(assembly);
  return { service, suffix, progress, logs, records };
}

const echoed = z.object({
  event: z.record(z.string(), z.unknown()),
  context: z.record(z.string(), z.unknown()),
  variables: z.record(z.string(), z.string()),
});

/** An answer of the function Echo. */
export async function echoOf(response: Response | Promise<Response>): Promise<z.infer<typeof echoed>> {
  return echoed.parse(await (await response).json());
}
