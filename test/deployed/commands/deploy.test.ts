import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { deploy } from '../../../tools/operators/deploy/deploy.ts';
import { printOnCallPolicy } from '../../../tools/operators/deploy/on-call-policy.ts';
import { diff } from '../../../tools/operators/deploy/diff.ts';
import { rollBack } from '../../../tools/operators/deploy/roll-back.ts';

const execute = promisify(execFile);

/** What the stand-in for AWS answers to a call: a body, or the name of an error. */
let answers: Record<string, object | string>;
let endpoint: string;
/** A project in git, whose CDK only notes how it was called. */
let project: string;

const account = {
  cloudwatchRoleArn: 'arn:aws:iam::123456789012:role/logs',
  throttleSettings: { rateLimit: 10_000, burstLimit: 5_000 },
};
const table = (key: string) => ({
  Type: 'AWS::DynamoDB::GlobalTable',
  Properties: { KeySchema: [{ AttributeName: key, KeyType: 'HASH' }] },
});
const templateOf = (key: string, version?: string) => ({
  TemplateBody: JSON.stringify({
    Resources: { Pets: table(key) },
    ...(version !== undefined && { Outputs: { Commit: { Value: version } } }),
  }),
});
const stackWith = (version: string) => ({
  StackStatus: 'UPDATE_COMPLETE',
  Outputs: `<member><OutputKey>Commit</OutputKey><OutputValue>${version}</OutputValue></member>`,
});
const limits = { AccountLimit: { ConcurrentExecutions: 1_000, UnreservedConcurrentExecutions: 1_000 } };
const good = {
  GetCallerIdentity: {
    Account: '123456789012',
    Arn: 'arn:aws:sts::123456789012:assumed-role/ops/ada',
  },
  'DescribeStacks AnimalStore-prod': { StackStatus: 'UPDATE_COMPLETE' },
  'DescribeStacks AnimalStore-staging': { StackStatus: 'UPDATE_COMPLETE' },
  'DescribeStacks CDKToolkit': {
    StackStatus: 'UPDATE_COMPLETE',
    Outputs: '<member><OutputKey>BootstrapVersion</OutputKey><OutputValue>33</OutputValue></member>',
  },
  'GetTemplate AnimalStore-prod': templateOf('id'),
  'GetTemplate AnimalStore-staging': templateOf('id'),
  GetAccount: account,
  GetAccountSettings: limits,
};

beforeAll(async () => {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const parameters = new URLSearchParams(body);
      const action = parameters.get('Action');
      const stack = parameters.get('StackName');
      const rest = request.url === '/account' ? 'GetAccount' : 'GetAccountSettings';
      const answer = answers[[action ?? rest, stack].filter((part) => part !== null).join(' ')];
      if (action === null) {
        const failed = typeof answer === 'string';
        if (failed) response.setHeader('X-Amzn-ErrorType', answer);
        response
          .writeHead(failed ? 403 : 200)
          .end(JSON.stringify(failed ? { message: 'not permitted' } : answer));
        return;
      }
      const xml = (fields: object): string =>
        Object.entries(fields)
          .map(([name, value]) => `<${name}>${value}</${name}>`)
          .join('');
      if (typeof answer !== 'object') {
        const message = answer === undefined ? `Stack ${stack} does not exist` : 'not permitted';
        response.writeHead(400);
        response.end(
          `<ErrorResponse><Error><Code>${answer ?? 'ValidationError'}</Code><Message>${message}</Message></Error></ErrorResponse>`,
        );
      } else if (action === 'DescribeStacks')
        response.end(
          `<R><DescribeStacksResult><Stacks><member>${xml(answer)}</member></Stacks></DescribeStacksResult></R>`,
        );
      else response.end(`<R><${action}Result>${xml(answer)}</${action}Result></R>`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return () => server.close();
});

beforeEach(async () => {
  answers = { ...good };
  project = await realpath(await mkdtemp(join(tmpdir(), 'deploy-')));
  await mkdir(join(project, 'tools'));
  await configure({});
  const notes = JSON.stringify(join(project, 'calls.jsonl'));
  const noting = `import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const [, , cdk, command, stack, ...args] = process.argv;
const write = (name, content) => writeFileSync(folder + '/' + stack + name, JSON.stringify(content));
if (command === 'diff') {
  appendFileSync(${notes}, JSON.stringify({ args: [cdk, command, stack, ...args] }) + '\\n');
  process.exit();
}
const folder = args[args.indexOf(command === 'synth' ? '--output' : '--app') + 1];
const version = readFileSync('version', 'utf8');
const { context } = JSON.parse(readFileSync('cdk.json', 'utf8'));
if (command === 'synth') {
  mkdirSync(folder, { recursive: true });
  const table = ${JSON.stringify(table('id'))};
  if (version === 'harmful') table.Properties.KeySchema[0].AttributeName = 'name';
  const [, commit] = args.find((arg) => arg.startsWith('animal-store:commit=')).split('=');
  const Live = { Type: 'AWS::Lambda::Alias', UpdatePolicy: { CodeDeployLambdaAliasUpdate: { ApplicationName: 'a', BeforeAllowTrafficHook: { Ref: 'Hook' } } } };
  write('.template.json', { Version: version, Resources: { Pets: table, Live }, Outputs: { Commit: { Value: commit } } });
  const hash = createHash('sha256').update(readFileSync(folder + '/' + stack + '.template.json')).digest('hex');
  write('.assets.json', { files: { [hash]: { destinations: { here: { objectKey: hash + '.json' } } } } });
  writeFileSync(folder + '/manifest.json', JSON.stringify({ stackTemplateAssetObjectUrl: 's3://assets/' + hash + '.json' }));
}
const template = JSON.parse(readFileSync(folder + '/' + stack + '.template.json', 'utf8'));
const isChecked = JSON.stringify(template).includes('BeforeAllowTrafficHook');
appendFileSync(${notes}, JSON.stringify({ args: [cdk, command, stack, ...args], folder, context, version: template.Version, isChecked }) + '\\n');
process.exit(args.includes('fails') && command === 'deploy' ? 7 : 0);
`;
  await writeFile(join(project, 'tools', 'run.mjs'), noting);
  await writeFile(join(project, '.gitignore'), 'calls.jsonl\nassembly\n');
  await writeFile(join(project, 'package.json'), '{"name":"p","version":"1.0.0","lockfileVersion":3}');
  await writeFile(
    join(project, 'package-lock.json'),
    '{"name":"p","version":"1.0.0","lockfileVersion":3,"packages":{}}',
  );
  for (const [name, value] of Object.entries({
    HOME: project,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'eu-west-3',
    AWS_DEFAULT_REGION: undefined,
    AWS_PROFILE: undefined,
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_SESSION_TOKEN: undefined,
    AWS_EC2_METADATA_DISABLED: 'true',
    npm_config_loglevel: 'silent',
  }))
    vi.stubEnv(name, value);
  await git('init', '-q');
  for (const version of ['v1', 'v2']) await commit(version);
  return () => rm(project, { recursive: true, force: true });
});

const git = (...args: string[]) =>
  execute('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project });

async function commit(version: string): Promise<void> {
  await writeFile(join(project, 'version'), version);
  await git('add', '-A');
  await git('commit', '-q', '-m', version);
  await git('tag', version);
}

const hashOf = async (revision: string) => (await git('rev-parse', revision)).stdout.trim();

/** Writes cdk.json. The alarms of prod notify somebody. */
const configure = (prod: object) =>
  writeFile(
    join(project, 'cdk.json'),
    JSON.stringify({ context: { stages: { prod: { notificationAddress: 'a@example.com', ...prod } } } }),
  );

/** A call of the CDK, with the context of cdk.json there, and the version in the assembly. */
interface Call {
  readonly args: readonly string[];
  readonly folder: string;
  readonly context: unknown;
  readonly version: string;
  /** Whether CodeDeploy calls a hook before new versions get requests. */
  readonly isChecked: boolean;
}

/** Runs a tool in the project. */
async function run(tool: 'deploy' | 'roll-back' | 'on-call-policy' | 'diff', ...args: string[]) {
  await rm(join(project, 'calls.jsonl'), { force: true });
  const [out, err] = (['log', 'error'] as const).map((name) => vi.spyOn(console, name).mockReturnValue());
  const before = process.cwd();
  process.chdir(project);
  const tools = { deploy, 'roll-back': rollBack, 'on-call-policy': printOnCallPolicy, diff };
  const code = await tools[tool](args).finally(() => process.chdir(before));
  const lines = [out, err].flatMap((each) => each!.mock.calls.flatMap(([line]) => String(line).split('\n')));
  vi.restoreAllMocks();
  const calls = await readFile(join(project, 'calls.jsonl'), 'utf8').catch(() => '');
  return {
    code,
    lines,
    calls: calls
      .split('\n')
      .filter((each) => each !== '')
      .map((each) => JSON.parse(each) as Call),
  };
}

const stays = 'ok: API Gateway writes logs with the role arn:aws:iam::123456789012:role/logs, which stays.';
const goodLines = [
  'ok: Account 123456789012, Region eu-west-3, as arn:aws:sts::123456789012:assumed-role/ops/ada',
  'ok: Stack AnimalStore-prod is UPDATE_COMPLETE.',
  'ok: Live in prod: a version that did not record its commit.',
  'ok: Region eu-west-3 is bootstrapped with version 33.',
  stays,
  'ok: API Gateway permits the account 10000 requests a second, bursts of 5000.',
  'ok: Lambda permits the account 1000 concurrent executions, 1000 of them not reserved.',
];

/** The calls of the CDK, without folders and commits. */
const argsOf = (calls: readonly Call[]) =>
  calls.map(({ args, folder }) =>
    args
      .filter((arg) => arg !== folder)
      .map((arg) => arg.replace(/^(animal-store:commit=)[0-9a-f]{40}/, '$1HASH')),
  );
const synthesis = ['cdk', 'synth', 'AnimalStore-prod', '--quiet', '--exclusively', '--output'];
const synthAt = (version: string) => [...synthesis, '-c', `animal-store:commit=${version}`];
const synth = synthAt('HASH');
const deployCall = ['cdk', 'deploy', 'AnimalStore-prod', '--app'];

test('a good account gets one line for each check, then the deployment with all further arguments', async () => {
  const { code, lines, calls } = await run('deploy', 'prod', '--verbose', '--confirm-loss', 'Old');
  expect(lines).toEqual(goodLines);
  expect(code).toBe(0);
  expect(argsOf(calls)).toEqual([synth, [...deployCall, '--verbose']]);
  expect(calls[0]!.folder).toBe(calls[1]!.folder);
});

test('an account without stack and role gets both, and the protection at last, in one command', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  answers['GetAccount'] = { ...account, cloudwatchRoleArn: undefined };
  const { lines, calls } = await run('deploy', 'prod');
  expect(lines).toContain('ok: Stack AnimalStore-prod does not exist. This creates it.');
  const role = ['-c', 'accountSettings=managed'];
  expect(argsOf(calls)).toEqual([
    [...synth, ...role, '-c', 'overrides={"prod":{"deletionProtection":false}}'],
    deployCall,
    [...synth, ...role],
    deployCall,
  ]);
});

test('a setting of one deployment is read to its end', async () => {
  const arn = 'arn:aws:acm:eu-west-3:123456789012:certificate/a=b';
  const domain = { name: 'pets.example.com', certificateArn: arn };
  const setting = `overrides=${JSON.stringify({ prod: { domain } })}`;
  const { code, calls } = await run('deploy', 'prod', '-c', setting);
  expect([code, calls[0]!.args.includes(setting)]).toEqual([0, true]);
});

test('the policy for the engineer on call is that of the deployed stack', async () => {
  answers['DescribeStacks Shelter-prod'] = {
    StackStatus: 'UPDATE_COMPLETE',
    StackId: 'arn:aws:cloudformation:eu-west-3:123456789012:stack/Shelter-prod/1',
  };
  const made = [
    ['LogicalResourceId', 'FunctionsGetPet'],
    ['ResourceType', 'AWS::Lambda::Function'],
    ['PhysicalResourceId', 'Shelter-get-pet'],
  ];
  const member = made.map(([name, value]) => `<${name}>${value}</${name}>`).join('');
  answers['ListStackResources Shelter-prod'] = {
    StackResourceSummaries: `<member>${member}</member>`,
  };
  const { code, lines } = await run('on-call-policy', 'prod', '-c', 'name=Shelter');
  const { Statement } = JSON.parse(lines.join('\n')) as {
    Statement: { Action: string[]; Resource: string[] }[];
  };
  expect([code, Statement.find(({ Action }) => Action.includes('lambda:UpdateAlias'))?.Resource]).toEqual([
    0,
    ['', ':live'].map((end) => `arn:aws:lambda:eu-west-3:123456789012:function:Shelter-get-pet${end}`),
  ]);
  const missing = await run('on-call-policy', 'staging', '-c', 'name=Shelter');
  expect([missing.code, missing.lines]).toEqual([
    3,
    [
      expect.stringMatching(
        /^Stack Shelter-staging does not exist .* Deploy it first, or give the name of the copy\.$/,
      ),
    ],
  ]);
});

test('a certificate of another Region stops the deployment before anything is made', async () => {
  const certificateArn = 'arn:aws:acm:us-east-1:123456789012:certificate/1';
  await configure({ domain: { name: 'pets.example.com', certificateArn } });
  const { code, lines, calls } = await run('deploy', 'prod');
  expect(lines).toContainEqual(
    expect.stringMatching(/^stop: The certificate of pets\.example\.com is of .* us-east-1\./),
  );
  expect([code, calls]).toEqual([4, []]);
});

test('a first deployment that fails is not followed by another one', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  const { code, calls } = await run('deploy', 'prod', '--progress', 'fails');
  expect([code, calls.length]).toEqual([7, 2]);
});

test('what a deployment changed is what the next difference leaves out: both have the same commit', async () => {
  const deployed = await run('deploy', 'prod');
  const { code, calls } = await run('diff', 'AnimalStore-prod', '--strict');
  const hash = deployed.calls[0]!.args.slice(-2);
  expect([code, calls[0]!.args]).toEqual([0, ['cdk', 'diff', ...hash, 'AnimalStore-prod', '--strict']]);
});

/** An assembly of CI. @param key of the table */
async function assemblyOf(version: string, key = 'id'): Promise<string> {
  const folder = join(project, 'assembly');
  await mkdir(folder, { recursive: true });
  const { TemplateBody } = templateOf(key, version);
  await writeFile(join(folder, 'AnimalStore-prod.template.json'), TemplateBody);
  return folder;
}

test('a change that would lose something is stopped, with an assembly of CI too, until it is confirmed', async () => {
  await writeFile(join(project, 'version'), 'harmful');
  const { code, lines, calls } = await run('deploy', 'prod');
  const replaced =
    'Pets (AWS::DynamoDB::GlobalTable) is replaced by a new one, because its KeySchema changes.';
  expect(lines).toContainEqual(expect.stringContaining(`stop: ${replaced}`));
  expect(lines.at(-2)).toContain(
    'Confirm the rest with --confirm-loss Pets, or with lines "Confirm-loss: ID"',
  );
  expect(lines.at(-1)).toBe('Nothing was deployed.');
  expect([code, argsOf(calls)]).toEqual([4, [synthAt('HASH-changed')]]);
  await expect(access(calls[0]!.folder)).rejects.toThrow('ENOENT');

  const confirmed = await run('deploy', 'prod', '--confirm-loss', 'Pets');
  expect(confirmed.lines).toContainEqual(expect.stringContaining(`warning: ${replaced}`));
  expect([confirmed.code, argsOf(confirmed.calls).at(-1)]).toEqual([0, deployCall]);

  const app = await assemblyOf(await hashOf('v2'), 'name');
  const refused = await run('deploy', 'prod', '--app', app);
  expect([refused.code, refused.calls]).toEqual([4, []]);
  answers['GetTemplate AnimalStore-prod'] = templateOf('name');
  const allowed = await run('deploy', 'prod', '--app', app, '--verbose');
  expect([allowed.code, argsOf(allowed.calls)]).toEqual([0, [[...deployCall, '--exclusively', '--verbose']]]);
});

test('a commit message confirms a loss for the deployments that bring the commit, and for no other', async () => {
  await writeFile(join(project, 'version'), 'harmful');
  await git('add', '-A');
  await git('commit', '-q', '-m', 'Move the animals', '-m', 'In a list:\n* Confirm-loss: Pets\n\nMore.');
  answers['GetTemplate AnimalStore-prod'] = templateOf('id', await hashOf('v2'));
  expect((await run('deploy', 'prod')).code).toBe(0);
  answers['GetTemplate AnimalStore-prod'] = templateOf('id', await hashOf('HEAD'));
  expect((await run('deploy', 'prod')).code).toBe(4);
  // Of a version that did not record its commit, only the last message counts.
  answers['GetTemplate AnimalStore-prod'] = templateOf('id');
  expect((await run('deploy', 'prod')).code).toBe(0);
  await git('commit', '-q', '--allow-empty', '-m', 'Change nothing');
  expect((await run('deploy', 'prod')).code).toBe(4);
});

test('the live version is shown, and an older one is not deployed by mistake', async () => {
  const [old, live] = [await hashOf('v1'), await hashOf('v2')];
  answers['DescribeStacks AnimalStore-prod'] = stackWith(live);
  const is = expect.stringMatching(/^ok: Live in prod: \w+ of [\d-]+, v2$/);
  expect((await run('deploy', 'prod')).lines).toContainEqual(is);
  const older = await run('deploy', 'prod', '--app', await assemblyOf(old));
  expect(older.lines.join('\n')).toMatch(
    /stop: Live in prod: \w+ of [\d-]+, v2\. What you deploy is older: .*v1\. To go back, use: npm run roll-back:prod -- \w{12}\n/,
  );
  expect([older.code, older.calls]).toEqual([4, []]);
  const back = await run('roll-back', 'prod', '--app', await assemblyOf(old));
  expect(back.lines.join('\n')).toMatch(/Live in prod: .*v2\nDeploys to prod: .*v1$/m);
  expect(back.code).toBe(0);

  answers['DescribeStacks AnimalStore-prod'] = stackWith('0'.repeat(40));
  const unknown = await run('deploy', 'prod');
  expect(unknown.lines.join('\n')).toContain(
    `warning: Live in prod: ${'0'.repeat(40)}. This clone cannot compare`,
  );
  expect(unknown.code).toBe(0);
  await git('checkout', '-q', '-b', 'other', 'v1');
  await commit('v3');
  answers['DescribeStacks AnimalStore-prod'] = stackWith(`${live}-changed`);
  expect((await run('deploy', 'prod')).lines.join('\n')).toMatch(
    /warning: Live in prod: .*v2, with changes that are in no commit\. What you deploy lacks commits of it\./,
  );
});

test('settings for an assembly are refused, because they would have no effect', async () => {
  const app = await assemblyOf(await hashOf('v2'));
  for (const tool of ['deploy', 'roll-back'] as const) {
    const { code, lines, calls } = await run(tool, 'prod', '--app', app, '-c', 'overrides={}');
    expect([code, calls]).toEqual([2, []]);
    expect(lines).toEqual([expect.stringContaining('The settings of an assembly cannot change')]);
  }
});

test('without the deployed template nothing is deployed', async () => {
  answers['GetTemplate AnimalStore-prod'] = 'AccessDenied';
  const { code, lines } = await run('deploy', 'prod');
  expect(lines).toContainEqual(
    expect.stringContaining('stop: The deployed template could not be read (not permitted)'),
  );
  expect(code).toBe(1);
});

test('credentials of another account stop the deployment and the roll back before anything is made', async () => {
  await configure({ account: '210987654321' });
  for (const [tool, ...version] of [['deploy'], ['roll-back', 'v1']] as const) {
    const { code, lines, calls } = await run(tool, 'prod', ...version);
    expect(lines[0]).toContain('stop: These credentials are of account 123456789012');
    expect([code, calls]).toEqual([4, []]);
  }
});

test('a budget where CloudFormation has none stops the deployment', async () => {
  await configure({ monthlyBudget: 500 });
  answers['DescribeType'] = 'TypeNotFoundException';
  const refused = await run('deploy', 'prod');
  expect(refused.lines).toContainEqual(expect.stringContaining('stop: CloudFormation cannot create budgets'));
  expect([refused.code, refused.calls]).toEqual([4, []]);
  answers['DescribeType'] = { TypeName: 'AWS::Budgets::Budget' };
  expect((await run('deploy', 'prod')).code).toBe(0);
});

test('the Region of the settings is that of the checks', async () => {
  await configure({ region: 'eu-north-1' });
  const { lines } = await run('deploy', 'prod');
  expect(lines[0]).toContain('ok: Account 123456789012, Region eu-north-1,');
});

test('prod whose alarms notify nobody is not deployed without an answer, and staging is', async () => {
  await configure({ notificationAddress: null });
  const { code, lines } = await run('deploy', 'prod');
  expect(lines).toContainEqual(
    expect.stringContaining('stop: The alarms of prod notify nobody. Set notificationAddress'),
  );
  expect(code).toBe(4);
  expect((await run('deploy', 'staging')).code).toBe(0);
  await configure({ notificationAddress: 'elsewhere' });
  expect((await run('deploy', 'prod')).code).toBe(0);
});

test('what would fail stops the deployment, and all of it is said at once', async () => {
  answers['DescribeStacks AnimalStore-prod'] = { StackStatus: 'UPDATE_IN_PROGRESS' };
  delete answers['DescribeStacks CDKToolkit'];
  answers['GetAccount'] = { ...account, throttleSettings: { rateLimit: 2_500, burstLimit: 1_250 } };
  const { code, lines, calls } = await run('deploy', 'prod');
  expect(lines.filter((line) => line.startsWith('stop: '))).toHaveLength(3);
  expect(lines.at(-1)).toBe('Nothing was deployed.');
  expect([code, calls]).toEqual([4, []]);
});

test('a check that cannot be made is named and stops nothing', async () => {
  for (const call of Object.keys(good).filter((each) => !/^Get(CallerIdentity|Template)/.test(each)))
    answers[call] = 'AccessDeniedException';
  const { code, lines, calls } = await run('deploy', 'prod');
  expect(lines).toEqual([
    goodLines[0],
    ...[
      'The stack',
      'The live version',
      'The bootstrap',
      "API Gateway's role",
      "API Gateway's throttle",
      "Lambda's concurrency",
    ].map((what) => `warning: ${what} could not be checked: not permitted`),
  ]);
  expect(code).toBe(0);
  // Nothing of an unknown account is replaced, and no protection is switched off.
  expect(argsOf(calls)).toEqual([synth, deployCall]);
});

test('credentials that AWS does not accept stop the deployment', async () => {
  answers['GetCallerIdentity'] = 'ExpiredToken';
  const { code, lines, calls } = await run('deploy', 'prod');
  expect(lines).toEqual([
    expect.stringContaining('stop: The account cannot be checked'),
    'Nothing was deployed.',
  ]);
  expect([code, calls]).toEqual([1, []]);
});

test.each([
  ['deploy', 'Usage: npm run deploy:prod -- [OPTIONS]'],
  ['roll-back', 'Usage: npm run roll-back:prod -- COMMIT [OPTIONS]'],
] as const)('%s explains itself without credentials', async (tool, usage) => {
  answers = {};
  const { code, lines, calls } = await run(tool, 'prod', '--help');
  expect([code, lines[0], calls]).toEqual([0, usage, []]);
});

const atOnce = (overrides: string) => [
  '-c',
  `overrides=${overrides}`,
  '-c',
  'animal-store:unknown-settings=left-out',
];
const rollBackCall = [...deployCall, '--exclusively', '--require-approval', 'never'];

test('a roll back deploys an earlier commit from a copy, at once, and leaves nothing behind', async () => {
  const { code, lines, calls } = await run('roll-back', 'prod', 'v1', '--verbose');
  expect(code).toBe(0);
  expect(lines.join('\n')).toMatch(/Deploys to prod: \w+ of [\d-]+, v1/);
  const synthesized = [...synth, ...atOnce('{"prod":{"deployment":"all-at-once"}}')];
  expect(argsOf(calls)).toEqual([synthesized, [...rollBackCall, '--verbose']]);
  expect(calls.map(({ version }) => version)).toEqual(['v1', 'v1']);
  const { stdout: copies } = await git('worktree', 'list');
  expect(copies.trim().split('\n')).toHaveLength(1);
  expect(await readFile(join(project, 'version'), 'utf8')).toBe('v2');
  await expect(access(calls[0]!.folder)).rejects.toThrow('ENOENT');
});

test("a roll back has today's settings, and the flags of the earlier commit", async () => {
  const write = (context: object) =>
    writeFile(join(project, 'cdk.json'), JSON.stringify({ app: 'a', context }));
  await write({
    repository: 'https://old.example.com',
    '@aws-cdk/core:flag': 'old',
    stages: { prod: { memory: 512 } },
  });
  await commit('v3');
  const today = {
    stages: { prod: { memory: 1024, notificationAddress: 'a@example.com' } },
    '@aws-cdk/core:bootstrapQualifier': 'today',
  };
  await write({ ...today, '@aws-cdk/core:flag': 'today' });
  await commit('v4');
  const { calls } = await run('roll-back', 'prod', 'v3', '-c', 'overrides={"prod":{"logLevel":"DEBUG"}}');
  expect(calls[0]!.context).toEqual({ ...today, '@aws-cdk/core:flag': 'old' });
  const given = ['-c', 'overrides={"prod":{"logLevel":"DEBUG"}}'];
  const hash = synth.slice(-2);
  expect(argsOf(calls)[0]).toEqual([
    ...synthesis,
    ...given,
    ...hash,
    ...atOnce('{"prod":{"logLevel":"DEBUG","deployment":"all-at-once"}}'),
  ]);
});

test('the assembly of a roll back can be made without AWS, and deployed later', async () => {
  answers = {};
  const made = await run('roll-back', 'prod', 'v1', '--output', 'assembly');
  expect([made.code, made.calls.length, made.calls[0]!.folder]).toEqual([0, 1, join(project, 'assembly')]);
  answers = { ...good };
  const { code, calls } = await run('roll-back', 'prod', '--app', 'assembly');
  expect([code, argsOf(calls), calls[0]!.version]).toEqual([0, [rollBackCall], 'v1']);
});

test('a roll back can leave out the checks before traffic, whatever the earlier commit has', async () => {
  expect((await run('roll-back', 'prod', 'v1')).calls.map(({ isChecked }) => isChecked)).toEqual([
    true,
    true,
  ]);
  const option = '--skip-pre-traffic-checks';
  const { code, lines, calls } = await run('roll-back', 'prod', 'v1', option);
  expect(code).toBe(0);
  expect(lines.join('\n')).toContain('without checks before');
  expect(argsOf(calls)[1]).toEqual(rollBackCall);
  expect(calls.map(({ isChecked }) => isChecked)).toEqual([true, false]);

  await run('roll-back', 'prod', 'v1', option, '--output', 'assembly');
  const read = (name: string) => readFile(join(project, 'assembly', name), 'utf8');
  const found = await read('AnimalStore-prod.template.json');
  // Everything else stays, and the CDK uploads it under another name than that of the template with checks.
  expect(JSON.parse(found)).toMatchObject({
    Version: 'v1',
    Resources: { Live: { UpdatePolicy: { CodeDeployLambdaAliasUpdate: { ApplicationName: 'a' } } } },
  });
  const hash = createHash('sha256').update(found).digest('hex');
  expect(JSON.parse(await read('manifest.json'))).toEqual({
    stackTemplateAssetObjectUrl: `s3://assets/${hash}.json`,
  });
  expect(JSON.parse(await read('AnimalStore-prod.assets.json'))).toEqual({
    files: { [hash]: { destinations: { here: { objectKey: `${hash}.json` } } } },
  });
  expect((await run('roll-back', 'prod', '--app', 'assembly')).calls).toMatchObject([{ isChecked: false }]);
});

test.each([
  ['roll-back', ['prod', '--app', 'assembly'], 'with --output'],
  ['deploy', ['prod'], 'is for roll backs'],
] as const)('%s %j cannot leave out the checks', async (tool, args, message) => {
  const { code, lines, calls } = await run(tool, ...args, '--skip-pre-traffic-checks');
  expect([code, calls]).toEqual([2, []]);
  expect(lines.join('\n')).toContain(message);
});

test('a roll back that would lose something is stopped', async () => {
  answers['GetTemplate AnimalStore-prod'] = templateOf('name');
  const { code, lines, calls } = await run('roll-back', 'prod', 'v1');
  expect(lines).toContainEqual(
    expect.stringContaining('stop: Pets (AWS::DynamoDB::GlobalTable) is replaced'),
  );
  expect([code, calls.length]).toEqual([4, 1]);
});

test.each([
  ['without a commit', ['prod'], 'Give a commit or tag of this repository'],
  ['to a commit that is not there', ['prod', 'v9'], '  v2\n  v1\nThe newest commits:'],
  ['of no stage', ['qa', 'v1'], 'The stage must be staging or prod (got "qa").'],
])('a roll back %s changes nothing, and says what can be delivered', async (_, args, message) => {
  const { code, lines, calls } = await run('roll-back', ...args);
  expect(lines.join('\n')).toContain(message);
  expect([code, calls]).toEqual([2, []]);
});

test('a stage that was never deployed is not rolled back', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  const { code, lines, calls } = await run('roll-back', 'prod', 'v1');
  expect(lines.at(-1)).toBe('There is nothing to roll back: AnimalStore-prod is not deployed.');
  expect([code, calls]).toEqual([3, []]);
});

test('a roll back waits for no deployment, and says how to stop it', async () => {
  answers['DescribeStacks AnimalStore-prod'] = { StackStatus: 'UPDATE_IN_PROGRESS' };
  const { code, lines, calls } = await run('roll-back', 'prod', 'v1');
  expect(lines.join('\n')).toContain('docs/operate.md#stop-a-canary');
  expect([code, calls]).toEqual([4, []]);
});
