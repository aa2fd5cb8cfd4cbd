import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { peers } from '../../src/dynamodb/dynamodb-local.ts';
import { dynoxideVersion } from '../../src/dynamodb/dynoxide.ts';
import { version } from '../../src/version.ts';
import { greetingStack, greetingTemplate, writeGreeting } from './greeting.ts';
import { removeDirectory, table } from './template.ts';

const run = promisify(execFile);
const source = resolve(import.meta.dirname, '../..');
const tarball = `cdk-offline-${version}.tgz`;

const program = `
import { serve, type OfflineService, type ServeOptions } from 'cdk-offline';
import { startDynamoDb } from 'cdk-offline/dynamodb';
import { fullBucket } from 'cdk-offline/metering';

// The declarations of Node.js are not installed.
declare const process: { readonly argv: readonly string[] };
const [, , assembly = ''] = process.argv;
const options: ServeOptions = { assembly, stack: '${greetingStack}' };
const service: OfflineService = await serve(options);
const response = await fetch(service.url + '/greet');
console.log(response.status, typeof service.dynamodbEndpoint, typeof startDynamoDb, typeof fullBucket);
await service.stop();
`;

describe('the packed package, installed in an empty folder', () => {
  let folder: string;
  let assembly: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'package-'));
    assembly = await writeGreeting(greetingTemplate({ Things: table('things') }));
    await run('npm', ['run', 'build'], { cwd: source });
    await run('npm', ['pack', './dist', '--pack-destination', folder], { cwd: source });
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    // With these versions it does not matter that a registry has only a part of a dependency's newest release.
    await copyFile('package-lock.json', join(folder, 'package-lock.json'));
    await install(`./${tarball}`, '--omit=optional');
  });
  const install = (...packages: readonly string[]) => {
    const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    return run('npm', ['install', ...options, ...packages], { cwd: folder });
  };

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await removeDirectory(assembly);
  });

  it('has JavaScript, declarations, the licence, the changelog and the README, and nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', join(folder, tarball)]);
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    expect(files.filter((path) => !/\.(?:c?js|d\.c?ts)$/.test(path)).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    const installed = join(folder, 'node_modules/cdk-offline');
    const manifest: unknown = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ version, license: 'MIT', engines: { node: '>=22.15' } });
    expect(manifest).toMatchObject({ peerDependencies: peers });
    const platforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];
    expect(manifest).toHaveProperty(
      'optionalDependencies',
      Object.fromEntries(platforms.map((platform) => [`@dynoxide/${platform}`, dynoxideVersion])),
    );
    expect(manifest).not.toHaveProperty('devDependencies');
  });

  it.each(['pack', 'pack --ignore-scripts=false', 'publish --dry-run'])(
    'is not made of the source folder by npm %s',
    async (command) => {
      const destination = join(folder, 'nothing');
      await mkdir(destination, { recursive: true });
      const args = [...command.split(' '), '--pack-destination', destination];
      await expect(run('npm', args, { cwd: source })).rejects.toMatchObject({ code: 1 });
      expect(await readdir(destination)).toEqual([]);
    },
  );

  it('says on an older Node.js which one it needs, and nothing else first', async () => {
    await writeFile(
      join(folder, 'older.cjs'),
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.14.0' } });",
    );
    const sentence = 'cdk-offline needs Node.js 22.15 or later (this is 22.14.0).\n';
    const isFirst = (stderr: string) => stderr.startsWith(sentence);
    const stderrOf = async (...args: readonly string[]) => {
      const older = ['--require', './older.cjs', ...args];
      const failed: unknown = await run(process.execPath, older, { cwd: folder }).catch((e: unknown) => e);
      return z.object({ code: z.literal(1), stderr: z.string() }).parse(failed).stderr;
    };
    expect(await stderrOf('node_modules/cdk-offline/cli.cjs', '--version')).toBe(sentence);
    for (const name of [
      'cdk-offline',
      'cdk-offline/dynamodb',
      'cdk-offline/esbuild',
      'cdk-offline/management',
      'cdk-offline/metering',
    ]) {
      expect(await stderrOf('--input-type=module', '--eval', `import '${name}'`)).toSatisfy(isFirst);
      expect(await stderrOf('--input-type=commonjs', '--eval', `require('${name}')`)).toSatisfy(isFirst);
    }
    // With this one, it is as if it were imported.
    const { stdout } = await run(
      process.execPath,
      ['--input-type=commonjs', '--eval', `console.log(typeof require('cdk-offline').serve)`],
      { cwd: folder },
    );
    expect(stdout).toBe('function\n');
  });

  it('without optional packages says what to install for a stack with tables, and serves it with them', async () => {
    const args = ['--assembly', assembly, '--port', '0'];
    const refused: unknown = await run(join(folder, 'node_modules/.bin/cdk-offline'), args).catch(
      (e: unknown) => e,
    );
    const { stderr } = z.object({ stderr: z.string() }).parse(refused);
    const names = Object.entries(peers).map((peer) => peer.join('@'));
    expect(stderr.split('\n')).toEqual([
      `The tables need a database: install Dynoxide with "npm install --no-save @dynoxide/linux-x64@${dynoxideVersion}", ` +
        `or install DynamoDB Local with "npm install --save-dev ${names.join(' ')}", and Java 17 or later.`,
      '',
    ]);
    await install(`./${tarball}`);
  });

  it('serves a stack by its API, and its declarations compile without those of any other package', async () => {
    await writeFile(join(folder, 'program.ts'), program);
    const compilerOptions = {
      strict: true,
      skipLibCheck: false,
      types: [],
      target: 'es2023',
      module: 'nodenext',
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    const tsc = resolve(source, '../../node_modules/typescript/bin/tsc');
    const compiled = await run(process.execPath, [tsc, '--project', folder]).catch((error: unknown) => error);
    expect(compiled).toMatchObject({ stdout: '' });
    const { stdout } = await run(process.execPath, ['program.js', assembly], { cwd: folder });
    expect(stdout).toBe('200 string function function\n');
  });

  it('serves a stack by its command', async () => {
    const args = [
      'exec',
      '--',
      'cdk-offline',
      '--assembly',
      assembly,
      '--stack',
      greetingStack,
      '--port',
      '0',
    ];
    const npm = spawn('npm', args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void npm.kill('SIGKILL'));
    const ended = text(npm.stdout);
    let output = '';
    npm.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await expect.poll(() => output, { timeout: 60_000 }).toMatch(/^ready \S+$/m);
    const [, url = ''] = /^ready (\S+)$/m.exec(output) ?? [];
    expect(await (await fetch(`${url}/greet`)).json()).toBe('hello');
    npm.kill('SIGTERM');
    await ended;
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});
