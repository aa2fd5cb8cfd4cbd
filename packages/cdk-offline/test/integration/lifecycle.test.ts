import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  APIGatewayClient,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
} from '@aws-sdk/client-api-gateway';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type OfflineService, serve } from 'cdk-offline';
import { code, template } from './whole-stack.ts';
import { startGate } from './gate.ts';
import { answer, greetingAssembly, greetingTemplate, serveGreeting } from './greeting.ts';
import { arnOf, method, removeDirectory, table, usagePlan, writeAssembly } from './template.ts';

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

const copiesOfCode = async () => (await readdir(temporary)).filter((name) => name.startsWith('cdk-offline-'));

/** Listens at a free port, and stops unless it is kept. */
async function listen() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

describe('starting and stopping', () => {
  it('serves the same stack twice at the same time, and announces only the tables that it creates', async () => {
    const things = greetingTemplate({ Things: table(`things-${process.pid}`) });
    const started = await Promise.all([serveGreeting(things), serveGreeting(things)]);
    expect(started.flatMap(({ progress }) => progress)).toContain('Created the tables');
    for (const { get } of started) expect((await get()).status).toBe(200);
    expect((await serveGreeting(things)).progress).toEqual([]);
  });

  it('stop can be called twice and during requests, and leaves nothing behind', async () => {
    const gate = await startGate();
    const held = `(event.queryStringParameters ? await fetch('${gate.url}') : 'done')`;
    const { service, get } = await serveGreeting(undefined, { code: answer(held) });
    expect(await copiesOfCode()).toHaveLength(1);
    const cut = get('/greet?wait=1').catch(() => 'cut');
    await gate.reached;
    expect((await get()).status).toBe(200);
    await Promise.all([service.stop(), service.stop()]);
    expect(await cut).toBe('cut');
    await service.stop();
    await expect(get()).rejects.toThrow('fetch failed');
    expect(await copiesOfCode()).toEqual([]);
  });

  it('listens on the loopback interface at the given port, and names a port in use', async () => {
    const { port, close } = await listen();
    await expect(serveGreeting(undefined, { port })).rejects.toThrow(`Port ${port} is in use.`);
    await once(close(), 'close');
    const { service } = await serveGreeting(undefined, { port });
    expect(service.endpoint).toBe(`http://127.0.0.1:${port}`);
  });
});

describe('a data directory', () => {
  it('keeps API keys, their plans and their usage in a file that only its owner can read', async () => {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'data-'));
    onTestFinished(() => removeDirectory(dataDirectory));
    const assembly = await greetingAssembly({
      ...greetingTemplate({
        Daily: usagePlan('daily', { Quota: { Limit: 2, Period: 'DAY' } }),
        Get: method({ Ref: 'Path' }, arnOf('Greet'), { ApiKeyRequired: true }),
      }),
      Outputs: { Daily: { Value: { Ref: 'Daily' } } },
    });
    const start = () => serveGreeting(undefined, { assembly, dataDirectory });
    const { service } = await start();
    const client = new APIGatewayClient({
      region: 'us-east-1',
      endpoint: service.endpoint,
      credentials: service.credentials,
    });
    const value = 'keptkey01234567890123456789';
    const { id: keyId } = await client.send(new CreateApiKeyCommand({ value, enabled: true }));
    const usagePlanId = service.outputs['Daily'];
    await client.send(new CreateUsagePlanKeyCommand({ usagePlanId, keyId, keyType: 'API_KEY' }));
    const call = async ({ url }: OfflineService) =>
      (await fetch(`${url}/greet`, { headers: { 'x-api-key': value } })).status;
    expect(await call(service)).toBe(200);
    await service.stop();

    const [file = ''] = await readdir(dataDirectory);
    const path = join(dataDirectory, file);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const { service: second } = await start();
    expect([await call(second), await call(second)]).toEqual([200, 429]);
    await second.stop();

    await writeFile(path, (await readFile(path, 'utf8')).slice(0, 50));
    await expect(start()).rejects.toThrow(/is damaged\. Move it to another folder/);
  });
});

describe('a stack that cannot be served is rejected with the reason', () => {
  type Stack = ReturnType<typeof template>;
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
      'a Cognito authorizer without a pool',
      (stack) => set(stack, 'Authorizer', { Type: 'COGNITO_USER_POOLS' }),
      /GET \/guarded, .* answers 501: Authorizer .*ProviderARNs/,
    ],
    [
      'an authorizer of another type',
      (stack) => set(stack, 'Authorizer', { Type: 'JWT' }),
      /GET \/guarded, .* answers 501: Authorizer .*authorizers of this type are not supported/,
    ],
    [
      'an invalid token expression',
      (stack) => set(stack, 'Authorizer', { IdentityValidationExpression: '(' }),
      /Authorizer: SyntaxError/,
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
    const stack = template('rejected');
    change(stack);
    const assembly = await writeAssembly({ Lifecycle: stack }, code);
    onTestFinished(() => removeDirectory(assembly));
    await expect(serve({ assembly, stack: 'Lifecycle', strict: true })).rejects.toThrow(message);
    expect(await copiesOfCode()).toEqual([]);
  });
});
