import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { Client } from '../../../tools/operators/smoke/client.ts';
import { expectPet } from '../../../tools/operators/smoke/expectations.ts';
import { Inspector } from './inspector.ts';
import { isLocal } from './support.ts';

/** Runs `npm run dev` in a copy of the project, so that a test can change its files. */
class DevService {
  readonly folder: string;
  #output = '';
  #client: Client | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async start(
    args: readonly string[] = [],
    prepare: (service: DevService) => Promise<void> = async () => {},
  ): Promise<DevService> {
    const folder = await mkdtemp(join(tmpdir(), 'dev test, ü & $HOME-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const service = new DevService(folder);
    for (const name of ['bin', 'docs', 'functions', 'lib', 'tools', 'cdk.json', 'package.json'])
      await cp(name, join(folder, name), { recursive: true });
    await symlink(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
    await prepare(service);

    const keysFile = join(folder, 'keys.json');
    const allArgs = ['tools/run.mjs', 'dev', '--port', '0', '--keys-file', keysFile, ...args];
    const env = { ...process.env, TZ: 'America/New_York' };
    const child = spawn(process.execPath, allArgs, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (service.#output += text));
    }
    const [, url] = await service.printed(/^ready (\S+)$/m);
    const keys = z.record(z.string(), z.string()).parse(JSON.parse(await readFile(keysFile, 'utf8')));
    service.#client = new Client(url!, keys['enterprise']!);
    return service;
  }

  get client(): Client {
    return this.#client!;
  }

  /** Waits until the output matches. Returns the match and forgets the output up to its end. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const deadline = Date.now() + 300_000;
    for (;;) {
      const match = pattern.exec(this.#output);
      if (match !== null) {
        this.#output = this.#output.slice(match.index + match[0].length);
        return match;
      }
      if (Date.now() > deadline) throw new Error(`${pattern} is not in the output:\n${this.#output}`);
      await sleep(20);
    }
  }

  write(file: string, text: string): Promise<void> {
    return writeFile(join(this.folder, file), text);
  }

  async edit(file: string, change: (text: string) => string): Promise<void> {
    const before = await readFile(join(this.folder, file), 'utf8');
    const after = change(before);
    if (after === before) throw new Error(`Nothing to change in ${file}`);
    await this.write(file, after);
  }

  /** What `GET /pets/1` answers. */
  async text(): Promise<string> {
    return (await this.client.send({ path: '/pets/1' })).text;
  }
}

/** A handler for `GET /pets/{petId}`. */
const answering = (text: string): string =>
  `export const handler = async () => ({ statusCode: 200, body: ${JSON.stringify(text)} });\n`;

const getPet = 'functions/get-pet.ts';

describe.runIf(isLocal)('npm run dev', { timeout: 900_000 }, () => {
  it('applies what is saved, keeps data, keys and port, and goes on after an error', async () => {
    const service = await DevService.start();
    const { id } = expectPet(await service.client.post('{"name":"Rex","categoryId":7}'), 201);

    await service.write(getPet, answering('one'));
    await service.printed(/^[\d:]{8} Applied get-pet \(\d+ ms\)$/m);
    expect(await service.text()).toBe('one');

    // Only this function imports the new module.
    await service.write('functions/pets/shared.ts', `export const text: string = 'two';\n`);
    await service.write(
      getPet,
      `import { text } from './pets/shared.ts';\nexport const handler = async () => ({ statusCode: 200, body: text });\n`,
    );
    await service.printed(/^[\d:]{8} Applied get-pet /m);
    expect(await service.text()).toBe('two');
    await service.write('functions/pets/shared.ts', `export const text: string = 'three';\n`);
    await service.printed(/^[\d:]{8} Applied get-pet /m);
    expect(await service.text()).toBe('three');

    await service.write('functions/pets/shared.ts', `export const text: string = ;\n`);
    await service.printed(/functions\/pets\/shared\.ts:1:28/);
    await service.printed(/Not applied/);
    expect(await service.text()).toBe('three');

    await service.write(getPet, `throw new Error('at load');\n${answering('never')}`);
    await service.printed(/at load/);
    await service.printed(/Not applied/);
    expect(await service.text()).toBe('three');

    await service.write(
      getPet,
      `interface Event {\n  path: string;\n}\nexport const handler = async (event: Event) => {\n  throw new Error(event.path);\n};\n`,
    );
    await service.printed(/^[\d:]{8} Applied get-pet /m);
    await service.text();
    await service.printed(/functions\/get-pet\.ts:5:9/);

    // On Lambda it is UTC.
    await service.write(
      getPet,
      `export const handler = async () => ({ statusCode: 200, body: String(new Date(0).getHours()) });\n`,
    );
    await service.printed(/^[\d:]{8} Applied get-pet /m);
    expect(await service.text()).toBe('0');

    await service.write(getPet, answering('four'));
    await service.printed(/^[\d:]{8} Applied get-pet /m);
    expect(await service.text()).toBe('four');
    const listed = await service.client.send({ path: '/pets' });
    expect(listed.text).toContain(String(id));
  });

  it('applies changes of the infrastructure, or says that a restart is needed', async () => {
    const service = await DevService.start();
    const { id } = expectPet(await service.client.post('{"name":"Rex","categoryId":7}'), 201);

    await service.edit('lib/api/gateway-responses.ts', (text) =>
      text.replace('challenge: bearerChallenge', `challenge: 'Bearer realm="other"'`),
    );
    await service.printed(/^[\d:]{8} Applied the stack/m);
    const unauthorized = await service.client.send({ path: '/pets', authorization: null });
    expect(unauthorized.headers.get('www-authenticate')).toBe('Bearer realm="other"');
    expect((await service.client.send({ path: '/pets' })).text).toContain(String(id));

    await service.edit('lib/storage/table-definitions.ts', (text) =>
      text.replace("{ id: 'N' }", "{ other: 'N' }"),
    );
    await service.printed(/Restart without its data to apply it\./);
    expect((await service.client.send({ path: '/pets' })).text).toContain(String(id));
  });

  it('applies the stack when the error that a synthesis found was undone while it ran', async () => {
    const service = await DevService.start();
    const found = join(service.folder, 'error-found');
    await service.edit('lib/api/gateway-responses.ts', (text) =>
      text.replace('challenge: bearerChallenge', `challenge: 'Bearer realm="other"'`),
    );
    // A synthesis that fails goes on for some seconds.
    await service.edit(
      'bin/animal-store.ts',
      (text) => `import { writeFileSync } from 'node:fs';
process.on('exit', (code) => {
  if (code === 0) return;
  writeFileSync(${JSON.stringify(found)}, '');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 8_000);
});
${text}`,
    );
    await service.write(getPet, `export const handler = ;\n`);
    await expect.poll(() => readFile(found, 'utf8').catch(() => undefined), { timeout: 120_000 }).toBe('');
    await service.write(getPet, answering('fixed'));
    await service.printed(/^[\d:]{8} Applied the stack/m);
    const { headers } = await service.client.send({ path: '/pets', authorization: null });
    expect(headers.get('www-authenticate')).toBe('Bearer realm="other"');
    expect(await service.text()).toBe('fixed');
  });

  it('stops at a breakpoint in a TypeScript file, and the time-out of the function does not run meanwhile', async () => {
    const service = await DevService.start(['--inspect', '0'], async (copy) => {
      await copy.edit('lib/compute/functions.ts', (text) =>
        text.replace('Duration.millis(timeout)', 'Duration.seconds(2)'),
      );
      await copy.write(
        getPet,
        `interface Event {\n  path: string;\n}\n\nexport const handler = async (event: Event) => {\n  const body = event.path.toUpperCase();\n  return { statusCode: 200, body };\n};\n`,
      );
    });
    const [, host] = await service.printed(/Attach a debugger to ([\d.]+:\d+)/);
    const inspector = await Inspector.attach(host!);
    onTestFinished(() => inspector.close());
    await inspector.breakAt(join(service.folder, getPet), 7);

    const answer = service.text();
    const paused = await inspector.paused();
    expect(paused.source).toBe(join(service.folder, getPet));
    expect(paused.line).toBe(7);
    expect(await inspector.evaluate(paused.callFrameId, 'body')).toBe('/PETS/1');
    await sleep(3_000);
    await inspector.resume();
    expect(await answer).toBe('/PETS/1');
  });
});
