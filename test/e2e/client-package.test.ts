import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { AnimalStore, PermissionDeniedError } from '../../packages/client/src/index.ts';
import { version } from '../../packages/client/src/version.ts';
import { isLocal } from './support.ts';

const run = promisify(execFile);

/** What the example under each heading of the documents prints. */
const outputs: Readonly<Record<string, RegExp>> = {
  'Add and get an animal': /^Rex is available\n$/,
  'List animals': /^(?:\d+ .+\n){5}$/,
  'One page at a time': /^2 true\n2\n$/,
  'Headers, request ID and rate limit': /^200 true 1\ntrue\n$/,
  'Handle errors': /^400 invalid_request name: .+\n$/,
  'Retries and time-outs': /^1 Rex\n$/,
  'Repeat a creation': /^true\n$/,
  'Log requests': /^request GET \/v1\/pets 1\nresponse 200 true true\n$/,
  'Exact integers': /^9223372036854775807n\n$/,
  CommonJS: /^1\n$/,
  // docs/api.md
  'Get started in five minutes': /^(?:\d+ .+\n){5,}$/,
};

const documents = await Promise.all(
  ['packages/client/README.md', 'docs/api.md'].map((path) => readFile(path, 'utf8')),
);
const examples = [
  ...documents.join('\n').matchAll(/^## (.+)$(?:(?!^## )[^])*?^```(js|ts)\n([^]*?)^```$/gm),
].map(([, heading = '', language = '', code = ''], index) => {
  const extension = code.includes('require(') ? `c${language}` : `m${language}`;
  return { heading, code, file: `example-${index}.${extension}` };
});

describe('The client', () => {
  it('says to check a base address without the version', async () => {
    const { url, key: apiKey } = inject('e2e');
    const store = new AnimalStore({ baseUrl: url.replace(/\/v1$/, ''), apiKey });
    const failure = store.pets.list({ limit: 1 });
    await expect(failure).rejects.toBeInstanceOf(PermissionDeniedError);
    await expect(failure).rejects.toThrow(
      /Check the base address .+: it ends in the version, such as \/v1\.$/,
    );
  });
});

describe.runIf(isLocal)('The packed client in a project of its own', () => {
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'client-package-'));
    await run('npm', ['run', 'build', '--workspace', 'animal-store-client'], {
      env: { ...process.env, GITHUB_REPOSITORY: 'example/store' },
    });
    await run('npm', ['pack', './packages/client/dist', '--pack-destination', directory]);
    await run('npm', ['init', '--yes'], { cwd: directory });
    const install = [
      'install',
      '--offline',
      '--no-audit',
      '--no-fund',
      `./animal-store-client-${version}.tgz`,
    ];
    await run('npm', install, { cwd: directory });
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      allowJs: true,
      checkJs: true,
      typeRoots: [resolve('node_modules/@types')],
      types: ['node'],
    };
    await writeFile(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    for (const { file, code } of examples) await writeFile(join(directory, file), code);
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('contains the built files and the documents, nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', join(directory, `animal-store-client-${version}.tgz`)]);
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    expect(files.filter((path) => !/^[\w-]+\.(?:js|js\.map|d\.ts)$/.test(path)).toSorted()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    expect(files).toEqual(expect.arrayContaining(['index.js', 'index.d.ts']));
  });

  it('names its version and where it comes from', async () => {
    const path = join(directory, 'node_modules/animal-store-client/package.json');
    const manifest: unknown = JSON.parse(await readFile(path, 'utf8'));
    expect(manifest).toMatchObject({
      name: 'animal-store-client',
      version,
      license: 'MIT',
      repository: { url: 'git+https://github.com/example/store.git', directory: 'packages/client' },
      homepage: expect.stringContaining('https://github.com/example/store/'),
      bugs: 'https://github.com/example/store/issues',
    });
    expect(manifest).not.toHaveProperty('private');
    expect(manifest).not.toHaveProperty('scripts');
  });

  it('links to the repository, and maps to its sources', async () => {
    const installed = join(directory, 'node_modules/animal-store-client');
    const readme = await readFile(join(installed, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => link);
    expect(links).toContain('https://github.com/example/store/blob/main/docs/api.md');
    expect(links.filter((link) => !link?.startsWith('https://'))).toEqual([]);
    const map: unknown = JSON.parse(await readFile(join(installed, 'store.js.map'), 'utf8'));
    const source = await readFile('packages/client/src/store.ts', 'utf8');
    expect(map).toMatchObject({ sourcesContent: [source] });
  });

  it.each([
    'pack --workspace animal-store-client',
    'pack --workspace animal-store-client --ignore-scripts=false',
    'pack ./packages/client',
    'publish --dry-run --workspace animal-store-client',
  ])('is not made of the source folder by npm %s', async (command) => {
    const destination = join(directory, 'nothing');
    await mkdir(destination, { recursive: true });
    const args = [...command.split(' '), '--pack-destination', destination];
    await expect(run('npm', args)).rejects.toMatchObject({ code: 1 });
    expect(await readdir(destination)).toEqual([]);
  });

  it('has declarations that the examples of its documents compile with', async () => {
    const tsc = resolve('node_modules/typescript/bin/tsc');
    await expect(run(process.execPath, [tsc, '--project', directory])).resolves.toMatchObject({ stdout: '' });
  });

  it('covers every heading that has an example', () => {
    expect(examples.map(({ heading }) => heading)).toEqual(Object.keys(outputs));
  });

  it.each(examples)('runs the example: $heading', async ({ heading, file }) => {
    expect(await outputOf(file)).toMatch(outputs[heading] ?? /^$/);
  });

  it('runs an example that is bundled for browsers, so it needs nothing of Node.js', async () => {
    const { heading, file } = examples[0]!;
    const bundle = { bundle: true, platform: 'browser', format: 'esm', outfile: 'bundle.mjs' } as const;
    await build({ ...bundle, absWorkingDir: directory, entryPoints: [file] });
    expect(await outputOf('bundle.mjs')).toMatch(outputs[heading]!);
  });

  async function outputOf(file: string): Promise<string> {
    const { url, key } = inject('e2e');
    const env = { ...process.env, ANIMAL_STORE_BASE_URL: url, ANIMAL_STORE_API_KEY: key, API: url, KEY: key };
    return (await run(process.execPath, [file], { cwd: directory, env })).stdout;
  }
});
