import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAddress, reasonNotToAnnounce } from '../../../tools/local/address-file.ts';

const modulePath = join(import.meta.dirname, '../../../tools/local/address-file.ts');

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'address-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, 'new', 'services');
}

/** A process that announces an address, and runs until its standard input ends or it is killed. */
async function announce(folder: string, endpoint: string): Promise<ChildProcess> {
  const program = `
    import { announceAddress } from ${JSON.stringify(modulePath)};
    announceAddress(${JSON.stringify(endpoint)}, ${JSON.stringify(folder)});
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

const [first, second] = ['http://127.0.0.1:3000', 'http://127.0.0.1:4000'];

describe('the address of the local service', () => {
  it('is that of the service started last of those that run', async () => {
    const folder = await newFolder();
    expect(readAddress(folder)).toBeUndefined();
    const earlier = await announce(folder, first);
    expect(readAddress(folder)).toBe(first);
    const later = await announce(folder, second);
    expect(readAddress(folder)).toBe(second);
    await end(later);
    expect(readAddress(folder)).toBe(first);
    await end(earlier);
    expect(readAddress(folder)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
  });

  it('cannot be announced where no folder can be made: one line says why', async () => {
    const folder = await newFolder();
    expect(reasonNotToAnnounce(folder)).toBeUndefined();
    expect(await readdir(folder)).toEqual([]);
    const file = join(folder, 'file');
    await writeFile(file, '');
    expect(reasonNotToAnnounce(join(file, 'services'))).toMatch(/^(?:EEXIST|ENOTDIR): [^\n]+$/);
  });

  it('is unknown when the service was killed, or its file has something else', async () => {
    const folder = await newFolder();
    const service = await announce(folder, first);
    service.kill('SIGKILL');
    await once(service, 'exit');
    await writeFile(join(folder, `${process.pid}.json`), '{"endpoint":7}');
    expect(readAddress(folder)).toBeUndefined();
  });
});
