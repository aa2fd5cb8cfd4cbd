import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newKey } from '../../../functions/access/keys.ts';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { runInProcess } from '../../support/run-in-process.ts';

/** What operators are told when AWS, the local service or the network fails, and by Ctrl-C. */

const keys = (args: readonly string[]) => runInProcess(runKeys, args);

/** Answers CloudFormation's calls as configured. */
let answer: { readonly status: number; readonly body: string; readonly type?: string } | undefined;
let server: Server;
let endpoint: string;

beforeAll(async () => {
  server = createServer((_request, response) => {
    if (answer === undefined) return; // This endpoint never answers.
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
    const folder = await mkdtemp(join(tmpdir(), 'keys-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'config'), '[profile ops]\nregion = eu-central-1\n');
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'config'));
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'credentials'));
    expect(await failure([...list, '--profile', 'ops'], 1)).toContain('"aws sso login --profile ops"');
    expect(await failure([...list, '--profile', 'opps'], 2)).toContain('has no profile "opps". It has ops.');
  });

  test('when no Region is named', async () => {
    onAws();
    vi.stubEnv('AWS_REGION', undefined);
    expect(await failure(list, 2)).toContain(
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
      /Stack [\w-]+-prod does not exist at Region eu-central-1\. Deploy it, or give its Region with --region/,
    );
    expect(await failure([...list, '--region', 'us-west-2', '--name', 'Shelter'], 3)).toContain(
      'Stack Shelter-prod does not exist at Region us-west-2',
    );
  });

  test('in a clone whose cdk.json names a copy, as "cdk deploy" reads it', async () => {
    onAws();
    answer = { status: 400, body: refusal('ValidationError', 'Stack with id x does not exist') };
    const clone = await mkdtemp(join(tmpdir(), 'clone-'));
    await writeFile(
      join(clone, 'cdk.json'),
      '{"app":"node bin/animal-store.ts","context":{"name":"Shelter"}}',
    );
    const before = process.cwd();
    process.chdir(clone);
    onTestFinished(async () => {
      process.chdir(before);
      await rm(clone, { recursive: true });
    });
    expect(await failure(list, 3)).toContain('Stack Shelter-prod does not exist');
    expect(await failure([...list, '--name', 'Kennel'], 3)).toContain('Stack Kennel-prod does not exist');
    await writeFile(join(clone, 'cdk.json'), '{"context":{},"name":"Shelter"}');
    expect(await failure(list, 2)).toBe('cdk.json: "name" must stand under "context".');
    await writeFile(join(clone, 'cdk.json'), '{"context":{"name":5}}');
    expect(await failure(list, 2)).toBe('cdk.json: context.name must be a text.');
    await writeFile(join(clone, 'cdk.json'), '{');
    expect(await failure(list, 2)).toMatch(
      /^cdk\.json cannot be read \(.+\)\. Run the command in the folder/,
    );
    await rm(join(clone, 'cdk.json'));
    expect(await failure(list, 2)).toMatch(/^cdk\.json cannot be read/);
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
  const program = join(import.meta.dirname, '../../../tools/operators/keys/main.ts');
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

describe('a tool that needs some time to end after Ctrl-C', () => {
  async function interrupted(pause: number) {
    const program = join(import.meta.dirname, '../../../tools/operators/command-line/program.ts');
    const script = `import { runAsProcess } from ${JSON.stringify(program)};
await runAsProcess((_, { interrupted }) => new Promise((resolve) => {
  const stay = setInterval(() => {}, 1_000);
  const end = () => { clearInterval(stay); console.log('audit line'); resolve(130); };
  interrupted.addEventListener('abort', () => setTimeout(end, 3_000));
  console.log('ready');
}));`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script]);
    const ended = once(child, 'exit');
    const output = text(child.stdout);
    await once(child.stdout, 'readable');
    child.kill('SIGINT');
    await setTimeout(pause);
    child.kill('SIGINT');
    const [code] = (await ended) as [number];
    return { code, output: await output };
  }

  // A process group without a terminal gets the signal, and so does each process in it from the one that started it.
  test('ends well if the signal comes twice at once', async () => {
    expect(await interrupted(0)).toEqual({ code: 130, output: 'ready\naudit line\n' });
  });

  test('ends at once after a second Ctrl-C', async () => {
    expect(await interrupted(1_100)).toEqual({ code: 130, output: 'ready\n' });
  });
});
