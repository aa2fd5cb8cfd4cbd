import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const launcher = 'tools/run.mjs';

/** A Node.js that says it is version 20. */
const asNode20 = [
  '--import',
  `data:text/javascript,Object.defineProperty(process, 'version', { value: 'v20.0.0' })`,
];

function launch(args: readonly string[], file = launcher, npmNode = process.execPath) {
  return spawnSync(process.execPath, [...args.slice(0, -1), file, args.at(-1)!], {
    encoding: 'utf8',
    env: { ...process.env, npm_node_execpath: npmNode, AWS_EC2_METADATA_DISABLED: 'true', HOME: tmpdir() },
  });
}

/** A copy of the project with the launcher and one tool, and perhaps with the sign that packages are installed. */
async function newProject({
  isInstalled = true,
  nodes = {},
  tool = 'console.log(...process.argv.slice(2));',
} = {}) {
  const project = await mkdtemp(join(tmpdir(), 'launcher & ü-'));
  onTestFinished(() => rm(project, { recursive: true, force: true }));
  await mkdir(join(project, 'tools', 'contributors', 'local'), { recursive: true });
  await copyFile(launcher, join(project, launcher));
  await writeFile(join(project, 'tools', 'contributors', 'local', 'start.ts'), tool);
  await writeFile(join(project, 'package.json'), JSON.stringify({ optionalDependencies: nodes }));
  if (isInstalled) {
    await mkdir(join(project, 'node_modules'));
    await writeFile(join(project, 'node_modules', '.package-lock.json'), '{}');
  }
  return project;
}

describe('the launcher of the tools', () => {
  it('says to run "npm ci" where that was not done', async () => {
    const project = await newProject({ isInstalled: false });
    const { status, stderr } = launch(['start'], join(project, launcher));
    expect(stderr.trim()).toBe(`The packages are not installed. Run "npm ci" in ${project}, then try again.`);
    expect(status).toBe(1);
  });

  it('runs the tool with its arguments, in a path with special characters', async () => {
    const project = await newProject();
    const { stdout, stderr } = launch(['start'], join(project, launcher));
    expect({ stdout, stderr }).toEqual({ stdout: 'start\n', stderr: '' });
  });

  it('refuses a command of which npm has taken an option', () => {
    const run = (...args: string[]) => spawnSync('npm', ['run', ...args], { encoding: 'utf8' });
    const refused = { status: 2, stdout: expect.not.stringContaining('Usage') as string };
    for (const [option, args] of [
      ['--dry-run', ['keys', 'repair', '--dry-run']],
      ['--skip-pre-traffic-checks', ['roll-back:prod', 'HEAD', '--skip-pre-traffic-checks']],
      ['-c', ['deploy:prod', '-c', 'overrides={}']],
    ] as const)
      expect(run(...args)).toMatchObject({
        ...refused,
        stderr: expect.stringContaining(`npm has taken ${option} for itself. Write "--" before`) as string,
      });
    expect(run('keys', '--', 'help')).toMatchObject({ status: 0 });
  });

  it('knows the options of all tools, but those that npm has, too, and that change nothing when it takes them', async () => {
    const sources = globSync(['tools/{operators,contributors}/**/*.ts', 'test/reliability/*.ts'], {
      exclude: ['**/node_modules/**'],
    }).map((file) => readFile(file, 'utf8'));
    const declared = /[oO]ption\(\s*'(?:-\w, )?--([a-z-]+)/g;
    const options = [...(await Promise.all(sources)).join('\n').matchAll(declared)].map(([, name]) => name!);
    const ofDeploy = /'?([a-z-]+)'?: \{ type: '/g;
    for (const [, name] of (await readFile('tools/operators/deploy/deployment.ts', 'utf8')).matchAll(
      ofDeploy,
    ))
      options.push(name!);
    const [known = ''] = /optionsOfTools =[^;]+/.exec(await readFile(launcher, 'utf8')) ?? [];
    expect(options.length).toBeGreaterThan(40);
    expect(new Set(options.filter((name) => !new RegExp(`['\\s]${name}['\\s]`).test(known)))).toEqual(
      new Set(['help', 'json', 'quiet', 'yes']),
    );
  });

  it('says which Node.js to install where neither this one nor the packages have it', async () => {
    const project = await newProject();
    const { status, stderr } = launch([...asNode20, 'start'], join(project, launcher));
    expect(stderr.trim()).toMatch(
      /^Node\.js 24 or later is required \(this is v20\.0\.0\), .* Run "npm ci --include=optional"/,
    );
    expect(status).toBe(1);
  });

  it('runs the tool with the installed Node.js when started by an older one, and passes on its exit code', () => {
    const { status, stderr } = launch([...asNode20, 'smoke']);
    expect(stderr).toContain("Required option '--url <url>' not specified");
    expect(status).toBe(2);
  });

  it('runs the tests without colours when they are not read on a terminal', async () => {
    const project = await newProject();
    await mkdir(join(project, 'node_modules', 'vitest'));
    const script = 'console.log(process.env.NO_COLOR);';
    await writeFile(join(project, 'node_modules', 'vitest', 'vitest.mjs'), script);
    const { FORCE_COLOR: _, NO_COLOR: __, ...env } = process.env;
    const args = [join(project, launcher), 'test'];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    expect(stdout).toBe('1\n');
  });

  it('keeps local services out of the proxy', async () => {
    const project = await newProject({ tool: 'console.log(process.env.NO_PROXY);' });
    const env = { ...process.env, NODE_USE_ENV_PROXY: '1', NO_PROXY: 'example.com', no_proxy: undefined };
    const args = [join(project, launcher), 'start'];
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
    expect(stdout).toBe('example.com,127.0.0.1,localhost,::1\n');
  });

  it('prefers the Node.js that runs npm, if it is recent, also for the processes that the tool starts', async () => {
    const project = await newProject({
      tool: `import { execFileSync } from 'node:child_process';
        console.log(process.execPath);
        console.log(execFileSync('node', ['-p', 'process.execPath'], { encoding: 'utf8' }));`,
    });
    const own = join(project, 'own', 'node');
    await mkdir(join(project, 'own'));
    await copyFile(process.execPath, own);
    const { stdout } = launch(['start'], join(project, launcher), own);
    expect(stdout.split('\n').filter((line) => line !== '')).toEqual([own, own]);
  });

  it('warns when the installed Node.js is behind that of another platform, but not of its own', async () => {
    const own = `node-${process.platform}-${process.arch}`;
    const start = async (nodes: Readonly<Record<string, string>>) => {
      const project = await newProject({ nodes });
      await mkdir(join(project, 'node_modules', '.bin'));
      await symlink(process.execPath, join(project, 'node_modules', '.bin', 'node'));
      return launch([...asNode20, 'start'], join(project, launcher));
    };
    const behind = await start({ [own]: '24.9.0', 'node-sunos-x64': '24.21.0' });
    expect(behind.stderr.trim()).toBe(
      'npm has no newer Node.js for this machine than 24.9.0, which lacks the security fixes up to 24.21.0. ' +
        'Install Node.js 24 or later from https://nodejs.org: the project then runs on it.',
    );
    expect(behind.stdout).toBe('start\n');
    expect((await start({ [own]: '24.21.0', 'node-sunos-x64': '24.9.0' })).stderr).toBe('');
  });

  it('runs every script of a workflow, whose Node.js may be too old for TypeScript', async () => {
    const files = globSync(['.github/**/*.{yml,sh}', '.ci/*']);
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    const calls = texts.flatMap((text) => text.match(/(?<![\w-])node +\S+\.(?:mjs|ts)\b/g) ?? []);
    expect(calls).toContain('node tools/run.mjs');
    expect(calls.filter((call) => call.endsWith('.ts'))).toEqual([]);
  });

  it('says that there are no credentials before anything is synthesized', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'launcher-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const own = join(folder, 'node');
    await copyFile(process.execPath, own);
    const { AWS_PROFILE: _, AWS_ACCESS_KEY_ID: __, AWS_SECRET_ACCESS_KEY: ___, ...others } = process.env;
    const { status, stderr } = spawnSync(own, [launcher, 'deploy', 'staging'], {
      encoding: 'utf8',
      env: {
        ...others,
        npm_node_execpath: own,
        HOME: folder,
        AWS_EC2_METADATA_DISABLED: 'true',
        AWS_REGION: 'eu-central-1',
      },
    });
    expect(stderr).toMatch(
      /^stop: The account cannot be checked \(.+\). Sign in, .+\nNothing was deployed\.\n$/,
    );
    expect(status).toBe(1);
  });
});
