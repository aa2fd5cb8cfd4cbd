import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import { Client, type Reply } from '../../../tools/operators/smoke/client.ts';
import { expectPets, nextOf, rateOf } from '../../../tools/operators/smoke/expectations.ts';
import { planNames } from '../../../functions/access/plans.ts';
import { runInProcess } from '../../support/run-in-process.ts';
import { isLocal } from './support.ts';

/** Starts `npm start`, or another command that does, and gathers what it prints. */
function start(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  [command, ...before]: readonly [string, ...string[]] = [process.execPath, 'tools/run.mjs', 'start'],
) {
  const child = spawn(command, [...before, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const gather = (chunk: Buffer) => (output += chunk.toString());
  // A test that fails half-way, or takes too long, leaves nothing running.
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.on('data', gather);
  child.stderr.on('data', gather);
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  // A step that goes on is printed again on a busy machine only, so it is left out.
  return { child, ended, output: () => output.replaceAll(/^\d\d:\d\d:\d\d .* \(\d+ s\)\n/gm, '') };
}

async function untilReady(run: ReturnType<typeof start>): Promise<string> {
  for (;;) {
    const url = /^ready (http:\S+)$/m.exec(run.output())?.[1];
    if (url !== undefined) return url;
    if (run.child.exitCode !== null) throw new Error(`It ended: ${run.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The processes that descend from one, by asking the system. */
async function descendants(child: ChildProcess): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,ppid=']);
  const parents = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const below = (pid: number): number[] =>
    parents.flatMap(([each, parent]) => (parent === pid ? [each!, ...below(each!)] : []));
  return below(child.pid!);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe.runIf(isLocal)('npm start', () => {
  it('says when it is ready, seeds animals and keys, keeps them with --data, and Ctrl-C ends all it started', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'start-test-'));
    const keysFile = join(directory, 'keys.json');
    const args = [
      '--port',
      '0',
      '--animals',
      '3',
      '--keys-file',
      keysFile,
      '--data',
      join(directory, 'data'),
    ];
    // It was there before, for all to read.
    await writeFile(keysFile, '{}', { mode: 0o644 });
    try {
      const names: string[] = [];
      for (let round = 1; round <= 2; round += 1) {
        const run = start(args);
        const url = await untilReady(run);
        const keys: Record<string, string> = JSON.parse(await readFile(keysFile, 'utf8'));
        expect(Object.keys(keys)).toEqual(planNames);
        expect((await stat(keysFile)).mode & 0o077, 'others cannot read the keys').toBe(0);
        const page = await (await fetch(new URL('/', url))).text();
        for (const key of Object.values(keys)) {
          expect(run.output()).toContain(key);
          expect(page, 'other users of the machine can load it').not.toContain(key);
        }

        const client = new Client(url, keys['enterprise']!);
        const reply = await client.send({ path: '/pets' });
        expect(expectPets(reply)).toHaveLength(3);
        expect(rateOf(reply).limit).toBe(60_000);
        names.push(reply.text);
        await client.send({ path: '/pets?limit=1', authorization: null });
        // The log is read through a pipe, so a line can arrive after the response.
        const slowly = { timeout: 30_000 };
        await expect
          .poll(run.output, slowly)
          .toMatch(/^\d\d:\d\d:\d\d GET {2}\/v1\/pets 200 \d+ ms enterprise \w+$/m);
        await expect
          .poll(run.output, slowly)
          .toMatch(/^\d\d:\d\d:\d\d GET {2}\/v1\/pets\?limit=1 401 \d+ ms$/m);

        const started = await descendants(run.child);
        expect(started.length).toBeGreaterThan(0);
        run.child.kill('SIGINT');
        expect(await run.ended).toBe(0);
        await expect.poll(() => started.filter(isRunning), { timeout: 60_000 }).toEqual([]);
      }
      expect(names[1], 'the second run shows the animals of the first').toBe(names[0]);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('a taken port, a missing database and a wrong option are one clear line each', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const taken = start(['--port', String(port)]);
    expect(await taken.ended).toBe(1);
    server.close();
    expect(taken.output().trim()).toMatch(new RegExp(`Port ${port} is in use\\..*--port`));

    const javaless = start(['--port', '0', '--database', 'dynamodb-local'], {
      ...process.env,
      PATH: '/nonexistent',
      JAVA_HOME: '',
    });
    expect(await javaless.ended).toBe(1);
    expect(javaless.output()).toContain('Java was not found.');
    expect(javaless.output()).not.toMatch(/\n\s+at /);

    const wrong = start(['--port', 'http']);
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toContain('It must be a whole number from 0 to 65,535.');

    // What npm makes of `npm start --port 8080`.
    const swallowed = start(['8080']);
    expect(await swallowed.ended).toBe(2);
    expect(swallowed.output().trim()).toMatch(
      /^.*unexpected argument 8080\. Put options after a double dash.*$/,
    );
  });

  it('seeding that ended early goes on with the next start, and Ctrl-C ends it like later', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const data = join(folder, 'data');
    const seeding = join(data, 'seeding.json');
    const args = ['--port', '0', '--data', data, '--animals', '20000'];
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const run = start(args);
      await expect.poll(() => run.output(), { timeout: 60_000 }).toContain('Seeding');
      await expect.poll(() => readFile(seeding, 'utf8').catch(() => ''), { timeout: 60_000 }).not.toBe('');
      run.child.kill(signal);
      expect(await run.ended).toBe(signal === 'SIGINT' ? 0 : null);
      expect(run.output()).not.toContain('ECONNREFUSED');
    }
    const keysFile = join(folder, 'keys.json');
    const run = start(['--port', '0', '--data', data, '--animals', '3', '--keys-file', keysFile]);
    const url = await untilReady(run);
    expect(run.output()).toContain('Added the 20,000 animals that an earlier run had begun with');
    await expect(stat(seeding)).rejects.toThrow('ENOENT');
    const keys: Record<string, string> = JSON.parse(await readFile(keysFile, 'utf8'));
    const client = new Client(url, keys['enterprise']!);
    let count = 0;
    let path: string | undefined = '/pets?limit=100';
    while (path !== undefined) {
      const reply: Reply = await client.send({ path });
      count += expectPets(reply).length;
      path = nextOf(reply);
    }
    expect(count).toBe(20_000);
  });

  it('a damaged file of --data is named with what to do, after which all keys work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const args = ['--port', '0', '--data', folder, '--animals', '3'];
    const file = (name: string) => join(folder, name);
    const first = start(args);
    await untilReady(first);
    first.child.kill('SIGINT');
    await first.ended;
    const keys: Record<string, string> = JSON.parse(await readFile(file('keys.json'), 'utf8'));
    for (const name of ['keys.json', 'gateway-keys.json']) {
      const whole = await readFile(file(name), 'utf8');
      await writeFile(file(name), whole.slice(0, whole.length / 2));
      const damaged = start(args);
      expect(await damaged.ended).toBe(1);
      expect(damaged.output()).toContain(
        `${file(name)} is damaged. Move it to another folder and start again`,
      );
      await rm(file(name));
      if (name === 'keys.json') await writeFile(file(name), whole);
    }
    const repaired = start(args);
    const url = await untilReady(repaired);
    expect(repaired.output()).toContain(`Repaired ${planNames.length} API keys that API Gateway had lost`);
    expect((await new Client(url, keys['pro']!).send({ path: '/pets' })).status).toBe(200);
  });

  it('a key that is not valid any more, or on another plan, is replaced with the next start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const args = ['--port', '0', '--data', folder, '--animals', '3'];
    const readKeys = async () =>
      JSON.parse(await readFile(join(folder, 'keys.json'), 'utf8')) as Record<string, string>;
    const first = start(args);
    const { port } = new URL(await untilReady(first));
    const before = await readKeys();
    const command = async (call: string, input = '') => {
      const options = ['--stage', 'local', '--port', port, '--json'];
      const run = await runInProcess(runKeys, [...call.split(' '), ...options], { input });
      expect(run).toMatchObject({ exitCode: 0 });
      return JSON.parse(run.stdout) as { readonly keyId: string };
    };
    const idOf = async (plan: string) => (await command('identify', before[plan])).keyId;
    await command(`revoke ${await idOf('pro')}`);
    await command(`rotate ${await idOf('free')} --overlap 0s`);
    await command(`change-plan ${await idOf('business')} --plan free`);
    first.child.kill('SIGINT');
    await first.ended;

    const second = start(args);
    const url = await untilReady(second);
    const after = await readKeys();
    expect(planNames.filter((plan) => after[plan] === before[plan])).toEqual(['enterprise']);
    for (const key of Object.values(after)) {
      expect(second.output()).toContain(key);
      expect((await new Client(url, key).send({ path: '/pets' })).status).toBe(200);
    }
  });

  it('a plan that was added since gets its key, and an older version keeps the keys of plans that it does not know', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const args = ['--port', '0', '--data', folder, '--animals', '3'];
    const first = start(args);
    await untilReady(first);
    first.child.kill('SIGINT');
    await first.ended;
    const file = join(folder, 'keys.json');
    const keys = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
    // A version without business, and with unheard, has left the file like this.
    const { business: _, ...others } = keys;
    await writeFile(file, JSON.stringify({ ...others, unheard: 'as_local_unheard' }));
    const second = start(args);
    const url = await untilReady(second);
    const now = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
    expect(now).toEqual({ ...others, unheard: 'as_local_unheard', business: expect.any(String) as string });
    for (const plan of ['business', 'pro'])
      expect((await new Client(url, now[plan]!).send({ path: '/pets' })).status).toBe(200);
  });

  it('a path that cannot be used is one clear line, before anything else is started', async () => {
    for (const [option, path] of [
      ['--data', import.meta.filename],
      ['--data', '/proc/x'],
      ['--data', '/sys/x/y'],
      ['--keys-file', '/nonexistent/keys.json'],
      ['--keys-file', import.meta.dirname],
    ] as const) {
      const run = start(['--port', '0', option, path]);
      expect(await run.ended).toBe(2);
      expect(run.output().trim()).toMatch(new RegExp(`^${option} ${path} cannot be used: .*$`));
    }
  });

  it('ends all it started when npm is killed', async () => {
    const run = start(['--port', '0'], process.env, ['npm', 'start', '--']);
    await untilReady(run);
    const started = await descendants(run.child);
    expect(started.length).toBeGreaterThan(1);
    run.child.kill('SIGKILL');
    await run.ended;
    await expect.poll(() => started.filter(isRunning), { timeout: 60_000 }).toEqual([]);
  });

  it('ends at once, and removes its temporary folders, when it is told twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'start-test-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const run = start(['--port', '0'], { ...process.env, TMPDIR: folder });
    await expect
      .poll(() => run.output(), { timeout: 60_000 })
      .toMatch(/Starting (?:Dynoxide|DynamoDB Local)/);
    expect(await readdir(folder)).toHaveLength(1);
    run.child.kill('SIGINT');
    const again = setInterval(() => run.child.kill('SIGINT'), 400);
    onTestFinished(() => clearInterval(again));
    // 0 when it had stopped in order before the second signal.
    expect([0, 130]).toContain(await run.ended);
    expect(await readdir(folder)).toEqual([]);
  });
});
