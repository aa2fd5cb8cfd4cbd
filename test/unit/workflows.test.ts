import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const step = z.object({
  id: z.string().optional(),
  uses: z.string().optional(),
  run: z.string().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const job = z.object({
  if: z.string().optional(),
  needs: z.union([z.string(), z.array(z.string())]).optional(),
  'runs-on': z.string(),
  'timeout-minutes': z.number().optional(),
  permissions: z.record(z.string(), z.string()).optional(),
  environment: z.object({ name: z.string() }).optional(),
  concurrency: z.object({ group: z.string(), 'cancel-in-progress': z.boolean() }).optional(),
  steps: z.array(step),
});
const workflow = z.object({
  on: z.record(z.string(), z.unknown()),
  permissions: z.record(z.string(), z.string()).optional(),
  jobs: z.record(z.string(), job),
});
const action = z.object({ runs: z.object({ using: z.literal('composite'), steps: z.array(step) }) });

const workflowPaths = globSync('.github/workflows/*.yml');
const actionPaths = globSync('.github/actions/*/action.yml');
const sources = new Map(
  await Promise.all(
    [...workflowPaths, ...actionPaths].map(async (path) => [path, await readFile(path, 'utf8')] as const),
  ),
);
const workflows = new Map(
  workflowPaths.map((path) => [
    path.slice(path.lastIndexOf('/') + 1),
    workflow.parse(parse(sources.get(path)!)),
  ]),
);
const actions = new Map(
  actionPaths.map((path) => [
    `./${path.replace('/action.yml', '')}`,
    action.parse(parse(sources.get(path)!)),
  ]),
);
const jobs = [...workflows].flatMap(([file, { on, jobs: all }]) =>
  Object.entries(all).map(([name, each]) => ({ file, on, name, job: each })),
);
const steps = [
  ...jobs.flatMap(({ job: { steps: own } }) => own),
  ...[...actions.values()].flatMap(({ runs }) => runs.steps),
];

/** The step, and those of the local action that it stands for. */
function unfold(each: z.infer<typeof step>): z.infer<typeof step>[] {
  const local = each.uses === undefined ? undefined : actions.get(each.uses);
  return local === undefined ? [each] : local.runs.steps.flatMap((inner) => unfold(inner));
}

function jobOf(file: string, name: string): z.infer<typeof job> {
  const found = workflows.get(file)?.jobs[name];
  if (found === undefined) throw new Error(`${file} has no job ${name}`);
  return found;
}

const needsOf = ({ needs = [] }: z.infer<typeof job>) => [needs].flat();

describe('Every workflow', () => {
  it('pins every action of others to a commit, with its version beside it, and the same one everywhere', () => {
    const pins = new Map<string, Set<string>>();
    for (const source of sources.values()) {
      for (const line of source.split('\n').filter((each) => /^\s*(- )?uses:/.test(each))) {
        const [, name, pin = ''] = /uses: ([^@\s]+)(?:@(.+))?$/.exec(line) ?? [];
        if (name === undefined || !actions.has(name))
          pins.set(name ?? line, (pins.get(name ?? line) ?? new Set()).add(pin));
      }
    }
    const wrong = [...pins].filter(
      ([, used]) => used.size > 1 || ![...used].every((pin) => /^[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(pin)),
    );
    expect(wrong).toEqual([]);
    expect(pins.size).toBeGreaterThan(3);
  });

  it('gives no permission to a whole workflow, and to each job no more than it needs', () => {
    for (const { permissions } of workflows.values()) expect(permissions).toEqual({});
    const granted = jobs.map(({ file, name, job: { permissions } }) => [`${file} ${name}`, permissions]);
    expect(Object.fromEntries(granted)).toEqual({
      'audit.yml audit': { contents: 'read' },
      'codeql.yml analyze': { contents: 'read', 'security-events': 'write' },
      'deliver.yml check': { contents: 'read' },
      'deliver.yml assembly': { contents: 'read' },
      'deliver.yml staging': { contents: 'read', 'id-token': 'write' },
      'deliver.yml prod': { contents: 'read', 'id-token': 'write' },
      'pull-request.yml check': { contents: 'read' },
      'pull-request.yml deployed': { 'id-token': 'write' },
      'pull-request.yml diff': { contents: 'read' },
      'pull-request.yml macos': { contents: 'read' },
      'pull-request.yml oldest-node': { contents: 'read' },
      'pull-request.yml comment': { 'pull-requests': 'write' },
    });
  });

  it('bounds the time of every job', () => {
    const unbounded = jobs.filter(
      ({ job: each }) =>
        !((each['timeout-minutes'] ?? Infinity) <= (each.environment === undefined ? 45 : 120)),
    );
    expect(unbounded.map(({ file, name }) => `${file} ${name}`)).toEqual([]);
  });

  it('leaves no token behind in the checked-out repository', () => {
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    expect(checkouts.length).toBeGreaterThan(3);
    for (const each of checkouts) expect(each.with).toMatchObject({ 'persist-credentials': false });
  });

  it('puts nothing from outside into a script: values come by the environment', () => {
    for (const { run } of steps) expect(run ?? '').not.toContain('${{');
  });

  it('runs only scripts that there are', async () => {
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile('package.json', 'utf8')));
    const runs = steps.map(({ run = '' }) => run);
    const called = runs.flatMap((run) => [...run.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!));
    expect(called).toEqual(expect.arrayContaining(['synth', 'smoke']));
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(called));
    const files = runs.flatMap((run) => run.match(/^\.[\w./-]+/gm) ?? []);
    expect(files).toEqual(expect.arrayContaining(['.ci/run', '.github/scripts/diff.sh']));
    for (const file of files) expect((await stat(file)).mode & 0o111).not.toBe(0);
  });
});

describe('A pull request', () => {
  const ofPullRequests = jobs.filter(({ on }) => 'pull_request' in on);

  it('never runs in the context of the branch it goes to', () => {
    expect(ofPullRequests.length).toBeGreaterThan(3);
    const events = jobs.flatMap(({ on }) => Object.keys(on));
    expect(events).not.toContain('pull_request_target');
    expect(events).not.toContain('workflow_run');
  });

  it('brings its code into no job that can reach AWS or write a comment', () => {
    const powerful = ofPullRequests.filter(
      ({ job: { permissions = {} } }) => 'id-token' in permissions || 'pull-requests' in permissions,
    );
    expect(powerful.map(({ name }) => name)).toEqual(['deployed', 'comment']);
    for (const { job: each } of powerful) {
      const uses = each.steps.map((one) => one.uses ?? '');
      expect(uses.filter((name) => name.startsWith('actions/checkout@') || name.startsWith('./'))).toEqual(
        [],
      );
      for (const { run = '' } of each.steps) expect(run).not.toMatch(/\b(npm|npx|node|bash|sh)\b|\.\//);
    }
  });

  it('from a fork is checked, and does without the diff', () => {
    expect(jobOf('pull-request.yml', 'deployed').if).toContain(
      'github.event.pull_request.head.repo.full_name == github.repository',
    );
    expect(needsOf(jobOf('pull-request.yml', 'diff'))).toContain('deployed');
    expect(needsOf(jobOf('pull-request.yml', 'comment'))).toContain('diff');
    expect(jobOf('pull-request.yml', 'check')).not.toHaveProperty('if');
  });

  it('sees no secret', () => {
    for (const file of new Set(ofPullRequests.map((each) => each.file))) {
      expect(sources.get(`.github/workflows/${file}`)).not.toContain('secrets.');
    }
  });
});

describe('A delivery', () => {
  const stages = ['staging', 'prod'] as const;

  it('starts from main, and only after all checks and tests', () => {
    expect(workflows.get('deliver.yml')?.on).toMatchObject({ push: { branches: ['main'] } });
    expect(jobOf('deliver.yml', 'check').steps.map(({ run }) => run)).toContain('.ci/run');
    expect(needsOf(jobOf('deliver.yml', 'staging'))).toEqual(expect.arrayContaining(['check', 'assembly']));
    for (const stage of stages) {
      expect(jobOf('deliver.yml', stage).if).toContain("github.ref == 'refs/heads/main'");
    }
  });

  it('reaches prod only after staging was deployed and smoke tested', () => {
    expect(needsOf(jobOf('deliver.yml', 'prod'))).toContain('staging');
  });

  it.each(stages)(
    'runs in the environment %s, whose approval and secrets it needs, one at a time',
    (stage) => {
      const { environment, concurrency } = jobOf('deliver.yml', stage);
      expect(environment?.name).toBe(stage);
      expect(concurrency).toEqual({ group: `deploy-${stage}`, 'cancel-in-progress': false });
    },
  );

  it.each(stages)('deploys to %s what was synthesized once, and then smoke tests it', (stage) => {
    const own = jobOf('deliver.yml', stage).steps;
    expect(own.find(({ id }) => id === 'deploy')?.with).toMatchObject({
      stage,
      'smoke-key': '${{ secrets.SMOKE_KEY }}',
    });
    const all = own.flatMap((each) => unfold(each));
    const position = (matches: (each: z.infer<typeof step>) => boolean) =>
      all.findIndex((each) => matches(each));
    const download = position((each) => each.with?.['name'] === 'assembly');
    const deployment = position(({ run }) => run?.includes('cdk deploy --app cdk.out ') ?? false);
    const smoke = position(({ run }) => run?.startsWith('npm run smoke ') ?? false);
    expect(download).toBeGreaterThan(-1);
    expect(deployment).toBeGreaterThan(download);
    expect(smoke).toBeGreaterThan(deployment);
    expect(all[smoke]?.env).toHaveProperty('SMOKE_KEY');
    expect(all.filter(({ run }) => run?.includes('synth'))).toEqual([]);
  });

  it.each(stages)('gives %s time for a change of the TLS policy, which takes AWS up to an hour', (stage) => {
    const { 'timeout-minutes': minutes = 0, steps: own } = jobOf('deliver.yml', stage);
    expect(minutes).toBeGreaterThanOrEqual(90);
    const credentials = own
      .flatMap((each) => unfold(each))
      .find(({ uses }) => uses?.includes('configure-aws-credentials'));
    expect(credentials?.with?.['role-duration-seconds']).toBeGreaterThanOrEqual(minutes * 60);
  });

  it('has its credentials only after all packages are installed', () => {
    for (const stage of stages) {
      const all = jobOf('deliver.yml', stage).steps.flatMap((each) => unfold(each));
      const install = all.findIndex(({ run }) => run === 'npm ci');
      const credentials = all.findIndex(({ uses }) => uses?.includes('configure-aws-credentials'));
      expect(install).toBeGreaterThan(-1);
      expect(credentials).toBeGreaterThan(install);
    }
  });
});

describe('.github/dependabot.yml', () => {
  it('keeps packages and actions up to date, but lets a release ripen first', async () => {
    const { updates } = z
      .object({
        updates: z.array(
          z.object({
            'package-ecosystem': z.string(),
            directory: z.string().optional(),
            cooldown: z.object({ 'default-days': z.number().min(7) }),
          }),
        ),
      })
      .parse(parse(await readFile('.github/dependabot.yml', 'utf8')));
    expect(updates.map((each) => [each['package-ecosystem'], each.directory])).toEqual(
      expect.arrayContaining([
        ['npm', '/'],
        ['npm', '/bench'],
        ['github-actions', undefined],
      ]),
    );
  });
});

describe('.github/scripts/diff.sh', () => {
  let folder: string;
  let output: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'diff-'));
    const write = (path: string, content: unknown) => writeFile(join(folder, path), JSON.stringify(content));
    await mkdir(join(folder, 'assembly'));
    await mkdir(join(folder, 'deployed'));
    await write('assembly/manifest.json', {
      version: '36.0.0',
      artifacts: Object.fromEntries(
        ['Old', 'New'].map((stack) => [
          stack,
          {
            type: 'aws:cloudformation:stack',
            environment: 'aws://unknown-account/unknown-region',
            properties: { templateFile: 'template.json' },
          },
        ]),
      ),
    });
    await write('assembly/template.json', table('id'));
    await write('deployed/Old.json', table('name'));
    ({ stdout: output } = await promisify(execFile)('.github/scripts/diff.sh', [
      join(folder, 'assembly'),
      join(folder, 'deployed'),
      'New',
      'Old',
    ]));
  }, 30_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('says of a stack without a template that it is new', () => {
    expect(output).toContain('### New\n\nNot deployed yet: everything is new.\n');
  });

  it('shows what changes, and warns when a resource would be lost', () => {
    const [, old = ''] = output.split('### Old');
    expect(old).toContain('Deletes or replaces resources.');
    expect(old).toContain('[~] AWS::DynamoDB::Table Kept');
    expect(old).not.toContain('Changes permissions.');
  });
});

/** A template with a table of this partition key. */
function table(key: string) {
  const properties = { KeySchema: [{ AttributeName: key, KeyType: 'HASH' }] };
  return { Resources: { Kept: { Type: 'AWS::DynamoDB::Table', Properties: properties } } };
}
