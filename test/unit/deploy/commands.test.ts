import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, test } from 'vitest';

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
      } else if (action === 'GetCallerIdentity')
        response.end(`<R><GetCallerIdentityResult>${xml(answer)}</GetCallerIdentityResult></R>`);
      else
        response.end(
          `<R><DescribeStacksResult><Stacks><member>${xml(answer)}</member></Stacks></DescribeStacksResult></R>`,
        );
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
  await copyFile('cdk.json', join(project, 'cdk.json'));
  const notes = JSON.stringify(join(project, 'calls.jsonl'));
  const noting = `import { appendFileSync, readFileSync } from 'node:fs';
const [, , ...args] = process.argv;
appendFileSync(${notes}, JSON.stringify({ cwd: process.cwd(), version: readFileSync('version', 'utf8'), args }) + '\\n');
process.exit(args.includes('fails') ? 7 : 0);
`;
  await writeFile(join(project, 'tools', 'run.mjs'), noting);
  await writeFile(join(project, 'package.json'), '{"name":"p","version":"1.0.0","lockfileVersion":3}');
  await writeFile(
    join(project, 'package-lock.json'),
    '{"name":"p","version":"1.0.0","lockfileVersion":3,"packages":{}}',
  );
  const git = (...args: string[]) =>
    execute('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: project });
  await git('init', '-q');
  for (const version of ['one', 'two']) {
    await writeFile(join(project, 'version'), version);
    await git('add', '-A');
    await git('commit', '-q', '-m', version);
    await git('tag', version);
  }
  return () => rm(project, { recursive: true, force: true });
});

/** Runs a tool in the project. */
async function run(tool: 'main' | 'roll-back', ...args: string[]) {
  const environment = {
    PATH: process.env['PATH'],
    HOME: project,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'eu-west-3',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  const script = join(import.meta.dirname, '..', '..', '..', 'tools', 'operators', 'deploy', `${tool}.ts`);
  const ended = await execute(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...args], {
    cwd: project,
    env: environment,
  }).then(
    (output) => ({ ...output, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  const calls = await readFile(join(project, 'calls.jsonl'), 'utf8').catch(() => '');
  return {
    code: ended.code,
    lines: `${ended.stdout}${ended.stderr}`.trim().split('\n'),
    calls: calls
      .split('\n')
      .filter((each) => each !== '')
      .map((each) => JSON.parse(each) as { cwd: string; version: string; args: string[] }),
  };
}

const stays = 'ok: API Gateway writes logs with the role arn:aws:iam::123456789012:role/logs, which stays.';
const goodLines = [
  'ok: Account 123456789012, Region eu-west-3, as arn:aws:sts::123456789012:assumed-role/ops/ada',
  'ok: Stack AnimalStore-prod is UPDATE_COMPLETE.',
  'ok: This Region is bootstrapped with version 33.',
  stays,
  'ok: API Gateway permits the account 10000 requests a second, bursts of 5000.',
  'ok: Lambda permits the account 1000 concurrent executions, 1000 of them not reserved.',
];

test('a good account gets one line for each check, then the deployment with all further arguments', async () => {
  const { code, lines, calls } = await run('main', 'prod', '--verbose');
  expect(lines).toEqual(goodLines);
  expect(code).toBe(0);
  expect(calls.map(({ args }) => args)).toEqual([['cdk', 'deploy', 'AnimalStore-prod', '--verbose']]);
});

test('an account without stack and role gets both, and the protection at last, in one command', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  answers['GetAccount'] = { ...account, cloudwatchRoleArn: undefined };
  const { lines, calls } = await run('main', 'prod');
  expect(lines).toContain('ok: Stack AnimalStore-prod does not exist. This creates it.');
  const deploy = ['cdk', 'deploy', 'AnimalStore-prod', '-c', 'accountSettings=managed'];
  expect(calls.map(({ args }) => args)).toEqual([
    [...deploy, '-c', 'overrides={"prod":{"deletionProtection":false}}'],
    deploy,
  ]);
});

test('a first deployment that fails is not followed by another one', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  const { code, calls } = await run('main', 'prod', 'fails');
  expect([code, calls.length]).toEqual([7, 1]);
});

test('what would fail stops the deployment, and all of it is said at once', async () => {
  answers['DescribeStacks AnimalStore-prod'] = { StackStatus: 'UPDATE_IN_PROGRESS' };
  delete answers['DescribeStacks CDKToolkit'];
  answers['GetAccount'] = { ...account, throttleSettings: { rateLimit: 2_500, burstLimit: 1_250 } };
  const { code, lines, calls } = await run('main', 'prod');
  expect(lines.filter((line) => line.startsWith('stop: '))).toHaveLength(3);
  expect(lines.at(-1)).toBe('Nothing was deployed.');
  expect([code, calls]).toEqual([1, []]);
});

test('a check that cannot be made is named and stops nothing', async () => {
  for (const call of Object.keys(good).filter((each) => each !== 'GetCallerIdentity'))
    answers[call] = 'AccessDeniedException';
  const { code, lines, calls } = await run('main', 'prod');
  expect(lines).toEqual([
    goodLines[0],
    ...[
      'The stack',
      'The bootstrap',
      "API Gateway's role",
      "API Gateway's throttle",
      "Lambda's concurrency",
    ].map((what) => `warning: ${what} could not be checked: not permitted`),
  ]);
  expect(code).toBe(0);
  // Nothing of an unknown account is replaced, and no protection is switched off.
  expect(calls.map(({ args }) => args)).toEqual([['cdk', 'deploy', 'AnimalStore-prod']]);
});

test('credentials that AWS does not accept stop the deployment', async () => {
  answers['GetCallerIdentity'] = 'ExpiredToken';
  const { code, lines, calls } = await run('main', 'prod');
  expect(lines).toEqual([expect.stringContaining('stop: AWS does not accept')]);
  expect([code, calls]).toEqual([1, []]);
});

test('a roll back deploys an earlier commit from a copy, at once, and leaves nothing', async () => {
  const { code, lines, calls } = await run('roll-back', 'prod', 'one', '--verbose');
  expect(code).toBe(0);
  expect(lines.join('\n')).toMatch(/Deploys to prod: \w+ of [\d-]+, one/);
  const options = ['--exclusively', '--require-approval', 'never'];
  const overrides = 'overrides={"prod":{"deployment":"all-at-once"}}';
  expect(calls).toEqual([
    {
      cwd: expect.stringContaining('roll-back-'),
      version: 'one',
      args: ['cdk', 'deploy', 'AnimalStore-prod', '--verbose', ...options, '-c', overrides],
    },
  ]);
  const { stdout: copies } = await execute('git', ['worktree', 'list'], { cwd: project });
  expect(copies.trim().split('\n')).toHaveLength(1);
  expect(await readFile(join(project, 'version'), 'utf8')).toBe('two');
});

test.each([
  ['without a commit', ['prod'], 'Give a commit or tag of this repository'],
  ['to a commit that is not there', ['prod', 'v9'], '"git fetch --tags"'],
  ['of no stage', ['qa', 'one'], 'The stage must be staging or prod (got "qa").'],
])('a roll back %s changes nothing', async (_, args, message) => {
  const { code, lines, calls } = await run('roll-back', ...args);
  expect(lines.join('\n')).toContain(message);
  expect([code, calls]).toEqual([1, []]);
});

test('a stage that was never deployed is not rolled back', async () => {
  delete answers['DescribeStacks AnimalStore-prod'];
  const { code, lines, calls } = await run('roll-back', 'prod', 'one');
  expect(lines.at(-1)).toBe('There is nothing to roll back: AnimalStore-prod is not deployed.');
  expect([code, calls]).toEqual([1, []]);
});

test('a roll back waits for no deployment, and says how to stop it', async () => {
  answers['DescribeStacks AnimalStore-prod'] = { StackStatus: 'UPDATE_IN_PROGRESS' };
  const { code, lines, calls } = await run('roll-back', 'prod', 'one');
  expect(lines.at(-1)).toContain('docs/runbook.md#roll-back');
  expect([code, calls]).toEqual([1, []]);
});
