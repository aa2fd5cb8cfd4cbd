import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { greetingAssembly, greetingTemplate } from './greeting.ts';
import { newProject, words } from './project.ts';
import { removeDirectory, table } from './template.ts';

const command = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'command-'));
  onTestFinished(() => removeDirectory(folder));
  return folder;
}

/** Runs the command where it finds no other. */
function run(args: readonly string[], program: readonly string[] = [command], temporary = tmpdir()) {
  const child = spawn(process.execPath, [...program, ...args], {
    // Options of Node.js, such as those that turn off its warnings, apply here, too.
    env: { PATH: '/nonexistent', TMPDIR: temporary, NODE_OPTIONS: process.env['NODE_OPTIONS'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return gather(child);
}

function gather(child: ChildProcessByStdio<null, Readable, Readable>) {
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const add = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  const ended = once(child, 'close').then(([code]: unknown[]) => code);
  const ready = async (): Promise<string> => {
    for (;;) {
      const url = /^ready (\S+)$/m.exec(output)?.[1];
      if (url !== undefined) return url;
      if (child.exitCode !== null) throw new Error(`It ended: ${output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return { child, ended, ready, output: () => output };
}

async function greeting(): Promise<string[]> {
  return ['--assembly', await greetingAssembly(), '--port', '0'];
}

describe('the command cdk-offline', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'serves a stack without tables, and ends cleanly on %s',
    async (signal) => {
      const temporary = await temporaryFolder();
      const service = run(await greeting(), [command], temporary);
      const url = await service.ready();
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/dev$/);
      expect(await (await fetch(`${url}/greet`)).json()).toBe('hello');
      const variables = 'AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_SESSION_TOKEN';
      expect(service.output()).toMatch(new RegExp(`^credentials ${variables}=[0-9a-f]{32}$`, 'm'));
      await expect
        .poll(() => service.output(), { timeout: 60_000 })
        .toMatch(/^\d\d:\d\d:\d\d GET {2}\/dev\/greet 200 \d+ ms$/m);
      service.child.kill(signal);
      expect(await service.ended).toBe(0);
      expect(await readdir(temporary)).toEqual([]);
    },
  );

  it('ends with the script of npm that started it', async () => {
    const folder = await temporaryFolder();
    const parts = [process.execPath, command, ...(await greeting())];
    const script = parts.map((part) => JSON.stringify(part)).join(' ');
    await writeFile(join(folder, 'package.json'), JSON.stringify({ scripts: { serve: script } }));
    const npm = gather(
      spawn('npm', ['run', 'serve', '--prefix', folder], { stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    const url = await npm.ready();
    npm.child.kill('SIGKILL');
    await npm.ended;
    expect(npm.output()).toMatch(/^Ends because the package manager that started it has ended\.$/m);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it.each([
    [['--stack', 'A', '--port', 'http'], /^--port must be a whole number from 0 to 65535 \(got "http"\)\./],
    [['--stack', 'A', '--port', '70000'], /^--port must be/],
    [['--stack', 'A', '--colour'], /^Unknown option '--colour'\. Run with --help/],
    [['--database', 'sqlite'], /^--database must be dynoxide or dynamodb-local \(got "sqlite"\)\./],
    [['--stack', 'A', 'serve'], /^Unexpected argument 'serve'/],
  ])('%j is rejected with a message: exit code 2', async (args, message) => {
    const refused = run(args);
    expect(await refused.ended).toBe(2);
    expect(refused.output()).toMatch(message);
  });

  it('a stack that is not synthesized and a port in use print one line each: exit code 1', async () => {
    const absent = run(['--assembly', '/nonexistent', '--stack', 'A']);
    expect(await absent.ended).toBe(1);
    expect(absent.output()).toMatch(/^\S+manifest\.json cannot be read: run "cdk synth" first\n$/);
    const folder = await mkdtemp(join(tmpdir(), 'empty-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const elsewhere = runIn(folder);
    expect(await elsewhere.ended).toBe(1);
    expect(elsewhere.output()).toMatch(
      /^\S+ has no cdk\.json and no cdk\.out\. Start cdk-offline in the folder of the cdk\.json, or give --assembly DIR\.\n$/,
    );

    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const taken = run([...(await greeting()), '--port', String(port)]);
    expect(await taken.ended).toBe(1);
    expect(taken.output()).toMatch(new RegExp(`^Port ${port} is in use\\. .* another one with --port\\.\n$`));

    const inspected = run([...(await greeting()), `--inspect=${port}`]);
    expect(await inspected.ended).toBe(1);
    expect(inspected.output()).toMatch(
      new RegExp(`^Port ${port} for the debugger is in use\\. .* another one with --inspect=PORT\\.\n$`),
    );
  });

  it.each(['--help', '-h', '--version'])('%s prints and exits', async (option) => {
    const printed = run([option]);
    expect(await printed.ended).toBe(0);
    expect(printed.output()).toMatch(option === '--version' ? /^\d+\.\d+\.\d+\n$/ : /^Usage: cdk-offline/);
  });
});

describe('a start that waits', () => {
  it('does not go through a proxy to this machine', async () => {
    const proxy = createServer().listen(0, '127.0.0.1'); // never answers
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const { port } = z.object({ port: z.number() }).parse(proxy.address());
    const assembly = await greetingAssembly(greetingTemplate({ Things: table('things') }));
    const env = { ...process.env, HTTP_PROXY: `http://127.0.0.1:${port}`, NODE_USE_ENV_PROXY: '1' };
    const args = [command, '--assembly', assembly, '--port', '0'];
    const service = gather(spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    await service.ready();
    expect(service.output()).toContain('Created the tables');
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });
});

/** Runs the command in the folder of a CDK app. */
function runIn(folder: string, args: readonly string[] = []) {
  const all = [command, '--port', '0', '--quiet', ...args];
  return gather(spawn(process.execPath, all, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }));
}

describe('the command in the folder of a CDK app', () => {
  it('synthesizes what is new, and serves what was served last when it starts again', async () => {
    const folder = await newProject();
    const greet = async (url: string, path = 'greet') => (await fetch(`${url}/${path}`)).text();
    const serveOnce = async (path?: string) => {
      const service = runIn(folder);
      const text = await greet(await service.ready(), path);
      service.child.kill('SIGTERM');
      expect(await service.ended).toBe(0);
      return [text, service.output()] as const;
    };
    const [first, why] = await serveOnce();
    expect(first).toBe(`one a 'b'`);
    expect(why).toMatch(/^cdk\.out does not exist\nSynthesizing the stack$/m);
    await mkdir(join(folder, 'notes'));
    await writeFile(join(folder, 'notes', 'a.txt'), 'not watched');
    expect((await serveOnce())[1]).not.toMatch(/Synthesizing/);

    await writeFile(join(folder, 'src', 'words.ts'), words('two'));
    const watched = runIn(folder, ['--watch']);
    const url = await watched.ready();
    expect(await greet(url), 'the source, not the assembly').toBe(`two a 'b'`);
    expect(watched.output()).toMatch(/^Watching: 1 of 1 functions are built without a synthesis\.$/m);
    const printed = async (pattern: RegExp): Promise<void> => {
      await expect.poll(() => watched.output(), { timeout: 60_000 }).toMatch(pattern);
    };
    // As editors do: a temporary file, renamed. Where it is not watched, because a slow machine may see it before it is gone.
    await writeFile(join(folder, 'notes', 'words.tmp'), words('three'));
    await rename(join(folder, 'notes', 'words.tmp'), join(folder, 'src', 'words.ts'));
    await printed(/Applied \w+ \(\d+ ms\)\n/);
    expect(await greet(url)).toBe(`three a 'b'`);
    await writeFile(join(folder, 'path.ts'), `export const path: string = 'hello';\n`);
    await printed(/Applied the stack/);
    expect(await greet(url, 'hello')).toBe(`three a 'b'`);
    await writeFile(join(folder, 'src', 'words.ts'), words('four'));
    await expect.poll(() => greet(url, 'hello'), { timeout: 60_000 }).toBe(`four a 'b'`);
    watched.child.kill('SIGTERM');
    expect(await watched.ended).toBe(0);
    expect(watched.output().match(/Synthesizing/g)).toHaveLength(2);

    const [last, reason] = await serveOnce('hello');
    expect(last).toBe(`four a 'b'`);
    expect(reason).toMatch(/^cdk\.out is older than src\/words\.ts$/m);
  });
});
