import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { newKey } from '../../../functions/access/keys.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { exitCodes } from '../../../tools/operators/command-line/errors.ts';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { runPets } from '../../../tools/operators/pets/cli.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { keys } from './support.ts';

const commands = [
  'create',
  'list',
  'show',
  'usage',
  'rotate',
  'revoke',
  'suspend',
  'resume',
  'change-plan',
  'identify',
  'cleanup',
  'repair',
  'forget',
];

/** Answers CloudFormation's calls as configured. */
let answer: { readonly status: number; readonly body: string; readonly type?: string } | undefined;
let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer((_request, response) => {
    if (answer === undefined) return; // never answers
    const { status, body, type = 'text/xml' } = answer;
    response.writeHead(status, { 'Content-Type': type }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
afterEach(() => vi.unstubAllEnvs());

function refusal(code: string, message: string): string {
  return `<ErrorResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`;
}

function outputs(given: Readonly<Record<string, string>>): string {
  const members = Object.entries(given).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>AnimalStore-prod</StackName><CreationTime>2026-07-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
}

/** An account on AWS, played by the server above. */
function onAws(): void {
  for (const [name, value] of Object.entries({
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_MAX_ATTEMPTS: '1',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  }))
    vi.stubEnv(name, value);
}

const list = ['list', '--stage', 'prod'];

describe('invalid arguments', () => {
  const id = 'key_06fz1m4tqabcdefg';
  const missing = (what: string) =>
    `equired ${what}. If you gave it: npm needs a double dash before all options (npm run keys -- …).`;
  const option = (name: string) => missing(`option '${name}' not specified`);

  test.each([
    ['', 'Missing command. See --help.'],
    ['lsit --stage local', "Unknown command 'lsit' (Did you mean list?)"],
    ['frobnicate', "Unknown command 'frobnicate'. See --help."],
    [`identify --stage local ${newKey('local')}`, 'identify" reads it from standard input.'],
    ['--stage local list', "Unknown option '--stage'. See --help."],
    ['list', option('--stage <stage>')],
    ['list local', option('--stage <stage>')],
    ['create --stage local --owner A', option('--plan <plan>')],
    ['show --stage local', missing("argument 'key-id'")],
    ['list --stage local --all', "Unknown option '--all'. See --help."],
    ['list --stage local --yes', "Unknown option '--yes'. See --help."],
    [
      'list --stage local --limit 10001',
      "Option '--limit <n>' argument '10001' is invalid. It must be a whole number from 1 to 10,000.",
    ],
    ['list --stage production', 'Allowed choices are local, staging, prod.'],
    ['list --stage prod --port 3000', '--port requires --stage local.'],
    ['create --stage local --owner Ada --plan gold', `Allowed choices are ${planNames.join(', ')}`],
    ['show Ada --stage local', 'A key ID looks like'],
    [`show ${id} ${id} --stage local`, 'Too many arguments'],
    [`usage ${id} --stage local --days 91`, 'from 1 to 90.'],
    [`rotate ${id} --stage local --overlap 1w`, 'such as 90s, 24h or 7d'],
    [`suspend ${id} --stage local --for 0s`, 'such as 90s, 24h or 7d'],
    ['list --stage local --owner=', 'one line of 1 to 100'],
    ['repair --stage local --owner=', 'one line of 1 to 100'],
    ['forget --stage local', option('--owner <name>')],
  ])('end with 2, and one line says why: %s', async (call, expected) => {
    const args = call.split(' ').filter((word) => word !== '');
    const { exitCode, stdout, stderr } = await keys(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(expected);
    expect(stderr).toMatch(/(^|\n)[^\n]{10,}[.?…)]\n$/);
    // The same as JSON, wherever the option stands: one object, and nothing beside it.
    for (const asJson of [await keys([...args, '--json']), await keys(['--json', ...args])]) {
      expect(asJson).toMatchObject({ exitCode: 2, stdout: '' });
      expect(JSON.parse(asJson.stderr)).toEqual({
        error: { code: 'usage', message: expect.stringMatching(/^[^\n]{10,}[.?…)]$/) },
      });
    }
  });

  test('without a command show the help as well', async () => {
    expect((await keys([])).stderr).toContain('Commands:');
  });

  test('do not repeat an API key given in place of its ID', async () => {
    const key = newKey('prod');
    for (const args of [
      ['show', key, '--stage', 'prod'],
      ['list', '--stage', 'prod', key],
      ['list', '--stage', key],
      [key],
      [`--${key}`],
    ]) {
      const { exitCode, stdout, stderr } = await keys(args);
      expect(exitCode).toBe(2);
      expect(stdout + stderr).not.toContain(key);
    }
    expect((await keys(['show', key, '--stage', 'prod'])).stderr).toContain('identify" reads it');
  });
});

test.each(commands)(
  '%s has help with its required options, --yes if it asks, and an example',
  async (command) => {
    const { exitCode, stdout } = await keys([command, '--help']);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/--stage <stage> [^-]*\(required\)/);
    if (command === 'create') expect(stdout).toMatch(/--owner <name> +who uses the key \(required\)/);
    const asks = ['rotate', 'revoke', 'suspend', 'change-plan', 'repair', 'forget'].includes(command);
    expect(stdout.includes('--yes')).toBe(asks);
    expect(stdout).toMatch(new RegExp(`Example:\\n  npm run keys -- ${command} .*--stage`));
  },
);

test('the help names every command', async () => {
  const { exitCode, stdout } = await keys(['--help']);
  expect(exitCode).toBe(0);
  for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
});

test('every tool has the same exit codes, and docs/keys.md has them all', async () => {
  const codes = ['0', ...Object.values(exitCodes).map(String)];
  for (const run of [runKeys, runPets]) {
    const { stdout } = await runInProcess(run, ['--help']);
    expect(stdout.split('Exit codes: ').slice(1)).toHaveLength(1);
    const [, listed = ''] = stdout.split('Exit codes: ');
    expect([...listed.matchAll(/\b(\d+) /g)].map(([, code]) => code)).toEqual(codes);
  }
  const guide = await readFile('docs/keys.md', 'utf8');
  expect([...guide.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => code)).toEqual(codes);
});

describe('one line says what to do', () => {
  /** The last line of a failure. Before it are only notes of repeated calls. */
  async function failure(args: readonly string[], exitCode: number): Promise<string> {
    const run = await keys(args);
    expect(run).toMatchObject({ exitCode, stdout: '' });
    const lines = run.stderr.trimEnd().split('\n');
    const message = lines.pop() ?? '';
    for (const line of lines) expect(line).toMatch(/^DescribeStacks failed .* Trying again/);
    const asJson = await keys([...args, '--json']);
    expect(asJson.exitCode).toBe(exitCode);
    expect(JSON.parse(asJson.stderr.trimEnd().split('\n').at(-1) ?? '')).toEqual({
      error: { code: expect.any(String), message },
    });
    return message;
  }

  test('when no local service runs', async () => {
    const port = String((server.address() as AddressInfo).port + 1);
    expect(await failure(['list', '--stage', 'local', '--port', port], 1)).toMatch(
      /No service answers at http:\/\/127\.0\.0\.1:\d+\. Start it with "npm start", or give its port with --port/,
    );
  });

  test('when the local service is that of another user or folder', async () => {
    answer = { status: 400, body: refusal('InvalidClientTokenId', 'The call lacks the session token') };
    const { port } = new URL(endpoint);
    expect(await failure(['list', '--stage', 'local', '--port', port], 1)).toContain(
      `The service at ${endpoint} was not started from this folder by this user`,
    );
  });

  test('when there are no credentials', async () => {
    onAws();
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', '');
    expect(await failure(list, 1)).toContain('AWS credentials are missing. Sign in');
    expect(await failure([...list, '--profile', 'ops'], 1)).toContain('"aws sso login --profile ops"');
  });

  test('when no Region is named', async () => {
    onAws();
    vi.stubEnv('AWS_REGION', undefined);
    expect(await failure(list, 1)).toContain(
      'The Region is not set. Give it with --region, or set AWS_REGION',
    );
  });

  test('when the stack is absent, or in another Region or account, or named otherwise', async () => {
    onAws();
    answer = {
      status: 400,
      body: refusal('ValidationError', 'Stack with id AnimalStore-prod does not exist'),
    };
    expect(await failure(list, 3)).toMatch(
      /Stack AnimalStore-prod does not exist at Region eu-central-1\. Deploy it, or give its Region with --region/,
    );
    expect(await failure([...list, '--region', 'us-west-2', '--name', 'Shelter'], 3)).toContain(
      'Stack Shelter-prod does not exist at Region us-west-2',
    );
  });

  test('when the stack is not deployed whole', async () => {
    onAws();
    answer = { status: 200, body: outputs({ ApiUrl: 'https://x.example/v1', RestApiId: 'r' }) };
    expect(await failure(list, 1)).toMatch(/lacks the output ApiKeysTableName: .*Deploy it again/);
  });

  test.each([
    ['ExpiredToken', 'does not accept these credentials (The reason). Sign in ("aws sso login")'],
    ['InvalidClientTokenId', 'does not accept these credentials'],
    ['AccessDenied', 'The reason'],
  ])('when AWS answers %s', async (code, advice) => {
    onAws();
    answer = { status: 403, body: refusal(code, 'The reason') };
    expect(await failure(list, 1)).toContain(advice);
  });

  test.each([
    [200, '<html><head></head><body>Sign in<br></body></html>'],
    [403, '<!doctype html><p>Blocked<p>by the proxy'],
    [502, '<html><body>Bad gateway</body>'],
    [200, 'not XML'],
  ])('when what answers is not AWS: %s %s', async (status, body) => {
    onAws();
    answer = { status, body, type: 'text/html' };
    expect(await failure(list, 1)).toBe(
      'What answers is not AWS, but something in between, such as a proxy or the sign-in page of a network.',
    );
    const { port } = server.address() as AddressInfo;
    expect(await failure(['list', '--stage', 'local', '--port', String(port)], 1)).toBe(
      `What answers at ${endpoint} is not the local service. Give its port with --port.`,
    );
  });

  test('and no key or hash in what AWS says gets through', async () => {
    onAws();
    const key = newKey('prod');
    answer = { status: 400, body: refusal('Odd', `${key} ${'0a'.repeat(32)}`) };
    const { stderr } = await keys(list);
    expect(stderr).toContain('[redacted] [redacted]');
    expect(stderr).not.toContain(key);
  });
});

test('Ctrl-C ends a process with 130, and says what may have happened', async () => {
  onAws();
  answer = undefined;
  const program = join(import.meta.dirname, '../../../tools/operators/keys/keys.ts');
  const child = spawn(process.execPath, [program, 'revoke', 'key_06fz1m4tqabcdefg', '--stage', 'prod']);
  await once(server, 'request');
  child.kill('SIGINT');
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  expect({ code, stdout, stderr }).toEqual({
    code: 130,
    stdout: '',
    stderr: `Interrupted. A change may be made or not: look with "list" or "show". "cleanup" deletes what it leaves in API Gateway.\n`,
  });
});

test('--version prints the version of the project', async () => {
  expect(await keys(['--version'])).toMatchObject({ exitCode: 0, stdout: `${packageJson.version}\n` });
});
