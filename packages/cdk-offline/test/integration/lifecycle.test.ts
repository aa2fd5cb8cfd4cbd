import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  APIGatewayClient,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
} from '@aws-sdk/client-api-gateway';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { type OfflineService, serve, type ServeOptions } from 'cdk-offline';
import { template, writeAssembly } from './fixture.ts';

const stackName = 'Lifecycle';
const suffix = `lifecycle-${process.pid}`;
const cleanUps: (() => Promise<unknown>)[] = [];

// A temporary folder of its own shows what is left behind, whatever else runs on this machine.
let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'lifecycle-'));
  // CommonJS functions have to work below it.
  await writeFile(join(temporary, 'package.json'), '{ "type": "module" }');
  vi.stubEnv('TMPDIR', temporary);
});
afterAll(async () => {
  await rm(temporary, { recursive: true });
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

type Stack = ReturnType<typeof template>;

async function start(
  options: Partial<ServeOptions> = {},
  change: (stack: Stack) => unknown = () => {},
): Promise<OfflineService> {
  const stack = template(suffix);
  change(stack);
  const assembly = await writeAssembly(stackName, stack);
  cleanUps.push(() => assembly.remove());
  const service = await serve({
    assembly: assembly.directory,
    stack: stackName,
    dynamodbEndpoint: inject('dynamodbEndpoint'),
    ...options,
  });
  cleanUps.push(() => service.stop());
  return service;
}

const copiesOfCode = async () => (await readdir(temporary)).filter((name) => name.startsWith('cdk-offline-'));

describe('starting and stopping', () => {
  it('announces the tables that it creates, and no others', async () => {
    const keyedById = {
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    };
    const progress: string[] = [];
    const startWithNewTable = () =>
      start({ onProgress: (line) => void progress.push(line) }, (stack) => {
        const things = { TableName: `things-${suffix}`, BillingMode: 'PAY_PER_REQUEST', ...keyedById };
        stack.Resources['Things'] = { Type: 'AWS::DynamoDB::Table', Properties: things };
      });
    await startWithNewTable();
    expect(progress).toContain('Created the tables');
    progress.length = 0;
    await startWithNewTable();
    expect(progress).not.toContain('Created the tables');
  });

  it('stop can be called twice and during requests, and leaves nothing behind', async () => {
    const service = await start();
    expect(await copiesOfCode()).toHaveLength(1);
    const cut = fetch(`${service.url}/do`, { method: 'POST', body: '{"sleepMs":25000}' }).catch(() => 'cut');
    expect((await fetch(`${service.url}/do`, { method: 'POST', body: '{}' })).status).toBe(200);
    await Promise.all([service.stop(), service.stop()]);
    expect(await cut).toBe('cut');
    await service.stop();
    await expect(fetch(`${service.url}/echo`)).rejects.toThrow('fetch failed');
    expect(await copiesOfCode()).toEqual([]);
  });

  it('serves the same stack twice at the same time', async () => {
    const [one, other] = await Promise.all([start(), start()]);
    expect(one.url).not.toBe(other.url);
    expect((await fetch(`${one.url}/echo`)).status).toBe(200);
    expect((await fetch(`${other.url}/echo`)).status).toBe(200);
  });

  it('names a port in use and what to do', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => void server.once('listening', done));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(start({ port })).rejects.toThrow(`Port ${port} is in use.`);
    server.close();
  });

  it('listens on the loopback interface at the given port', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => void free.once('listening', done));
    const address = free.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((done) => void free.close(done));
    expect((await start({ port })).endpoint).toBe(`http://127.0.0.1:${port}`);
  });
});

describe('a data directory', () => {
  it('keeps API keys, their plans and their usage in a file that only its owner can read', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'data-'));
    cleanUps.push(() => rm(dataDirectory, { recursive: true }));
    const first = await start({ dataDirectory });
    const client = new APIGatewayClient({
      region: 'us-east-1',
      endpoint: first.endpoint,
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    });
    const value = 'keptkey01234567890123456789';
    const { id } = await client.send(new CreateApiKeyCommand({ value, enabled: true }));
    await client.send(
      new CreateUsagePlanKeyCommand({ usagePlanId: first.outputs['Daily'], keyId: id, keyType: 'API_KEY' }),
    );
    const call = async ({ url }: OfflineService) =>
      (await fetch(`${url}/metered`, { headers: { Authorization: `Bearer key ${value}` } })).status;
    expect(await call(first)).toBe(200);
    await first.stop();

    const [file = ''] = await readdir(dataDirectory);
    expect((await stat(join(dataDirectory, file))).mode & 0o777).toBe(0o600);
    const second = await start({ dataDirectory });
    expect([await call(second), await call(second)]).toEqual([200, 429]);
    await second.stop();

    await writeFile(
      join(dataDirectory, file),
      (await readFile(join(dataDirectory, file), 'utf8')).slice(0, 50),
    );
    await expect(start({ dataDirectory })).rejects.toThrow(/is damaged\. Move it to another folder/);
  });
});

describe('a stack that cannot be served is rejected with the reason', () => {
  const set = (stack: Stack, logicalId: string, properties: object): void => {
    const resource = stack.Resources[logicalId] as { Properties: object };
    resource.Properties = { ...resource.Properties, ...properties };
  };

  it.each<[string, (stack: Stack) => unknown, RegExp]>([
    [
      'a second API',
      (stack) => (stack.Resources['Api2'] = stack.Resources['Api'] ?? {}),
      /Lifecycle has several REST APIs: choose one with --api \(there is Api, Api2\)/,
    ],
    [
      'no stage',
      (stack) => delete stack.Resources['Stage'],
      /Lifecycle: the API Api must have one stage \(there is none\)/,
    ],
    ['an imported API', (stack) => set(stack, 'Api', { Body: {} }), /Api .*OpenAPI/s],
    [
      'IAM authorization',
      (stack) => set(stack, 'EchoRoot', { AuthorizationType: 'AWS_IAM' }),
      /GET \/ answers 501: authorization by AWS_IAM is not supported/,
    ],
    [
      'a Cognito authorizer',
      (stack) => set(stack, 'Authorizer', { Type: 'COGNITO_USER_POOLS' }),
      /GET \/guarded, .* answers 501: Authorizer .*only TOKEN and REQUEST authorizers/,
    ],
    [
      'an invalid token expression',
      (stack) => set(stack, 'Authorizer', { IdentityValidationExpression: '(' }),
      /Authorizer: SyntaxError/,
    ],
    [
      'a function in another language',
      (stack) => set(stack, 'Echo', { Runtime: 'python3.13' }),
      /Echo .*only Node\.js functions/s,
    ],
    [
      'a container image',
      (stack) => set(stack, 'Echo', { Code: { ImageUri: 'x' } }),
      /Echo .*container images are not supported/s,
    ],
    [
      'code that is not an asset',
      (stack) => set(stack, 'Echo', { Code: { S3Key: 'none.zip' } }),
      /Echo: its code none\.zip is not an asset of the stack/,
    ],
    [
      'a function that API Gateway may not invoke',
      (stack) => delete stack.Resources['EchoPermission'],
      /No AWS::Lambda::Permission lets API Gateway invoke .*:function:echo-.*:live/,
    ],
    [
      'an integration with another stack’s function',
      (stack) =>
        set(stack, 'EchoRoot', {
          Integration: {
            Type: 'AWS_PROXY',
            IntegrationHttpMethod: 'POST',
            Credentials: 'r',
            Uri: 'arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/arn:aws:lambda:us-east-1:123456789012:function:other/invocations',
          },
        }),
      /The stack has no function .*:other/,
    ],
  ])('%s', async (_, change, message) => {
    await expect(start({ strict: true }, change)).rejects.toThrow(message);
    expect(await copiesOfCode()).toEqual([]);
  });

  it('a stack that is not synthesized', async () => {
    await expect(start({ stack: 'Other' })).rejects.toThrow(
      /has no stack Other, or several\. It has: Lifecycle\.$/,
    );
  });
});
