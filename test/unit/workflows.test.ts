import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { version as offlineVersion } from '../../packages/cdk-offline/src/version.ts';
import { version as clientVersion } from '../../packages/client/src/version.ts';
import { isFullRun } from '../support/rounds.ts';
import { bash, jobOf, scriptOf, unfold, workflows } from '../support/workflows.ts';

/** The rules of this project. actionlint and zizmor have those of every project (`npm run check`, `.ci/run`). */

const execute = promisify(execFile);
const read = async (path: string): Promise<unknown> => parse(await readFile(path, 'utf8'));
const manifest = z
  .object({
    version: z.string(),
    scripts: z.record(z.string(), z.string()),
    dependencies: z.record(z.string(), z.string()),
    devDependencies: z.record(z.string(), z.string()),
  })
  .parse(await read('package.json'));
const jobs = [...workflows].flatMap(([file, { on, jobs: all }]) =>
  Object.entries(all).map(([name, each]) => ({ file, on, name, job: each })),
);

const needsOf = ({ needs = [] }: (typeof jobs)[number]['job']) => [needs].flat();

describe('Every workflow', () => {
  it('bounds the time of every job', () => {
    const unbounded = jobs.filter(
      ({ job: each }) =>
        !((each['timeout-minutes'] ?? Infinity) <= (each.environment === undefined ? 45 : 120)),
    );
    expect(unbounded.map(({ file, name }) => `${file} ${name}`)).toEqual([]);
  });

  it('runs only npm scripts that there are', () => {
    const called = jobs
      .flatMap(({ job: each }) => each.steps.flatMap((one) => unfold(one)))
      .flatMap(({ run = '' }) => [...run.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!));
    expect(called).toEqual(expect.arrayContaining(['synth', 'smoke']));
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(called));
  });
});

describe('A pull request', () => {
  const ofPullRequests = jobs.filter(({ on }) => 'pull_request' in on);

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

  it('sees no secret', async () => {
    for (const file of new Set(ofPullRequests.map((each) => each.file)))
      expect(await readFile(join('.github/workflows', file), 'utf8')).not.toContain('secrets.');
  });
});

describe('A delivery', () => {
  const stages = ['staging', 'prod'] as const;

  it('reaches staging only after all checks and tests, from main, and prod only after staging', () => {
    expect(jobOf('deliver.yml', 'check').steps.map(({ run }) => run)).toContain('.ci/run');
    expect(needsOf(jobOf('deliver.yml', 'staging'))).toEqual(expect.arrayContaining(['check', 'assembly']));
    expect(needsOf(jobOf('deliver.yml', 'prod'))).toContain('staging');
    for (const stage of stages)
      expect(jobOf('deliver.yml', stage).if).toContain("github.ref == 'refs/heads/main'");
  });

  it.each(stages)(
    'to %s waits for its approval, runs one at a time, and has time for a change of the TLS policy',
    (stage) => {
      const { environment, concurrency, 'timeout-minutes': minutes = 0, steps } = jobOf('deliver.yml', stage);
      expect(environment?.name).toBe(stage);
      expect(concurrency).toEqual({ group: `deploy-${stage}`, 'cancel-in-progress': false });
      expect(minutes).toBeGreaterThanOrEqual(90);
      const credentials = steps
        .flatMap((each) => unfold(each))
        .find(({ uses }) => uses?.includes('configure-aws-credentials'));
      expect(credentials?.with?.['role-duration-seconds']).toBeGreaterThanOrEqual(minutes * 60);
    },
  );

  it.each(stages)('to %s deploys what was synthesized once, then smoke tests it', (stage) => {
    const own = jobOf('deliver.yml', stage).steps;
    expect(own.find(({ id }) => id === 'deploy')?.with).toMatchObject({ stage });
    const all = own.flatMap((each) => unfold(each));
    const steps = [
      all.findIndex(({ run }) => run === 'npm ci'),
      all.findIndex((each) => each.with?.['name'] === 'assembly'),
      // The packages are installed without credentials.
      all.findIndex(({ uses }) => uses?.includes('configure-aws-credentials')),
      all.findIndex(({ run }) => run?.includes('cdk -- deploy --app cdk.out ')),
      all.findIndex(({ run }) => run?.includes('npm run smoke ')),
    ];
    expect(steps).not.toContain(-1);
    expect(steps).toEqual(steps.toSorted((a, b) => a - b));
    expect(all.filter(({ run }) => run?.includes('synth'))).toEqual([]);
  });
});

describe('The comment on a pull request', () => {
  /** Runs the job's last step on this diff, and returns the comment that it would write. */
  async function comment(diff: string | Buffer): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'comment-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'diff.txt'), diff);
    await writeFile(join(folder, 'gh'), '#!/bin/sh\n', { mode: 0o755 });
    const run = scriptOf('pull-request.yml', 'comment', 'Write the comment, over the one of the last push');
    await execute(bash[0], [...bash.slice(1), run], {
      cwd: folder,
      env: {
        ...process.env,
        PATH: `${folder}${delimiter}${process.env['PATH']}`,
        COMMENTS: 'a',
        COMMENT: 'b',
      },
    });
    return readFile(join(folder, 'comment.md'), 'utf8');
  }

  /** What the comment has outside the fence, by the rule of CommonMark: a line of as many tildes ends it. */
  function outside(markdown: string): string {
    const [open = ''] = /~{3,}(?=text\n)/.exec(markdown) ?? [];
    const [before = '', rest = ''] = markdown.split(`${open}text\n`);
    const lines = rest.split(/\r\n|\n|\r/);
    const end = lines.findIndex((line) => /^ {0,3}~+\s*$/.test(line) && line.trim().length >= open.length);
    return before + lines.slice(end + 1).join('\n');
  }

  const harmless = '== AnimalStore-prod\n\nNo differences.\n';

  it.each([
    '~~~~\n# injected\n',
    `${'~'.repeat(50)}\n# injected\n`,
    'Description: a\r~~~~~\r# injected\r',
    '   ~~~~\n</details> # injected ![x](https://example.com)\n',
    // Not UTF-8: the bytes between the tildes are left out.
    Buffer.from('~~~\xff~~~\xc3\n# injected\n', 'latin1'),
    Buffer.from('~\xf0\x9f~\x80~~~~\n# injected\n', 'latin1'),
  ])('shows every diff as text: %j', async (diff) => {
    const written = await comment(diff);
    expect(written).toContain('injected');
    expect(outside(written)).toBe(outside(await comment(harmless)));
  });

  it('warns when a resource would be lost or permissions change, and only then', async () => {
    expect(await comment(harmless)).not.toContain('> [!');
    const warned = await comment('WARNING: deletes or replaces resources.\nWARNING: changes permissions.\n');
    expect(outside(warned)).toContain('> [!WARNING]\n> Deletes or replaces resources.\n');
    expect(outside(warned)).toContain('> [!IMPORTANT]\n> Changes permissions.\n');
  });

  it('stays below the 65,536 characters of a comment, and says so when it is cut', async () => {
    const written = await comment(Buffer.from(`x${'€'.repeat(40_000)}`));
    expect(Buffer.byteLength(written)).toBeLessThan(65_536);
    expect(outside(written)).toContain('Cut off after 60,000 bytes.');
  });
});

// The CDK and npm take seconds to start.
describe.runIf(isFullRun)('.github/scripts', () => {
  it('diff.sh shows what changes, warns when a resource would be lost, and says what is new', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'diff-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const write = (path: string, content: unknown) => writeFile(join(folder, path), JSON.stringify(content));
    await mkdir(join(folder, 'assembly'));
    await mkdir(join(folder, 'deployed'));
    const stack = {
      type: 'aws:cloudformation:stack',
      environment: 'aws://unknown-account/unknown-region',
      properties: { templateFile: 'template.json' },
    };
    await write('assembly/manifest.json', { version: '36.0.0', artifacts: { Old: stack, New: stack } });
    await write('assembly/template.json', table('id'));
    await write('deployed/Old.json', table('name'));
    const folders = [join(folder, 'assembly'), join(folder, 'deployed')];
    const { stdout } = await execute('.github/scripts/diff.sh', [...folders, 'New', 'Old']);
    const [, added, changed] = stdout.split(/^== .+$/m);
    expect(added?.trim()).toBe('Not deployed yet: everything is new.');
    expect(changed).toContain('WARNING: deletes or replaces resources.\n');
    expect(changed).toContain('[~] AWS::DynamoDB::Table Kept');
    expect(changed).not.toContain('WARNING: changes permissions.');
  });

  it('sbom.sh lists every package that the functions import, and no other of the project', async () => {
    const { stdout } = await execute('.github/scripts/sbom.sh');
    const components = z
      .object({ components: z.array(z.object({ name: z.string() })) })
      .parse(JSON.parse(stdout))
      .components.map(({ name }) => name);
    const others = ['aws-cdk', 'vitest', 'typescript'];
    expect(components).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
    expect(components.filter((name) => others.includes(name))).toEqual([]);
    expect(Object.keys(manifest.devDependencies)).toEqual(expect.arrayContaining(others));
  });
});

it('Every version has a section in CHANGELOG.md, which its release takes', async () => {
  for (const section of [manifest.version, `client ${clientVersion}`, `cdk-offline ${offlineVersion}`]) {
    const { stdout } = await execute('.github/scripts/changelog.sh', [section]);
    expect(stdout.trim()).not.toBe('');
    expect(stdout).not.toMatch(/^## /m);
  }
  await expect(execute('.github/scripts/changelog.sh', ['0.0.0'])).rejects.toThrow('has no section "0.0.0"');
});

/** A template with a table of this partition key. */
function table(key: string) {
  const properties = { KeySchema: [{ AttributeName: key, KeyType: 'HASH' }] };
  return { Resources: { Kept: { Type: 'AWS::DynamoDB::Table', Properties: properties } } };
}
