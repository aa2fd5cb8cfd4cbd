import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createKey } from '../../../tools/operators/keys/commands/issue.ts';
import { openKeyService } from '../../../tools/operators/keys/service.ts';
import { Client } from '../../../tools/operators/smoke/client.ts';
import { localStage } from '../../../tools/contributors/local/stack.ts';
import { isLocal, sameDay } from './support.ts';

const document = resolve('docs/openapi.yaml');
const checks = resolve('tools/contributors/checks/node_modules');

const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
/** What generates, compiles and runs clients. The project's check (.ci/run) has all of it but Go. */
const installed = {
  'Maven and a JDK': succeeds('mvn', '--version') && succeeds('javac', '--version'),
  Go: succeeds('go', 'version'),
  'openapi-python-client': succeeds('openapi-python-client', '--version'),
  'the packages of tools/contributors/checks': existsSync(checks),
};
type Tool = keyof typeof installed;
const has = (...tools: Tool[]) => tools.every((tool) => installed[tool]);
const missing = Object.entries(installed).filter(([, isInstalled]) => !isInstalled);
if (missing.length > 0)
  console.warn(
    `Clients that need one of these are not generated: ${missing.map(([tool]) => tool).join(', ')}. .ci/run installs all but Go.`,
  );

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
  const read = (file: string) => readFile(file, 'utf8');
  const guide = await read('docs/write-a-client.md');
  const named = [...guide.matchAll(/^\| (open\S+|oapi\S+) +\| (\S+) +\|/gm)].map(([, name, version]) => [
    name,
    version,
  ]);
  const [pom, goMod, python, checksPackage] = await Promise.all(
    [
      'test/deployed/http/generated-clients/java/pom.xml',
      'test/deployed/http/generated-clients/go/go.mod',
      '.ci/requirements.in',
      'tools/contributors/checks/package.json',
    ].map(read),
  );
  expect(Object.fromEntries(named)).toEqual({
    'openapi-generator': /<artifactId>openapi-generator-maven-plugin<[^]+?<version>(.+)</.exec(pom!)?.[1],
    'oapi-codegen': /oapi-codegen\/v2 v(\S+)/.exec(goMod!)?.[1],
    'openapi-python-client': /^openapi-python-client==(.+)$/m.exec(python!)?.[1],
    'openapi-typescript': /"openapi-typescript": "(.+)"/.exec(checksPackage!)?.[1],
  });
});

describe.runIf(isLocal)('A client generated from the document creates, pages and reads errors', () => {
  let folder: string;
  let usedUpKey: string;
  const inFolder = (...path: string[]) => join(folder, ...path);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'generated-clients-'));
    await cp('test/deployed/http/generated-clients', folder, { recursive: true });
    if (has('Maven and a JDK')) await run('java', 'mvn', ...maven, 'compile');

    const keys = await openKeyService({ stage: localStage, ...inject('local')! });
    const limits = { perMinute: 1, perDay: 1 };
    usedUpKey = (await createKey(keys, { owner: 'tests', plan: 'enterprise', ...limits })).key;
    keys.close();
    // The first time, Maven downloads what it needs.
  }, 600_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const maven = ['--quiet', '--batch-mode', `-Ddocument=${document}`];

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

  it.runIf(has('Maven and a JDK'))('by openapi-generator for Java with Bean Validation', async () => {
    // Maven resets the colours of the terminal.
    expect(stripVTControlCharacters(await tell('java', 'mvn', ...maven, 'exec:java'))).toBe(story);
  });

  it.runIf(has('Maven and a JDK', 'Go'))('by openapi-generator for Go', async () => {
    const generated = inFolder('go/generated/openapi-generator');
    await mkdir(generated, { recursive: true });
    // Without its go.mod and its tests, to be a package of the module of the program.
    for (const file of await readdir(inFolder('java/target/go')))
      if (file.endsWith('.go')) await cp(inFolder('java/target/go', file), join(generated, file));
    expect(await tell('go', 'go', 'run', './openapi-generator')).toBe(story);
  });

  it.runIf(has('Go'))('by oapi-codegen', async () => {
    await mkdir(inFolder('go/generated/oapi-codegen'), { recursive: true });
    const generated = 'generated/oapi-codegen/animals.go';
    await run('go', 'go', 'tool', 'oapi-codegen', '-config', 'oapi-codegen.yaml', '-o', generated, document);
    expect(await tell('go', 'go', 'run', './oapi-codegen')).toBe(story);
  });

  it.runIf(has('Maven and a JDK', 'openapi-python-client'))('by openapi-generator for Python', async () => {
    const generated = 'openapi_generator_client';
    await cp(inFolder('java/target/python', generated), inFolder('python', generated), { recursive: true });
    expect(
      await tell(
        'python',
        'python',
        '-W',
        'error',
        '-W',
        'ignore:GET:DeprecationWarning',
        'openapi_generator.py',
      ),
    ).toBe(story);
  });

  it.runIf(has('openapi-python-client'))('by openapi-python-client', async () => {
    const output = 'openapi_python_client_client';
    const options = ['--path', document, '--output-path', output, '--meta', 'none', '--fail-on-warning'];
    await run('python', 'openapi-python-client', 'generate', ...options);
    await run('python', 'python', '-W', 'error', '-m', 'compileall', '-q', output);
    expect(await tell('python', 'python', '-W', 'error', 'openapi_python_client.py')).toBe(story);
  });

  it.runIf(has('the packages of tools/contributors/checks'))(
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
