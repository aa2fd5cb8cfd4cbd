import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { AnimalStore, type Fetch, PermissionDeniedError } from 'animal-store-client';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { isLocal } from './support.ts';

const run = promisify(execFile);

const tools = resolve('tools/contributors/checks/node_modules');
// CI installs them, or the tests fail.
const hasTools = existsSync(tools) || process.env['CI'] !== undefined;
if (!hasTools)
  console.warn(
    'The packed client is not tried with proxies, attw and publint: run "npm --prefix tools/contributors/checks ci".',
  );

/** The newest, and the newest for Node.js 20. */
const proxies = ['undici', 'undici7'];

/** What the example under each heading of the documents prints. */
const outputs: Readonly<Record<string, RegExp>> = {
  'Add and list animals': /^\d+ Rex\n(?:\d+ .+\n){5}$/,
  'Get one page': /^2 true\n2\n$/,
  'Read headers and the rate limit': /^200 true 1\ntrue\ntrue\n$/,
  'Handle errors': /^400 invalid_request name: .+\n$/,
  'Retry and abort calls': /^Rex\n$/,
  'Test your code': /^Rex true\n$/,
  'Use a proxy': /^1\n$/,
};

const guide = await readFile('packages/client/README.md', 'utf8');
const shown = [...guide.matchAll(/^## (.+)$(?:(?!^## )[^])*?^```js\n([^]*?)^```$/gm)];
// The examples that do not make a store use that of the first one.
const [newStore = ''] = /^import .+\n\nconst store = .+\n\n/.exec(shown[0]?.[2] ?? '') ?? [];
const examples = shown.map(([, heading = '', code = ''], index) => ({
  heading,
  code: code.includes('const store = ') ? code : `${newStore}${code}`,
  file: `example-${index}.mjs`,
}));

/** A proxy on this machine, with what it was asked for: to connect, or to send a request. */
async function startProxy() {
  const asked: string[] = [];
  const proxy = createServer((received, response) => {
    const { method, url = '', headers } = received;
    asked.push(url);
    const forwarded = request(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    received.pipe(forwarded);
  });
  proxy.on('connect', ({ url = '' }, socket) => {
    asked.push(url);
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return { asked, address: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

describe('The client', () => {
  it('says to check a base address without the version', async () => {
    const { url, key: apiKey } = inject('service');
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
  let tarball: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'client-package-'));
    await run('npm', ['run', 'build', '--workspace', 'animal-store-client'], {
      env: { ...process.env, GITHUB_REPOSITORY: 'example/store' },
    });
    const packed = await run('npm', ['pack', './packages/client/dist', '--pack-destination', directory]);
    tarball = join(directory, packed.stdout.trim());
    await run('npm', ['init', '--yes'], { cwd: directory });
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: directory });
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
    if (!hasTools) return;
    for (const name of proxies) await symlink(join(tools, name), join(directory, 'node_modules', name));
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('contains both module formats, declarations and documents, nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    expect(files.filter((path) => !/^[\w-]+\.d\.ts$/.test(path)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'index.d.mts',
      'index.js',
      'index.mjs',
      'node-check.cjs',
      'package.json',
    ]);
    expect(files).toContain('index.d.ts');
  });

  it('names its version and where it comes from', async () => {
    const path = join(directory, 'node_modules/animal-store-client/package.json');
    const manifest: unknown = JSON.parse(await readFile(path, 'utf8'));
    let userAgent = '';
    const fetch: Fetch = async (_url, { headers }) => {
      userAgent = new Headers(headers).get('User-Agent')!;
      return new Response('[]');
    };
    await new AnimalStore({ baseUrl: 'https://api.example.com/v1', apiKey: 'key', fetch }).pets.list();
    expect(basename(tarball)).toBe(`${userAgent.replace('/', '-')}.tgz`);
    expect(manifest).toMatchObject({
      name: 'animal-store-client',
      version: userAgent.replace('animal-store-client/', ''),
      license: 'MIT',
      repository: { url: 'git+https://github.com/example/store.git', directory: 'packages/client' },
      homepage: expect.stringContaining('https://github.com/example/store/'),
      bugs: 'https://github.com/example/store/issues',
    });
    expect(manifest).not.toHaveProperty('private');
    expect(manifest).not.toHaveProperty('scripts');
  });

  it('links to the repository', async () => {
    const installed = join(directory, 'node_modules/animal-store-client');
    const readme = await readFile(join(installed, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => link);
    expect(links).toContain('https://github.com/example/store/blob/main/docs/api.md');
    expect(links.filter((link) => !link?.startsWith('https://'))).toEqual([]);
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

  it.runIf(hasTools).each(['attw', 'publint'])('has no fault that %s finds', async (name) => {
    const options = name === 'publint' ? ['--strict'] : [];
    const { stdout } = await run(process.execPath, [join(tools, '.bin', name), tarball, ...options]);
    expect(stdout).toMatch(/No problems found|All good!/);
  });

  it('has declarations that older compilers read, too', async () => {
    const installedPath = join(directory, 'node_modules/animal-store-client');
    const names = (await readdir(installedPath)).filter((name) => /\.d\.m?ts$/.test(name));
    for (const name of names)
      expect(await readFile(join(installedPath, name), 'utf8')).not.toMatch(/\.ts['"]/);
  });

  it.runIf(hasTools)('has declarations that the examples of its documents compile with', async () => {
    const tsc = resolve('node_modules/typescript/bin/tsc');
    await expect(run(process.execPath, [tsc, '--project', directory])).resolves.toMatchObject({ stdout: '' });
  });

  it('covers every heading that has an example', () => {
    expect(examples.map(({ heading }) => heading)).toEqual(Object.keys(outputs));
  });

  const proxied = examples.find(({ heading }) => heading === 'Use a proxy')!;
  it.each(examples.filter((each) => each !== proxied))(
    'runs the example: $heading',
    async ({ heading, file }) => {
      expect(await outputOf(file)).toMatch(outputs[heading] ?? /^$/);
    },
  );

  it.runIf(hasTools).each(proxies)('reaches the service by a proxy of %s', async (name) => {
    const { asked, address } = await startProxy();
    await writeFile(join(directory, 'proxied.mjs'), proxied.code.replace("'undici'", `'${name}'`));
    expect(await outputOf('proxied.mjs', [], { HTTPS_PROXY: address })).toBe('1\n');
    expect(asked).toHaveLength(1);
  });

  it('reaches the service by the proxy that Node.js takes from the environment', async () => {
    const { asked, address } = await startProxy();
    const { heading, file } = examples[0]!;
    const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: address, NO_PROXY: '', no_proxy: '' };
    expect(await outputOf(file, [], proxy)).toMatch(outputs[heading]!);
    expect(asked.length).toBeGreaterThan(0);
  });

  it('works in a second realm, in which test runners such as Jest run tests', async () => {
    const code = `
      const vm = require('node:vm');
      const own = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
      const others = Object.getOwnPropertyNames(globalThis).filter((name) => !own.includes(name));
      const realm = vm.createContext(Object.fromEntries(others.map((name) => [name, globalThis[name]])));
      const file = require.resolve('animal-store-client');
      const source = require('node:fs').readFileSync(file, 'utf8');
      const built = { exports: {} };
      vm.runInContext('(function (module, exports, require) {' + source + '})', realm)(built, built.exports, require);
      const { AnimalStore } = built.exports;
      (async () => {
        const { data } = await new AnimalStore().pets.list({ limit: 1 });
        // The reason of this failure is an error of the other realm: fetch does not connect to port 1.
        const refused = new AnimalStore({ baseUrl: 'http://127.0.0.1:1/v1', maxRetries: 0 });
        console.log(data.length, await refused.pets.list().catch(({ message }) => message));
      })();`;
    await writeFile(join(directory, 'realm.cjs'), code);
    expect(await outputOf('realm.cjs')).toMatch(/^1 .+ \(bad port\)\.\n$/);
  });

  it('is required where no ES module can be, as on Lambda', async () => {
    const code = examples[0]!.code
      .replace(/^import (.+) from (.+);$/m, 'const $1 = require($2);')
      .replace(/^const store[^]*$/m, '(async () => {\n$&\n})();');
    await writeFile(join(directory, 'required.cjs'), code);
    const output = await outputOf('required.cjs', ['--no-experimental-require-module']);
    expect(output).toMatch(outputs[examples[0]!.heading]!);
  });

  it('runs an example that is bundled for browsers, so it needs nothing of Node.js', async () => {
    const { heading, file } = examples[0]!;
    const bundle = { bundle: true, platform: 'browser', format: 'esm', outfile: 'bundle.mjs' } as const;
    await build({ ...bundle, absWorkingDir: directory, entryPoints: [file] });
    expect(await outputOf('bundle.mjs')).toMatch(outputs[heading]!);
  });

  async function outputOf(
    file: string,
    flags: readonly string[] = [],
    more: NodeJS.ProcessEnv = {},
  ): Promise<string> {
    const { url, key } = inject('service');
    const env = {
      ...process.env,
      ANIMAL_STORE_BASE_URL: url,
      ANIMAL_STORE_API_KEY: key,
      ...more,
    };
    return (await run(process.execPath, [...flags, file], { cwd: directory, env })).stdout;
  }
});
