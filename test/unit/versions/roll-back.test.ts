import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { runVersions } from '../../../tools/versions/cli.ts';
import { runInProcess } from '../../support/tool-runs.ts';

interface Stored {
  live: number;
  weights: Record<string, number>;
  readonly published: readonly string[];
}

const names = ['prod-create', 'prod-list'];
let functions: Map<string, Stored>;
let lastDeployment: string | undefined;
let answer: string;

/** CloudFormation and Lambda, as far as the tool calls them. */
async function serve(request: IncomingMessage): Promise<{ status?: number; body: string }> {
  const body = await text(request);
  const action = new URLSearchParams(body).get('Action');
  const xml = (inner: string) => ({
    body: `<${action}Response xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><${action}Result>${inner}</${action}Result></${action}Response>`,
  });
  if (action === 'DescribeStacks') {
    const updated =
      lastDeployment === undefined ? '' : `<LastUpdatedTime>${lastDeployment}</LastUpdatedTime>`;
    return xml(`<Stacks><member><StackName>AnimalStore-prod</StackName>${updated}</member></Stacks>`);
  }
  if (action === 'ListStackResources') {
    const members = names.map(
      (name) =>
        `<member><ResourceType>AWS::Lambda::Alias</ResourceType><PhysicalResourceId>arn:aws:lambda:eu-central-1:123456789012:function:${name}:live</PhysicalResourceId></member>`,
    );
    const other =
      '<member><ResourceType>AWS::SNS::Topic</ResourceType><PhysicalResourceId>x</PhysicalResourceId></member>';
    return xml(`<StackResourceSummaries>${other}${members.join('')}</StackResourceSummaries>`);
  }
  const [, name = '', part] = /^\/2015-03-31\/functions\/([^/]+)\/(aliases\/live|versions)/.exec(
    request.url!,
  )!;
  const stored = functions.get(name)!;
  if (part === 'versions') {
    const versions = stored.published.map((LastModified, index) => ({
      Version: String(index + 1),
      LastModified,
    }));
    return { body: JSON.stringify({ Versions: [{ Version: '$LATEST', LastModified: '' }, ...versions] }) };
  }
  if (request.method === 'PUT') {
    const { FunctionVersion: version, RevisionId: revision } = JSON.parse(body) as Record<string, string>;
    if (revision !== `revision-of-${stored.live}`) return { status: 412, body: '{"message":"RevisionId"}' };
    stored.live = Number(version);
  }
  return {
    body: JSON.stringify({
      FunctionVersion: String(stored.live),
      RevisionId: `revision-of-${stored.live}`,
      RoutingConfig: { AdditionalVersionWeights: stored.weights },
    }),
  };
}

beforeEach(async () => {
  lastDeployment = '2030-01-03T00:00:00Z';
  functions = new Map([
    // The last deployment changed only this one.
    [
      'prod-create',
      {
        live: 3,
        weights: {},
        published: [
          '2030-01-01T00:01:00.000+0000',
          '2030-01-02T00:01:00.000+0000',
          '2030-01-03T00:01:00.000+0000',
        ],
      },
    ],
    [
      'prod-list',
      { live: 2, weights: {}, published: ['2030-01-01T00:01:00.000+0000', '2030-01-02T00:01:00.000+0000'] },
    ],
  ]);
  const server = createServer((request, response) => {
    void serve(request).then(({ status = 200, body }) => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  answer = '';
  return () => server.close();
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const run = (...args: string[]) =>
  runInProcess(runVersions, args, { input: answer, interactive: answer !== '' });

const live = () => Object.fromEntries([...functions].map(([name, stored]) => [name, stored.live]));

test('returns to the versions from before the last deployment, and only for functions that it changed', async () => {
  const { exitCode, stdout, stderr } = await run('roll-back', '--stage', 'prod', '--yes');
  expect({ exitCode, live: live() }).toEqual({ exitCode: 0, live: { 'prod-create': 2, 'prod-list': 2 } });
  expect(stderr).toBe('prod-create: version 3 → 2\n');
  expect(stdout).toBe('Rolled back: prod-create.\n');
  // A version that was left is not returned to.
  const later = await run('roll-back', '--stage', 'prod', '--before', '2030-01-04T00:00:00Z', '--yes');
  expect(later.stdout).toContain('Give an earlier time');
});

test('returns to the versions from before a given time', async () => {
  const before = '2030-01-02T00:00:00Z';
  const options = ['--before', before, '--yes', '--json'];
  const { exitCode, stdout } = await run('roll-back', '--stage', 'prod', ...options);
  expect({ exitCode, live: live() }).toEqual({ exitCode: 0, live: { 'prod-create': 1, 'prod-list': 1 } });
  expect(JSON.parse(stdout)).toEqual({
    before,
    moved: [
      { function: 'prod-create', from: 3, to: 1 },
      { function: 'prod-list', from: 2, to: 1 },
    ],
  });
});

test('changes nothing in prod unless it is confirmed', async () => {
  expect((await run('roll-back', '--stage', 'prod')).exitCode).toBe(4);
  answer = 'no\n';
  expect((await run('roll-back', '--stage', 'prod')).stderr).toContain('Nothing was changed.');
  expect(live()).toEqual({ 'prod-create': 3, 'prod-list': 2 });
});

test.each([
  [
    'a function that has no version from before',
    ['--before', '2029-01-01T00:00:00Z'],
    'There is no version from before 2029-01-01T00:00:00Z of prod-create, prod-list. Deploy an earlier commit instead.',
  ],
  ['a time without its zone', ['--before', '2030-01-02T00:00:00'], 'It must be a time with its zone'],
])('refuses %s', async (_name, args, message) => {
  const { exitCode, stderr } = await run('roll-back', '--stage', 'prod', '--yes', ...args);
  expect(exitCode).not.toBe(0);
  expect(stderr).toContain(message);
  expect(live()).toEqual({ 'prod-create': 3, 'prod-list': 2 });
});

test('refuses a deployment in progress, and a stack that was never updated', async () => {
  functions.get('prod-list')!.weights = { 3: 0.1 };
  const during = await run('roll-back', '--stage', 'prod', '--yes');
  expect(during).toMatchObject({ exitCode: 4, stderr: expect.stringContaining('prod-list divide requests') });
  lastDeployment = undefined;
  expect(await run('roll-back', '--stage', 'prod', '--yes')).toMatchObject({ exitCode: 4 });
  expect(live()).toEqual({ 'prod-create': 3, 'prod-list': 2 });
});

test('lists the versions of each function', async () => {
  const { stdout } = await run('list', '--stage', 'prod');
  expect(stdout).toBe(
    [
      'FUNCTION     VERSION  PUBLISHED',
      'prod-create  3        2030-01-03T00:01:00Z  live',
      '             2        2030-01-02T00:01:00Z',
      '             1        2030-01-01T00:01:00Z',
      'prod-list    2        2030-01-02T00:01:00Z  live',
      '             1        2030-01-01T00:01:00Z',
      '',
    ].join('\n'),
  );
});

test('says that the local service has no versions', async () => {
  expect(await run('list', '--stage', 'local')).toMatchObject({ exitCode: 2 });
});
