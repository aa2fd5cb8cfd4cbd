/* oxlint-disable no-new -- constructs add themselves to their scope */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, CfnOutput, NestedStack, Stack } from 'aws-cdk-lib';
import {
  CognitoUserPoolsAuthorizer,
  Deployment,
  type IRestApi,
  LambdaIntegration,
  RestApi,
  Stage,
} from 'aws-cdk-lib/aws-apigateway';
import { UserPool } from 'aws-cdk-lib/aws-cognito';
import { AttributeType, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { DescribeTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import type { Construct } from 'constructs';
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { serve, type ServeOptions } from 'cdk-offline';
import { removeDirectory } from './template.ts';

/** Small apps, written with the CDK and synthesized by it. */

/** Serves the app until the test ends. */
async function serveApp(build: (app: App) => void, options: Partial<ServeOptions> = {}) {
  vi.stubEnv('CDK_VALIDATION', 'false'); // its own takes seconds
  onTestFinished(() => void vi.unstubAllEnvs());
  const assembly = await mkdtemp(join(tmpdir(), 'cdk-app-'));
  onTestFinished(() => removeDirectory(assembly));
  const app = new App({
    outdir: assembly,
    analyticsReporting: false,
    context: { 'aws:cdk:enable-path-metadata': true }, // as its command sets it
  });
  build(app);
  app.synth();
  const progress: string[] = [];
  const service = await serve({
    assembly,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    onProgress: (line) => void progress.push(line),
    ...options,
  });
  onTestFinished(() => service.stop());
  const get = (path: string, init?: RequestInit) => fetch(service.url + path, init);
  return { service, progress, get };
}

/** A function that answers with the value of an expression. */
function newFunction(
  scope: Construct,
  id: string,
  expression: string,
  environment: Record<string, string> = {},
) {
  const text = `exports.handler = async (event) => ({ statusCode: 200, body: JSON.stringify(${expression}) });`;
  return new LambdaFunction(scope, id, {
    code: Code.fromInline(text),
    handler: 'index.handler',
    runtime: Runtime.NODEJS_24_X,
    environment,
  });
}

const newTable = (scope: Construct, id: string) =>
  new Table(scope, id, { partitionKey: { name: 'id', type: AttributeType.STRING } });

const newApi = (scope: Construct, id = 'Api') => new RestApi(scope, id, { cloudWatchRole: false });

describe('nested stacks', () => {
  it('a REST API in a nested stack is served, with a function and a table in others', async () => {
    const { service, progress, get } = await serveApp((app) => {
      const root = new Stack(app, 'Shop');
      const data = new NestedStack(root, 'Data');
      const table = newTable(data, 'Goods');
      const code = new NestedStack(root, 'Code');
      const list = newFunction(code, 'List', 'process.env.TABLE', { TABLE: table.tableName });
      table.grantReadData(list);
      const api = newApi(new NestedStack(root, 'Front'));
      api.root.addResource('goods').addMethod('GET', new LambdaIntegration(list));
      new CfnOutput(root, 'Address', { value: api.url });
      newTable(new Stack(app, 'Other'), 'NotServed');
    });
    expect(progress).toEqual(['Created the tables']);
    const name = await (await get('/goods')).json();
    expect(name).toMatch(/^Shop-Data\w*-Goods/);
    expect(service.functions.map(({ label }) => label)).toEqual(['Code/List']);
    expect(service.outputs).toEqual({ Address: `${service.url}/` });
    const { endpoint, credentials } = service;
    const client = new DynamoDBClient({ region: 'us-east-1', endpoint, credentials });
    await client.send(new DescribeTableCommand({ TableName: String(name) }));
  });

  it('resources and methods in a nested stack belong to the API of their parent', async () => {
    const { progress, get } = await serveApp((app) => {
      const root = new Stack(app, 'Shop');
      const api = newApi(root);
      api.root.addMethod('GET', new LambdaIntegration(newFunction(root, 'Home', "'home'")));
      const inner = new NestedStack(new NestedStack(root, 'Outer'), 'Inner');
      const { restApiId, restApiRootResourceId: rootResourceId } = api;
      const imported = RestApi.fromRestApiAttributes(inner, 'Api', { restApiId, rootResourceId });
      const greet = newFunction(inner, 'Greet', "'inner'");
      imported.root.addResource('inner').addMethod('GET', new LambdaIntegration(greet));
    });
    expect(progress).toEqual([]);
    expect(await (await get('/')).json()).toBe('home');
    expect(await (await get('/inner')).json()).toBe('inner');
  });
});

it('an API is served whose deployment and stage are in another stack', async () => {
  const { service, progress, get } = await serveApp((app) => {
    const stack = new Stack(app, 'Api');
    const api = new RestApi(stack, 'Api', { cloudWatchRole: false, deploy: false });
    api.root.addMethod('GET', new LambdaIntegration(newFunction(stack, 'Home', 'event.stageVariables')));
    const other = new Stack(app, 'Stages');
    const deployment = new Deployment(other, 'Deployment', { api: api as IRestApi });
    new Stage(other, 'Stage', { deployment, stageName: 'live', variables: { colour: 'red' } });
    newTable(new Stack(app, 'Unrelated'), 'Left');
  });
  expect(progress).toEqual([]);
  expect(service.url).toMatch(/\/live$/);
  expect(await (await get('/')).json()).toEqual({ colour: 'red' });
});

describe('a table that the stack of the API does not make', () => {
  it('is named at the start, and can be created at the address of the service', async () => {
    const { service, progress } = await serveApp((app) => {
      const stack = new Stack(app, 'Shop');
      const table = Table.fromTableName(stack, 'Goods', 'existing-goods');
      const list = newFunction(stack, 'List', "'listed'", { TABLE: table.tableName });
      table.grantReadWriteData(list);
      newApi(stack).root.addMethod('GET', new LambdaIntegration(list));
    });
    expect(progress).toEqual([
      'The table existing-goods is made by no stack of the app. Create it at the address of the service, or calls of it fail.',
    ]);
    const { endpoint, credentials } = service;
    const client = new DynamoDBClient({ region: 'us-east-1', endpoint, credentials });
    expect((await client.send(new ListTablesCommand({}))).TableNames).not.toContain('existing-goods');
  });

  it('is served when another stack of the app makes it under that name', async () => {
    const tableName = `goods-${process.pid}`;
    const { service, progress } = await serveApp((app) => {
      new Table(new Stack(app, 'Data'), 'Goods', {
        tableName,
        partitionKey: { name: 'id', type: AttributeType.STRING },
      });
      const stack = new Stack(app, 'Shop');
      const list = newFunction(stack, 'List', "'listed'");
      Table.fromTableName(stack, 'Goods', tableName).grantReadData(list);
      newApi(stack).root.addMethod('GET', new LambdaIntegration(list));
    });
    expect(progress).toEqual(['Created the tables']);
    const { endpoint, credentials } = service;
    const client = new DynamoDBClient({ region: 'us-east-1', endpoint, credentials });
    await client.send(new DescribeTableCommand({ TableName: tableName }));
  });
});

describe('a Cognito authorizer', () => {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    iss: '',
    exp: now + 600,
    iat: 1469814773,
    auth_time: 1469814773,
    token_use: 'id',
    aud: 'client',
    sub: 'me',
    email_verified: true,
    'cognito:groups': ['a', 'b'],
    identities: [{ userId: '1' }],
  };
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const tokenOf = (changes: object) => `${encoded({ alg: 'none' })}.${encoded({ ...claims, ...changes })}.`;

  /** Its routes answer with the caller; `/scoped` needs the scope `goods/read`. */
  async function servePool() {
    const { service, progress, get } = await serveApp((app) => {
      const stack = new Stack(app, 'Shop');
      const pool = new UserPool(stack, 'Users');
      const authorizer = new CognitoUserPoolsAuthorizer(stack, 'Authorizer', { cognitoUserPools: [pool] });
      const integration = new LambdaIntegration(newFunction(stack, 'Me', 'event.requestContext.authorizer'));
      const { root } = newApi(stack);
      root.addMethod('GET', integration, { authorizer });
      root
        .addResource('scoped')
        .addMethod('GET', integration, { authorizer, authorizationScopes: ['goods/read', 'goods/all'] });
      new CfnOutput(stack, 'Issuer', { value: pool.userPoolProviderUrl });
    });
    const { Issuer: iss = '' } = service.outputs;
    expect(progress).toEqual([
      `Tokens with the issuer ${iss} are accepted without a check of their signature`,
      expect.stringMatching(/^AWS::Cognito::UserPool is not supported by cdk-offline: Users/),
    ]);
    const ask = async (token: string | undefined, path = '/') => {
      const response = await get(path, token === undefined ? {} : { headers: { Authorization: token } });
      return { status: response.status, body: await response.json() };
    };
    return { iss, ask };
  }

  it('passes the claims as API Gateway does', async () => {
    const { iss, ask } = await servePool();
    expect(iss).toMatch(/^https:\/\/cognito-idp\.us-east-1\.amazonaws\.com\/us-east-1_\w{9}$/);
    for (const scheme of ['', 'Bearer ']) {
      expect(await ask(scheme + tokenOf({ iss }))).toEqual({
        status: 200,
        body: {
          claims: {
            iss,
            exp: expect.stringMatching(/^[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d [\d:]{8} UTC \d{4}$/),
            // As recorded on AWS: https://github.com/amazon-archives/amazon-cognito-identity-js/issues/92
            iat: 'Fri Jul 29 17:52:53 UTC 2016',
            auth_time: '1469814773',
            token_use: 'id',
            aud: 'client',
            sub: 'me',
            email_verified: 'true',
            'cognito:groups': 'a,b',
            identities: '{"userId":"1"}',
          },
        },
      });
    }
  });

  it('refuses no token, and one that is expired, of another pool, or no identity token', async () => {
    const { iss, ask } = await servePool();
    const refused = { status: 401, body: { message: 'Unauthorized' } };
    for (const token of [
      undefined,
      'nonsense',
      'a.b.c',
      tokenOf({}),
      tokenOf({ iss, token_use: 'access' }),
    ]) {
      expect({ token, ...(await ask(token)) }).toEqual({ token, ...refused });
    }
    expect(await ask(tokenOf({ iss, exp: now - 1 }))).toEqual({
      status: 401,
      body: { message: 'The incoming token has expired' },
    });
  });

  it('needs an access token with one of the scopes of the method', async () => {
    const { iss, ask } = await servePool();
    const access = (scope: string) => tokenOf({ iss, token_use: 'access', scope });
    expect((await ask(access('openid goods/read'), '/scoped')).status).toBe(200);
    expect((await ask(access('openid'), '/scoped')).status).toBe(403);
    expect((await ask(tokenOf({ iss, scope: 'goods/read' }), '/scoped')).status).toBe(401);
  });
});
