import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type LocalAddress, readAddress } from '../../../tools/operators/command-line/local-address.ts';

const modulePath = join(import.meta.dirname, '../../../tools/operators/command-line/local-address.ts');

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'address-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'new', 'services');
}

/** A process that announces an address, and runs until its standard input ends or it is killed. */
async function announce(folder: string, address: LocalAddress): Promise<ChildProcess> {
  const program = `
    import { announceAddress } from ${JSON.stringify(modulePath)};
    announceAddress(${JSON.stringify(address)}, Date.now(), ${JSON.stringify(folder)});
    process.stdout.write('announced');
    process.stdin.resume().on('end', () => process.exit());`;
  const service = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  onTestFinished(() => void service.kill('SIGKILL'));
  await once(service.stdout, 'data');
  return service;
}

async function end(service: ChildProcess): Promise<void> {
  service.stdin?.end();
  await once(service, 'exit');
}

const addressAt = (port: number, sessionToken: string): LocalAddress => ({
  endpoint: `http://127.0.0.1:${port}`,
  credentials: { accessKeyId: 'local', secretAccessKey: 'local', sessionToken },
});
const [first, second] = [addressAt(3000, 'one'), addressAt(4000, 'two')];

describe('the address of the local service', () => {
  it('is that of the service started last of those that run', async () => {
    const folder = await newFolder();
    expect(readAddress(undefined, folder)).toBeUndefined();
    const earlier = await announce(folder, first);
    expect(readAddress(undefined, folder)).toMatchObject(first);
    const later = await announce(folder, second);
    expect(readAddress(undefined, folder)).toMatchObject(second);
    expect(readAddress(3000, folder)).toMatchObject(first);
    expect(readAddress(5000, folder)).toBeUndefined();
    await end(later);
    expect(readAddress(undefined, folder)).toMatchObject(first);
    await end(earlier);
    expect(readAddress(undefined, folder)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  it('and its credentials cannot be read by other users', async () => {
    const folder = await newFolder();
    await announce(folder, first);
    const [file = ''] = await readdir(folder);
    for (const path of [folder, join(folder, file)]) expect((await stat(path)).mode & 0o077).toBe(0);
  });

  it('is unknown when the service was killed, or its file has something else', async () => {
    const folder = await newFolder();
    const service = await announce(folder, first);
    service.kill('SIGKILL');
    await once(service, 'exit');
    await writeFile(join(folder, `${process.pid}.json`), '{"endpoint":7}');
    expect(readAddress(undefined, folder)).toBeUndefined();
  });
});
