import { spawnSync } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '../../../tools/operators/command-line/errors.ts';

// Every command of the project has this in common: `--help` changes nothing, and an exit code means the same everywhere.

let env: NodeJS.ProcessEnv;

/** The commands run without an account, and without npm, which they could start. */
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'command-lines-'));
  // The launcher puts the folder of the Node.js that runs npm first in the path.
  const node = join(folder, 'node');
  await copyFile(process.execPath, node);
  for (const name of ['npm', 'npx'])
    await writeFile(join(folder, name), '#!/bin/sh\necho "npm was started" >&2\nexit 99\n', { mode: 0o755 });
  const own = Object.entries(process.env).filter(([name]) => !/^(AWS|ANIMAL_STORE)_/.test(name));
  env = {
    ...Object.fromEntries(own),
    npm_node_execpath: node,
    PATH: [folder, process.env['PATH']].join(delimiter),
    HOME: folder,
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  return () => rm(folder, { recursive: true, force: true });
});

function run(line: string) {
  const args = ['tools/run.mjs', ...line.split(' ').filter((each) => each !== '')];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env, input: '' });
  return { exitCode: status, stdout, stderr };
}

/** The state of all files that git does not ignore. */
const workTree = () => spawnSync('git', ['status', '--porcelain'], { encoding: 'utf8' }).stdout;

/** The names of the tools that the launcher lists. */
const toolNames = (): string[] => /^Tools: (.+)$/m.exec(run('--help').stdout)?.[1]?.split(', ') ?? [];

/** What is no tool of ours, and has exit codes of its own. */
const foreign = new Set(['cdk', 'test']);

test('every command answers --help with its usage, and changes nothing', () => {
  const names = toolNames();
  expect(names).toEqual(expect.arrayContaining(['keys', 'pets', 'soak', 'update-dependencies']));
  const before = workTree();
  for (const name of names) {
    const { exitCode, stdout, stderr } = run(`${name} --help`);
    expect({ name, exitCode, stderr }).toEqual({ name, exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage:/m);
  }
  expect(workTree()).toBe(before);
});

test('each script of package.json that runs a tool of ours runs it through the launcher', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as {
    scripts: Readonly<Record<string, string>>;
  };
  const calls = Object.values(scripts).flatMap((script) => script.match(/\bnode \S+/g) ?? []);
  expect(calls).toContain('node tools/run.mjs');
  expect(calls.filter((call) => call !== 'node tools/run.mjs')).toEqual([]);
});

describe('a mistake in a command ends it with 2, and with one message', () => {
  test.each([
    '',
    'nothing-like-it',
    'openapi --openapi 3.0',
    'openapi a.yaml',
    'openapi --check --openapi 3.0 a.yaml',
    'update-dependencies no-such-package',
    'update-dependencies start',
    'update-dependencies undici7',
    'soak --seconds 0',
    'soak --rate x',
    'docs extra',
    'compare-templates',
    'compare-templates none.json package.json',
    'compare-templates README.md package.json',
    'start --port x',
    'start 8080',
    'start --keys-file /none/keys.json',
    'dev --database none',
    'deploy',
    'deploy local',
    'deploy prod -c stages=x',
    'deploy prod -c name=-',
    'deploy prod -c name',
    'deploy prod -c',
    'deploy prod --confirm-loss --verbose',
    'deploy prod staging',
    'deploy prod --dry-rnu',
    'deploy prod -x',
    'diff stagign',
    'diff prod -c foo',
    'diff --dry-rnu',
    'roll-back prod',
    'roll-back prod no-such-commit',
    'roll-back qa v1',
    'roll-back prod HEAD HEAD~1',
    'on-call-policy',
    'on-call-policy stagign',
    'on-call-policy prod staging',
    'smoke',
    'smoke --url example.com',
    'smoke --url http://127.0.0.1:1/v1',
    'keys',
    'keys list',
    'keys list --stage nowhere',
    'keys list --stage prod',
    'keys list --stage prod --region here',
    'keys list --stage prod --region eu-central-1 --profile none',
    'keys list --stage prod --port 3000',
    'keys list --stage prod --name -',
    'keys show 7 --stage local',
    'pets import none.jsonl --stage prod --rate 0',
    'pets show x --stage local',
    'pets list --stage prod --limit 101',
  ])('%s', (line) => {
    const { exitCode, stdout, stderr } = run(line);
    expect({ exitCode, stdout }).toEqual({ exitCode: exitCodes.usage, stdout: '' });
    expect(stderr).toMatch(/\S/);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(stderr).not.toContain('npm was started');
  });

  test('an option that no command has', () => {
    const required: Readonly<Record<string, string>> = {
      smoke: '--url http://127.0.0.1:1/v1',
      deploy: 'prod',
      'roll-back': 'prod HEAD',
      'on-call-policy': 'prod',
      keys: 'list --stage local',
      pets: 'list --stage local',
    };
    const names = toolNames().filter((name) => !foreign.has(name));
    expect(names).toContain('docs');
    for (const name of names) {
      const { exitCode, stderr } = run(`${name} ${required[name] ?? ''} --no-such-option`);
      expect({ name, exitCode }).toEqual({ name, exitCode: exitCodes.usage });
      expect(stderr).toMatch(/unknown option '--no-such-option'/i);
    }
  });
});

test('the environment can have the stage', () => {
  env = { ...env, ANIMAL_STORE_STAGE: 'prod' };
  expect(run('keys list').stderr).toContain('The Region is not set.');
  expect(run('keys list --stage nowhere').stderr).toContain('Allowed choices are local, staging, prod.');
  env = { ...env, ANIMAL_STORE_STAGE: 'nowhere' };
  expect(run('keys list')).toMatchObject({ exitCode: 2, stdout: '' });
  expect(run('keys list').stderr).toContain("from env 'ANIMAL_STORE_STAGE' is invalid.");
  delete env['ANIMAL_STORE_STAGE'];
});

test.each([
  ['deploy prod', exitCodes.usage, 'Region is missing'],
  ['deploy prod -c overrides={"prod":{"region":"eu-central-1"}}', exitCodes.failed, 'Nothing was deployed'],
  ['on-call-policy prod', exitCodes.usage, 'The Region is not set'],
  ['keys list --stage prod --region eu-central-1', exitCodes.failed, 'AWS credentials are missing'],
])('without an account, %s ends with %i', (line, code, message) => {
  const { exitCode, stderr } = run(line);
  expect(stderr).toContain(message);
  expect(exitCode).toBe(code);
});
