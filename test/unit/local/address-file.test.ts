import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAddress } from '../../../tools/local/address-file.ts';

const modulePath = join(import.meta.dirname, '../../../tools/local/address-file.ts');

/** Runs a service that announces its address, does something else, and exits. Returns what it read before. */
function announce(file: string, endpoint: string, then = ''): string {
  const program = `
    import { announceAddress, readAddress } from ${JSON.stringify(modulePath)};
    import { writeFileSync } from 'node:fs';
    const file = ${JSON.stringify(file)};
    announceAddress(${JSON.stringify(endpoint)}, file);
    process.stdout.write(readAddress(file));
    ${then}`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
}

describe('the address of the local service', () => {
  async function newFile(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'address-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return join(folder, 'new', 'service.json');
  }

  it('is in the file while the service runs', async () => {
    const file = await newFile();
    expect(announce(file, 'http://127.0.0.1:3000')).toBe('http://127.0.0.1:3000');
    expect(readAddress(file)).toBeUndefined();
  });

  it('stays when another service has written its own', async () => {
    const file = await newFile();
    const other = JSON.stringify({ endpoint: 'http://127.0.0.1:4000' });
    announce(file, 'http://127.0.0.1:3000', `writeFileSync(file, ${JSON.stringify(other)});`);
    expect(readAddress(file)).toBe('http://127.0.0.1:4000');
  });

  it('is unknown when the file holds something else', async () => {
    const file = await newFile();
    announce(file, 'http://127.0.0.1:3000');
    await writeFile(file, '{"endpoint":7}');
    expect(readAddress(file)).toBeUndefined();
  });
});
