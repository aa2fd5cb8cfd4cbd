import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKey } from '../../../tools/operators/keys/commands/create.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { Client } from '../../../tools/operators/smoke/client.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';
import { isLocal, sameDay } from './support.ts';

const document = resolve('docs/openapi.yaml');
const checks = resolve('tools/contributors/checks/node_modules');

/** What generates and runs clients. The project's check (.ci/run) has both. */
const installed = {
  'openapi-python-client': spawnSync('openapi-python-client', ['--version']).status === 0,
  'the packages of tools/contributors/checks': existsSync(checks),
};
for (const [tool, isInstalled] of Object.entries(installed))
  if (!isInstalled) console.warn(`A client is not generated, because this lacks: ${tool}. CI generates it.`);

/**
 * What every program in generated-clients/ prints. It creates an animal whose name begins with a space and whose categoryId is the
 * largest int64, requests two pages of one animal by `Link`, then makes three mistakes.
 */
const story = ` Monty, available, 9223372036854775807
older: true
400 invalid_request
404 pet_not_found
429 rate_limit_exceeded
`;

it('docs/write-a-client.md names the generators with their versions', async () => {
  const [guide, python, checksPackage] = await Promise.all(
    ['docs/write-a-client.md', '.ci/requirements.in', 'tools/contributors/checks/package.json'].map((file) =>
      readFile(file, 'utf8'),
    ),
  );
  const named = [...guide!.matchAll(/^\| (\S+) +\| (\S+) +\| [^|]+ \| each change +\|/gm)];
  expect(named.map(([, name, version]) => [name, version])).toEqual([
    ['openapi-python-client', /^openapi-python-client==(.+)$/m.exec(python!)?.[1]],
    ['openapi-typescript', /"openapi-typescript": "(.+)"/.exec(checksPackage!)?.[1]],
  ]);
});

describe.runIf(isLocal)('A client generated from the document creates, pages and reads errors', () => {
  let folder: string;
  let usedUpKey: string;
  const inFolder = (...path: string[]) => join(folder, ...path);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generated-clients-'));
    await cp('test/deployed/http/generated-clients', folder, { recursive: true });
    const keys = await openKeyService({ stage: localStage, ...inject('local')! });
    const limits = { perMinute: 1, perDay: 1 };
    usedUpKey = (await createKey(keys, { owner: 'tests', plan: 'enterprise', ...limits })).key;
    keys.close();
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command in a folder of the programs. */
  async function run(where: string, command: string, ...args: string[]): Promise<string> {
    const { url, key } = inject('service');
    const env = { ...process.env, BASE_URL: url, API_KEY: key, USED_UP_KEY: usedUpKey };
    const options = { cwd: inFolder(where), env, maxBuffer: 2 ** 26 };
    const { stdout } = await promisify(execFile)(command, args, options).catch(
      (error: { stdout: string; stderr: string }) => {
        throw new Error(`${command} ${args.join(' ')}\n${error.stdout}${error.stderr}`, { cause: error });
      },
    );
    return stdout;
  }

  /** Runs a program on a day on which it may not send another request with `USED_UP_KEY`. */
  async function tell(where: string, command: string, ...args: string[]): Promise<string> {
    await sameDay(60);
    await new Client(inject('service').url, usedUpKey).send({ path: '/pets?limit=1' });
    return run(where, command, ...args);
  }

  it.runIf(installed['openapi-python-client'])('by openapi-python-client', async () => {
    const output = 'openapi_python_client_client';
    const options = ['--path', document, '--output-path', output, '--meta', 'none', '--fail-on-warning'];
    await run('python', 'openapi-python-client', 'generate', ...options);
    await run('python', 'python', '-W', 'error', '-m', 'compileall', '-q', output);
    expect(await tell('python', 'python', '-W', 'error', 'openapi_python_client.py')).toBe(story);
  });

  it.runIf(installed['the packages of tools/contributors/checks'])(
    'by openapi-typescript for openapi-fetch',
    async () => {
      await symlink(checks, inFolder('typescript/node_modules'));
      await writeFile(inFolder('typescript/package.json'), '{"type":"module"}');
      await run('typescript', join(checks, '.bin/openapi-typescript'), document, '--output', 'generated.ts');
      const options = ['--target', 'es2024', '--module', 'nodenext', '--allowImportingTsExtensions'];
      const types = ['--typeRoots', resolve('node_modules/@types'), '--types', 'node'];
      const compiler = resolve('node_modules/.bin/tsc');
      await run('typescript', compiler, '--strict', '--noEmit', ...options, ...types, 'openapi-fetch.ts');
      expect(await tell('typescript', process.execPath, 'openapi-fetch.ts')).toBe(story);
    },
  );
});
