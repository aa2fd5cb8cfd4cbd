import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

it('a process that writes its output to a watched folder does not take it for a change', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'changed-files-')));
  const output = await open(join(folder, 'output.log'), 'w');
  const module = join(import.meta.dirname, '..', '..', 'src', 'dev', 'changed-files.ts');
  const program = `
    const { watchFolders } = await import(${JSON.stringify(module)});
    const options = { isIgnored: () => false, since: Date.now(), isRepeated: () => false };
    await watchFolders([${JSON.stringify(folder)}], options, async (files) => process.send(files), console.error);
    console.log('a line');
    setTimeout(() => process.send('ready'), 100);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', output.fd, 'inherit', 'ipc'],
  });
  onTestFinished(async () => {
    child.kill();
    await output.close();
    await rm(folder, { recursive: true });
  });
  expect((await once(child, 'message'))[0]).toBe('ready');
  await writeFile(join(folder, 'saved.ts'), '');
  expect((await once(child, 'message'))[0]).toEqual([join(folder, 'saved.ts')]);
});
