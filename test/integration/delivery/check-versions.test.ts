import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type FunctionEntry, functionEntries } from '../../../lib/operations.ts';
import { lambdaContext } from '../../support/lambda.ts';
import { captureLog, Service } from '../../support/service.ts';

type Handler = (event: unknown, context: unknown) => Promise<unknown>;

/** The new version of each function. */
let versions: Record<FunctionEntry, Handler>;
/** How Lambda says that an invocation failed. */
let functionError: 'Handled' | 'Unhandled' | undefined;
/** What CodeDeploy was told. */
let reports: unknown[];
let service: Service;
let logged: string[];
/** How many of the next invocations Lambda refuses. */
let refusals: number;

/** Lambda and CodeDeploy, as far as the hook calls them. */
async function answer(
  request: IncomingMessage,
): Promise<{ body: object; failed?: boolean; status?: number }> {
  const body = JSON.parse(await text(request)) as unknown;
  if (String(request.headers['x-amz-target']).endsWith('.PutLifecycleEventHookExecutionStatus')) {
    reports.push(body);
    return { body: {} };
  }
  if (refusals > 0) {
    refusals -= 1;
    return { status: 403, body: { message: 'User is not authorized to perform: lambda:InvokeFunction' } };
  }
  const [, entry] = /^\/2015-03-31\/functions\/version-of-([\w-]+)\/invocations$/.exec(request.url!)!;
  try {
    const failed = functionError !== undefined;
    return { body: (await versions[entry as FunctionEntry](body, lambdaContext())) as object, failed };
  } catch (error) {
    return { body: { errorMessage: String(error) }, failed: true };
  }
}

beforeAll(async () => {
  captureLog();
  const server = createServer((request, response) => {
    void answer(request).then(({ body, failed = false, status = 200 }) => {
      if (failed) response.setHeader('X-Amz-Function-Error', functionError ?? 'Unhandled');
      if (status === 403) response.setHeader('X-Amzn-ErrorType', 'AccessDeniedException');
      response.writeHead(status).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service = await Service.start({
    variables: { AWS_ENDPOINT_URL_LAMBDA: endpoint, AWS_ENDPOINT_URL_CODEDEPLOY: endpoint },
  });
  return () => server.close();
});

beforeEach(async () => {
  reports = [];
  functionError = undefined;
  logged = [];
  refusals = 0;
  vi.spyOn(console, 'error').mockImplementation((...values: unknown[]) => {
    logged.push(values.map(String).join(' '));
  });
  const loaded = functionEntries.map(async (entry) => [entry, await handlerOf(entry)] as const);
  versions = Object.fromEntries(await Promise.all(loaded)) as typeof versions;
});

async function handlerOf(entry: FunctionEntry): Promise<Handler> {
  return ((await import(`../../../functions/${entry}.ts`)) as { handler: Handler }).handler;
}

/** Runs the hook of each of some deployments at once. Returns the statuses that they report. */
async function statusesOf(...deployments: string[]): Promise<readonly unknown[]> {
  const arns = functionEntries.map((entry) => [entry, `version-of-${entry}`]);
  vi.stubEnv('CHECKED_VERSIONS', JSON.stringify(Object.fromEntries(arns)));
  vi.resetModules();
  const { preTrafficHook } = await import('../../../functions/delivery/check-versions.ts');
  let waited = 0;
  const hook = preTrafficHook({ now: () => waited, sleep: async (time) => (waited += time) });
  await Promise.all(
    deployments.map((each) => hook({ DeploymentId: each, LifecycleEventHookExecutionId: `of ${each}` })),
  );
  const told = reports as { deploymentId: string; lifecycleEventHookExecutionId: string; status: unknown }[];
  expect(told.map((each) => each.lifecycleEventHookExecutionId).toSorted()).toEqual(
    deployments.map((each) => `of ${each}`).toSorted(),
  );
  return told.map(({ status }) => status);
}

test('versions that work pass, also with the hooks of all functions at once, and nothing is stored that a client can see', async () => {
  const deployments = functionEntries.map((entry) => `deployment of ${entry}`);
  for (const round of [1, 2]) {
    reports = [];
    expect(await statusesOf(...deployments.map((each) => `${each}, ${round}`))).toEqual(
      deployments.map(() => 'Succeeded'),
    );
  }
  expect(logged).toEqual([]);
  const { client, tableName } = service.pets;
  const { Count: count } = await client.send(new ScanCommand({ TableName: tableName, Select: 'COUNT' }));
  expect(count).toBe(0);
});

test('a function that does not start stops the deployments of all functions', async () => {
  versions['list-pets'] = async () => {
    throw new Error('Cannot find module');
  };
  expect(await statusesOf('of list-pets', 'of get-pet')).toEqual(['Failed', 'Failed']);
  expect(logged.join()).toContain('The new version of list-pets gets no requests');
  expect(logged.join()).toContain('Cannot find module');
  expect(logged.join()).not.toContain('The new version of get-pet');
});

test.each(['Handled', 'Unhandled'] as const)(
  'a version whose invocation failed (%s) fails, whatever it answered',
  async (kind) => {
    functionError = kind;
    expect(await statusesOf('d-1')).toEqual(['Failed']);
    expect(logged.join()).toContain(`It failed (${kind})`);
  },
);

test.each(functionEntries)('a %s that may not use the tables fails', async (entry) => {
  // As a permission that is missing: DynamoDB answers with an error.
  const names = ['PETS_TABLE', 'RATE_LIMITS_TABLE', 'IDEMPOTENCY_TABLE', 'API_KEYS_TABLE'] as const;
  const variables = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  for (const name of names) vi.stubEnv(name, 'no-such-table');
  vi.resetModules();
  versions[entry] = await handlerOf(entry);
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  expect(await statusesOf('d-1')).toEqual(['Failed']);
  expect(logged).toHaveLength(1);
});

test('an authorizer that lets every key pass fails', async () => {
  versions.authorizer = async () => ({ policyDocument: { Statement: [{ Effect: 'Allow' }] } });
  expect(await statusesOf('d-1')).toEqual(['Failed']);
  expect(logged.join()).toContain('Effect');
});

test('a create-pet that cannot write to the table of pets fails', async () => {
  const pets = process.env['PETS_TABLE'];
  vi.stubEnv('PETS_TABLE', 'no-such-table');
  vi.resetModules();
  versions['create-pet'] = await handlerOf('create-pet');
  vi.stubEnv('PETS_TABLE', pets);
  expect(await statusesOf('d-1')).toEqual(['Failed']);
});

test('a refusal of access is repeated, and one that stays fails', async () => {
  refusals = 12;
  expect(await statusesOf('d-1')).toEqual(['Succeeded']);
  expect(refusals).toBe(0);
  refusals = Infinity;
  reports = [];
  expect(await statusesOf('d-2')).toEqual(['Failed']);
  expect(logged.join()).toContain('not authorized');
});
