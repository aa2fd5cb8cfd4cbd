import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { type FunctionEntry, functionEntries } from '../../../functions/operations.ts';
import { tableVariables } from '../../../functions/tables.ts';
import { FunctionProcesses, type Invoke } from '../../support/function-processes.ts';

/** The functions as they are deployed. */
let functions: FunctionProcesses;
/** The new version of each function. */
let versions: Record<FunctionEntry, Invoke>;
/** How Lambda says that an invocation failed. */
let functionError: 'Handled' | 'Unhandled' | undefined;
/** What CodeDeploy was told. */
let reports: unknown[];
let logged: string[];
/** How many of the next invocations Lambda refuses, and how. */
let refusals: number;
let refusal: { readonly status: number; readonly type: string };
/** How many of the next reports CodeDeploy refuses. */
let refusedReports: number;
/** Whether Lambda answers nothing. */
let hangs: boolean;
/** The executions that are free for invocations, those that run, and the most that ran at once. */
let free: number;
let running: number;
let most: number;

const accessDenied = { status: 403, type: 'AccessDeniedException' };
const throttling = { status: 429, type: 'TooManyRequestsException' };

/** Lambda and CodeDeploy, as far as the hook calls them. */
async function answer(
  request: IncomingMessage,
): Promise<{ body: object; failed?: boolean; status?: number; type?: string }> {
  const body = JSON.parse(await text(request)) as unknown;
  if (String(request.headers['x-amz-target']).endsWith('.PutLifecycleEventHookExecutionStatus')) {
    if (refusedReports > 0) {
      refusedReports -= 1;
      return { ...accessDenied, body: { message: 'codedeploy:PutLifecycleEventHookExecutionStatus' } };
    }
    reports.push(body);
    return { body: {} };
  }
  if (hangs) await new Promise(() => {});
  const isFull = running >= free;
  if (refusals > 0 || isFull) {
    if (!isFull) refusals -= 1;
    const { status, type } = isFull ? throttling : refusal;
    return { status, type, body: { message: `${type}: lambda:InvokeFunction` } };
  }
  running += 1;
  most = Math.max(most, running);
  const [, entry] = /^\/2015-03-31\/functions\/version-of-([\w-]+)\/invocations$/.exec(request.url!)!;
  const outcome = await versions[entry as FunctionEntry](body);
  running -= 1;
  if ('thrown' in outcome) return { body: { errorMessage: outcome.thrown }, failed: true };
  return { body: outcome.returned as object, failed: functionError !== undefined };
}

beforeAll(async () => {
  functions = await FunctionProcesses.start({ endpoint: inject('dynamodbEndpoint') });
  const server = createServer((request, response) => {
    void answer(request).then(({ body, failed = false, status = 200, type }) => {
      if (failed) response.setHeader('X-Amz-Function-Error', functionError ?? 'Unhandled');
      if (type !== undefined) response.setHeader('X-Amzn-ErrorType', type);
      response.writeHead(status).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const variables = {
    ...functions.variables,
    AWS_ENDPOINT_URL_LAMBDA: endpoint,
    AWS_ENDPOINT_URL_CODEDEPLOY: endpoint,
    // The SDK's own retries wait in real time.
    AWS_MAX_ATTEMPTS: '1',
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  return async () => {
    server.close();
    await functions.stop();
  };
});

beforeEach(() => {
  reports = [];
  functionError = undefined;
  logged = [];
  refusals = 0;
  refusal = accessDenied;
  refusedReports = 0;
  hangs = false;
  free = 1_000;
  running = 0;
  most = 0;
  vi.spyOn(console, 'error').mockImplementation((...values: unknown[]) => {
    logged.push(values.map(String).join(' '));
  });
  const all = functionEntries.map((entry) => [entry, (event: unknown) => functions.invoke(entry, event)]);
  versions = Object.fromEntries(all) as typeof versions;
});

/** A time that passes only while every hook that has not ended sleeps, so that no speed of the machine counts. */
function virtualTime(hooks: number) {
  let now = 0;
  let left = hooks;
  let sleeping: { readonly until: number; readonly wake: () => void }[] = [];
  const pass = () => {
    if (sleeping.length < left || left === 0) return;
    now = Math.min(...sleeping.map(({ until }) => until));
    const due = sleeping.filter(({ until }) => until <= now);
    sleeping = sleeping.filter(({ until }) => until > now);
    for (const { wake } of due) wake();
  };
  return {
    now: () => now,
    sleep: (milliseconds: number) =>
      new Promise<void>((wake) => {
        sleeping.push({ until: now + milliseconds, wake });
        pass();
      }),
    end: () => {
      left -= 1;
      pass();
    },
  };
}

/** Runs the hook of each of some deployments at once. Returns the statuses that they report. */
async function statusesOf(...deployments: string[]): Promise<readonly unknown[]> {
  const arns = functionEntries.map((entry) => [entry, `version-of-${entry}`]);
  return statusesWith(JSON.stringify(Object.fromEntries(arns)), ...deployments);
}

async function statusesWith(checkedVersions: string, ...deployments: string[]): Promise<readonly unknown[]> {
  vi.stubEnv('CHECKED_VERSIONS', checkedVersions);
  vi.resetModules();
  const { preTrafficHook } = await import('../../../functions/delivery/check-versions.ts');
  const time = virtualTime(deployments.length);
  const hook = preTrafficHook(time, () => AbortSignal.timeout(hangs ? 100 : 60_000));
  await Promise.all(
    deployments.map(async (each) => {
      await hook({ DeploymentId: each, LifecycleEventHookExecutionId: `of ${each}` });
      time.end();
    }),
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
  const { client, tableName } = functions.tables.pets;
  const { Count: count } = await client.send(new ScanCommand({ TableName: tableName, Select: 'COUNT' }));
  expect(count).toBe(0);
});

test('a function that does not start stops the deployments of all functions', async () => {
  versions['list-pets'] = async () => ({ thrown: 'Cannot find module' });
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
  // DynamoDB answers with an error, as it does when a permission is missing.
  const names = Object.values(tableVariables);
  const variables = Object.fromEntries(names.map((name) => [name, 'no-such-table']));
  versions[entry] = await functions.another(entry, variables);
  expect(await statusesOf('d-1')).toEqual(['Failed']);
  expect(logged).toHaveLength(1);
});

test('an authorizer that lets every key pass fails', async () => {
  versions.authorizer = async () => ({
    returned: { policyDocument: { Statement: [{ Effect: 'Allow' }] } },
  });
  expect(await statusesOf('d-1')).toEqual(['Failed']);
  expect(logged.join()).toContain('Effect');
});

test('a create-pet that cannot write to the table of pets fails', async () => {
  versions['create-pet'] = await functions.another('create-pet', { PETS_TABLE: 'no-such-table' });
  expect(await statusesOf('d-1')).toEqual(['Failed']);
});

test('without the key that creations are checked with, nothing is invoked', async () => {
  const invoked: string[] = [];
  for (const entry of functionEntries)
    versions[entry] = async () => {
      invoked.push(entry);
      return { returned: {} };
    };
  vi.stubEnv(tableVariables.idempotency, 'no-such-table');
  expect(
    await statusesOf('d-1').finally(() =>
      vi.stubEnv(tableVariables.idempotency, functions.tables.idempotency.tableName),
    ),
  ).toEqual(['Failed']);
  expect(invoked).toEqual([]);
  expect(logged.join()).toContain('ResourceNotFoundException');
});

test.each([accessDenied, throttling])('$type is repeated, and one that stays fails', async (kind) => {
  refusal = kind;
  refusals = 25;
  expect(await statusesOf('d-1')).toEqual(['Succeeded']);
  expect(refusals).toBe(0);
  refusals = Infinity;
  reports = [];
  expect(await statusesOf('d-2')).toEqual(['Failed']);
  expect(logged.join()).toContain(kind.type);
});

test('a report that is refused is repeated, also after checks that took all of their own patience', async () => {
  refusals = Infinity;
  refusedReports = 25;
  expect(await statusesOf('d-1')).toEqual(['Failed']);
  expect(refusedReports).toBe(0);
});

test('the hooks of all functions at once are content with five executions, or one, and without any they fail', async () => {
  const deployments = functionEntries.map((entry) => `deployment of ${entry}`);
  expect(await statusesOf(...deployments)).toEqual(deployments.map(() => 'Succeeded'));
  expect(most).toBeLessThanOrEqual(functionEntries.length);
  free = 1;
  reports = [];
  expect(await statusesOf(...deployments)).toEqual(deployments.map(() => 'Succeeded'));
  free = 0;
  reports = [];
  expect(await statusesOf(...deployments)).toEqual(deployments.map(() => 'Failed'));
});

test.each(['', 'no JSON', '[]', '{}', '{"list-pets":"version-of-list-pets"}', '{"list-pets":1}'])(
  'versions that are not named as expected are reported as failed: %s',
  async (checkedVersions) => {
    expect(await statusesWith(checkedVersions, 'd-1')).toEqual(['Failed']);
    expect(logged).not.toEqual([]);
  },
);

test('an invocation without an end is reported as failed', async () => {
  hangs = true;
  expect(await statusesOf('d-1')).toEqual(['Failed']);
});
