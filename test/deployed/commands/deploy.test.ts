import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  answers,
  answerOnly,
  project,
  account,
  templateOf,
  stackWith,
  good,
  git,
  commit,
  hashOf,
  configure,
  run,
  goodLines,
  argsOf,
  synth,
  synthAt,
  deployCall,
  useProject,
} from './deploy-project.ts';

useProject();

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

test.each([
  [
    'a setting beside "context", where the CDK would ignore it',
    '{"context":{},"name":"Shelter"}',
    '"name" must stand',
  ],
  ['a file that is no JSON', '{', 'cdk.json cannot be read'],
  ['a file without a context', '{}', 'cdk.json: context must be an object.'],
])('%s is refused', async (_, file, message) => {
  await writeFile(join(project, 'cdk.json'), file);
  const { code, lines, calls } = await run('deploy', 'prod');
  expect([code, calls]).toEqual([2, []]);
  expect(lines).toEqual([expect.stringContaining(message)]);
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
  answerOnly({});
  const { code, lines, calls } = await run(tool, 'prod', '--help');
  expect([code, lines[0], calls]).toEqual([0, usage, []]);
});
