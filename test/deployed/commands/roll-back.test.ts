import { createHash } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  answers,
  answerOnly,
  project,
  templateOf,
  good,
  git,
  commit,
  run,
  argsOf,
  synth,
  synthesis,
  deployCall,
  useProject,
} from './deploy-project.ts';

useProject();

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
  answerOnly({});
  const made = await run('roll-back', 'prod', 'v1', '--output', 'assembly');
  expect([made.code, made.calls.length, made.calls[0]!.folder]).toEqual([0, 1, join(project, 'assembly')]);
  answerOnly(good);
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
