import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, vi } from 'vitest';
import { deploy } from '../../../tools/operators/deploy/deploy.ts';
import { printOnCallPolicy } from '../../../tools/operators/deploy/on-call-policy.ts';
import { diff } from '../../../tools/operators/deploy/diff.ts';
import { rollBack } from '../../../tools/operators/deploy/roll-back.ts';

const execute = promisify(execFile);

/** What the stand-in for AWS answers to a call: a body, or the name of an error. */
export const answers: Record<string, object | string> = {};
/** The stand-in knows no other call from now on. */
export function answerOnly(given: Readonly<Record<string, object | string>>): void {
  for (const call of Object.keys(answers)) delete answers[call];
  Object.assign(answers, given);
}
let endpoint: string;
/** A project in git, whose CDK only notes how it was called. */
export let project: string;

export const account = {
  cloudwatchRoleArn: 'arn:aws:iam::123456789012:role/logs',
  throttleSettings: { rateLimit: 10_000, burstLimit: 5_000 },
};
const table = (key: string) => ({
  Type: 'AWS::DynamoDB::GlobalTable',
  Properties: { KeySchema: [{ AttributeName: key, KeyType: 'HASH' }] },
});
export const templateOf = (key: string, version?: string) => ({
  TemplateBody: JSON.stringify({
    Resources: { Pets: table(key) },
    ...(version !== undefined && { Outputs: { Commit: { Value: version } } }),
  }),
});
export const stackWith = (version: string) => ({
  StackStatus: 'UPDATE_COMPLETE',
  Outputs: `<member><OutputKey>Commit</OutputKey><OutputValue>${version}</OutputValue></member>`,
});
const limits = { AccountLimit: { ConcurrentExecutions: 1_000, UnreservedConcurrentExecutions: 1_000 } };
export const good = {
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

/** Called by each file of tests, which share this module. */
export function useProject(): void {
  beforeAll(serveAws);
  beforeEach(makeProject);
}

async function serveAws() {
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
}

async function makeProject() {
  answerOnly(good);
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
}

export const git = (...args: string[]) =>
  execute('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project });

export async function commit(version: string): Promise<void> {
  await writeFile(join(project, 'version'), version);
  await git('add', '-A');
  await git('commit', '-q', '-m', version);
  await git('tag', version);
}

export const hashOf = async (revision: string) => (await git('rev-parse', revision)).stdout.trim();

/** Writes cdk.json. The alarms of prod notify somebody. */
export const configure = (prod: object) =>
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
export async function run(tool: 'deploy' | 'roll-back' | 'on-call-policy' | 'diff', ...args: string[]) {
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
export const goodLines = [
  'ok: Account 123456789012, Region eu-west-3, as arn:aws:sts::123456789012:assumed-role/ops/ada',
  'ok: Stack AnimalStore-prod is UPDATE_COMPLETE.',
  'ok: Live in prod: a version that did not record its commit.',
  'ok: Region eu-west-3 is bootstrapped with version 33.',
  stays,
  'ok: API Gateway permits the account 10000 requests a second, bursts of 5000.',
  'ok: Lambda permits the account 1000 concurrent executions, 1000 of them not reserved.',
];

/** The calls of the CDK, without folders and commits. */
export const argsOf = (calls: readonly Call[]) =>
  calls.map(({ args, folder }) =>
    args
      .filter((arg) => arg !== folder)
      .map((arg) => arg.replace(/^(animal-store:commit=)[0-9a-f]{40}/, '$1HASH')),
  );
export const synthesis = ['cdk', 'synth', 'AnimalStore-prod', '--quiet', '--exclusively', '--output'];
export const synthAt = (version: string) => [...synthesis, '-c', `animal-store:commit=${version}`];
export const synth = synthAt('HASH');
export const deployCall = ['cdk', 'deploy', 'AnimalStore-prod', '--app'];
