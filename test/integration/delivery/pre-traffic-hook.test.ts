import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type FunctionEntry, functionEntries } from '../../../lib/operations.ts';
import { lambdaContext } from '../../support/lambda.ts';
import { captureLog, Service } from '../../support/service.ts';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** What Lambda answers to an invocation of the new version. */
let version: Handler;
/** What CodeDeploy was told. */
let reports: unknown[];
let service: Service;
let logged: string[];

/** Lambda and CodeDeploy, as far as the hook calls them. */
async function answer(request: IncomingMessage): Promise<{ body: object; failed?: boolean }> {
  const body = JSON.parse(await text(request)) as unknown;
  if (String(request.headers['x-amz-target']).endsWith('.PutLifecycleEventHookExecutionStatus')) {
    reports.push(body);
    return { body: {} };
  }
  expect(request.url).toBe('/2015-03-31/functions/the-new-version/invocations');
  try {
    return { body: (await version(body, lambdaContext())) as object };
  } catch (error) {
    return { body: { errorMessage: String(error) }, failed: true };
  }
}

beforeAll(async () => {
  captureLog();
  const server = createServer((request, response) => {
    void answer(request).then(({ body, failed = false }) => {
      if (failed) response.setHeader('X-Amz-Function-Error', 'Unhandled');
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = await Service.start({
    variables: { AWS_ENDPOINT_URL_LAMBDA: endpoint, AWS_ENDPOINT_URL_CODEDEPLOY: endpoint },
  });
  return () => server.close();
});

beforeEach(() => {
  reports = [];
  logged = [];
  vi.spyOn(console, 'error').mockImplementation((...values: unknown[]) => {
    logged.push(values.map(String).join(' '));
  });
});

async function handlerOf(entry: FunctionEntry): Promise<Handler> {
  return ((await import(`../../../functions/${entry}.ts`)) as { handler: Handler }).handler;
}

/** Runs the hook of a function, and returns the status that it reports. */
async function statusOf(entry: FunctionEntry, checked: Handler): Promise<unknown> {
  version = checked;
  vi.stubEnv('CHECKED_FUNCTION', entry);
  vi.stubEnv('CHECKED_VERSION', 'the-new-version');
  vi.resetModules();
  const hook = await import('../../../functions/delivery/pre-traffic-hook.ts');
  await hook.handler({ DeploymentId: 'd-1', LifecycleEventHookExecutionId: 'e-1' });
  expect(reports).toEqual([
    { deploymentId: 'd-1', lifecycleEventHookExecutionId: 'e-1', status: expect.any(String) },
  ]);
  return (reports[0] as { status: unknown }).status;
}

test.each(functionEntries)(
  'a working %s passes, and nothing is stored that a client can see',
  async (entry) => {
    expect(await statusOf(entry, await handlerOf(entry))).toBe('Succeeded');
    expect(logged).toEqual([]);
    const { client, tableName } = service.pets;
    const { Count: count } = await client.send(new ScanCommand({ TableName: tableName, Select: 'COUNT' }));
    expect(count).toBe(0);
  },
);

test('a function that does not start fails', async () => {
  const status = await statusOf('list-pets', async () => {
    throw new Error('Cannot find module');
  });
  expect(status).toBe('Failed');
  expect(logged.join()).toContain('Cannot find module');
});

test.each(functionEntries)('a %s that may not use the tables fails', async (entry) => {
  // As a permission that is missing: DynamoDB answers with an error.
  const names = ['PETS_TABLE', 'RATE_LIMITS_TABLE', 'IDEMPOTENCY_TABLE', 'API_KEYS_TABLE'] as const;
  const variables = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  for (const name of names) vi.stubEnv(name, 'no-such-table');
  vi.resetModules();
  const broken = await handlerOf(entry);
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  expect(await statusOf(entry, broken)).toBe('Failed');
});

test('an authorizer that lets every key pass fails', async () => {
  const allow = async () => ({ policyDocument: { Statement: [{ Effect: 'Allow' }] } });
  expect(await statusOf('authorizer', allow)).toBe('Failed');
  expect(logged.join()).toContain('Effect');
});

test('a create-pet that cannot write to the table of pets fails', async () => {
  const pets = process.env['PETS_TABLE'];
  vi.stubEnv('PETS_TABLE', 'no-such-table');
  vi.resetModules();
  const broken = await handlerOf('create-pet');
  vi.stubEnv('PETS_TABLE', pets);
  expect(await statusOf('create-pet', broken)).toBe('Failed');
});
