import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { newKey } from '../../../functions/access/keys.ts';
import { stages } from '../../../tools/operator/command.ts';
import { stageNames } from '../../../lib/configuration/stages.ts';
import { exitCodes } from '../../../tools/operator/errors.ts';
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
];

const projectDirectory = join(import.meta.dirname, '..', '..', '..');

/** Answers CloudFormation's calls as configured. */
let answer: { readonly status: number; readonly body: string };
let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(answer.status, { 'Content-Type': 'text/xml' }).end(answer.body);
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
  test.each([
    ['no command', []],
    ['an unknown command', ['destroy', '--stage', 'local']],
    ['no stage', ['list']],
    ['an unknown stage', ['list', '--stage', 'production']],
    ['an unknown option', ['list', '--stage', 'local', '--all']],
    ['an unknown plan', ['create', '--stage', 'local', '--owner', 'Ada', '--plan', 'gold']],
    ['no owner', ['create', '--stage', 'local', '--plan', 'free']],
    ['no key id', ['show', '--stage', 'local']],
    ['an invalid key ID', ['show', 'Ada', '--stage', 'local']],
    ['two key ids', ['show', 'key_06fz1m4tqabcdefg', 'key_06fz1m4tqabcdefg', '--stage', 'local']],
    ['a page that is too long', ['list', '--stage', 'local', '--limit', '101']],
    ['an invalid cursor', ['list', '--stage', 'local', '--cursor', 'abc']],
    ['too many days', ['usage', 'key_06fz1m4tqabcdefg', '--stage', 'local', '--days', '91']],
    ['an invalid overlap', ['rotate', 'key_06fz1m4tqabcdefg', '--stage', 'local', '--overlap', '1w']],
    ['a suspension for no time', ['suspend', 'key_06fz1m4tqabcdefg', '--stage', 'local', '--for', '0s']],
    ['an owner without a name', ['list', '--stage', 'local', '--owner', '']],
    ['an owner without a name to repair', ['repair', '--stage', 'local', '--owner', '']],
    ['--yes where nothing is asked', ['list', '--stage', 'local', '--yes']],
    ['a shell without completion', ['completion', 'fish']],
    ['a port of AWS', ['list', '--stage', 'prod', '--port', '3000']],
  ])('end with 2 and say why: %s', async (_what, args) => {
    const { exitCode, stdout, stderr } = await keys(args);
    expect(exitCode).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).not.toBe('');
    // The same as JSON, wherever the option stands: one object, and nothing beside it.
    for (const asJson of [await keys([...args, '--json']), await keys(['--json', ...args])]) {
      expect(asJson).toMatchObject({ exitCode: 2, stdout: '' });
      expect(JSON.parse(asJson.stderr)).toEqual({
        error: { code: 'usage', message: expect.stringMatching(/^[^\n]{10,}[.?…)]$/) },
      });
    }
  });

  test.each([
    [['lsit', '--stage', 'local'], "Unknown command 'lsit' (Did you mean list?)"],
    [['list', '--stage', 'local', '--all'], "Unknown option '--all'."],
    [['show', '--stage', 'local'], 'Missing <key-id>. Options follow a double dash: npm run keys -- …'],
    [
      ['create', '--plan', 'free'],
      'Missing --stage, --owner. Options follow a double dash: npm run keys -- …',
    ],
    [['list', 'local'], 'Missing --stage. Options follow a double dash: npm run keys -- …'],
    [
      ['create', '--stage', 'local', '--owner', 'A'],
      'Missing --plan. Options follow a double dash: npm run keys -- …',
    ],
    [
      ['list', '--stage', 'local', '--limit', '0'],
      "Option '--limit <n>' argument '0' is invalid. It must be a whole number from 1 to 100.",
    ],
  ])('are reported in one line: %j', async (args, message) => {
    expect(await keys(args)).toMatchObject({ exitCode: 2, stderr: `${message}\n` });
    const { stderr } = await keys([...args, '--json']);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'usage', message } });
  });

  test('without a command show the help as well', async () => {
    const { stderr } = await keys([]);
    expect(stderr).toContain('Commands:');
    expect(stderr).toMatch(/\nMissing command\. Run with --help to list commands\.\n$/);
  });

  test('do not repeat an API key given in place of its ID', async () => {
    const key = newKey('prod');
    for (const args of [
      ['show', key, '--stage', 'prod'],
      ['list', '--stage', 'prod', '--cursor', key],
      ['list', '--stage', 'prod', key],
      ['list', '--stage', key],
      [key],
      [`--${key}`],
    ]) {
      const { exitCode, stdout, stderr } = await keys(args);
      expect(exitCode).toBe(2);
      expect(stdout + stderr).not.toContain(key);
    }
    expect((await keys(['show', key, '--stage', 'prod'])).stderr).toContain('"identify"');
  });
});

test.each(commands)('%s has help with an example', async (command) => {
  const { exitCode, stdout } = await keys([command, '--help']);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(new RegExp(`Example:\\n  npm run keys -- ${command} .*--stage`));
});

test('the help names every command and every exit code', async () => {
  const { exitCode, stdout } = await keys(['--help']);
  expect(exitCode).toBe(0);
  for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
  for (const code of [0, ...Object.values(exitCodes)])
    expect(stdout).toMatch(new RegExp(`Exit codes:.*\\b${code} `, 's'));
});

test('the stages are those that the CDK app knows', () => {
  expect(stages).toEqual(stageNames);
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
    expect(await failure(list, 1)).toMatch(
      /lacks the outputs ApiKeysTableName, RateLimitsTableName.*Deploy it again/,
    );
  });

  test.each([
    [
      'ExpiredToken',
      403,
      'The security token included in the request is expired',
      'have expired. Sign in again',
    ],
    [
      'InvalidClientTokenId',
      403,
      'The security token included in the request is invalid.',
      'does not accept these credentials',
    ],
    [
      'AccessDenied',
      403,
      'User: arn:aws:iam::1:user/x is not authorized to perform: cloudformation:DescribeStacks',
      'do not allow this: User',
    ],
    ['Throttling', 400, 'Rate exceeded', 'Wait a minute, then run the same command again'],
  ])('when AWS answers %s', async (code, status, message, advice) => {
    onAws();
    answer = { status, body: refusal(code, message) };
    expect(await failure(list, 1)).toContain(advice);
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

test('every command marks its required options, and only those that ask have --yes', async () => {
  const asking = new Set(['rotate', 'revoke', 'suspend', 'change-plan', 'repair']);
  for (const command of commands) {
    const { stdout } = await keys(['help', command]);
    expect(stdout).toContain('--stage <stage>');
    expect(stdout).toMatch(/--stage <stage> [^-]*\(required\)/);
    expect(stdout.includes('--yes')).toBe(asking.has(command));
  }
  expect((await keys(['create', '--help'])).stdout).toMatch(/--owner <name> +who uses the key \(required\)/);
});

test('--version prints the version of the project', async () => {
  const { version } = JSON.parse(readFileSync(join(projectDirectory, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(await keys(['--version'])).toMatchObject({ exitCode: 0, stdout: `${version}\n` });
});

describe('completion', () => {
  /** What bash offers for the last word. */
  async function offered(words: readonly string[]): Promise<string[]> {
    const { stdout: script } = await keys(['completion', 'bash']);
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const program = `${script}\nCOMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _animal_store_keys; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['--norc', '-c', program]).toString().trim().split('\n');
  }
  const program = 'animal-store-keys';

  test.each([
    [
      [program, 'c'],
      ['create', 'change-plan', 'cleanup', 'completion'],
    ],
    [
      [program, 'help', 're'],
      ['rotate', 'revoke', 'resume', 'repair'].filter((name) => name.startsWith('re')),
    ],
    [[program, 'create', '--pl'], ['--plan']],
    [
      [program, 'create', '--plan', ''],
      ['free', 'pro', 'business', 'enterprise'],
    ],
    [[program, 'list', '--stage', 'p'], ['prod']],
    [[program, 'list', '--status', 'sus'], ['suspended']],
    [
      [program, 'completion', ''],
      ['bash', 'zsh', '--help'],
    ],
  ])('of %j offers %j', async (words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  test('for zsh runs the script for bash', async () => {
    const [bash, zsh] = [await keys(['completion', 'bash']), await keys(['completion', 'zsh'])];
    expect(zsh.stdout).toMatch(/^autoload/);
    expect(zsh.stdout.endsWith(bash.stdout)).toBe(true);
  });
});
