import { rmdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { CdkApp } from '../../src/dev/cdk-app.ts';
import { lockDirectory } from '../../src/system/directory-lock.ts';

afterEach(() => vi.unstubAllEnvs());

it('does not keep its folder locked when the temporary folder cannot be written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cdk-app-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'cdk.json'), '{"app":"true"}');
  const app = await CdkApp.in(folder);
  vi.stubEnv('TMPDIR', join(folder, 'missing'));
  vi.stubEnv('TEMP', join(folder, 'missing'));
  await expect(app?.synthesize(join(folder, 'cdk.out'))).rejects.toThrow('ENOENT');
  const unlock = await lockDirectory(join(folder, 'cdk.out'));
  await unlock();
});

it('compares the files of an app without a folder that cannot be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cdk-app-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'cdk.json'), '{"app":"true"}');
  await mkdir(join(folder, 'cdk.out'));
  await mkdir(join(folder, 'gone'));
  await writeFile(join(folder, 'cdk.out', 'manifest.json'), '{}');
  const later = new Date(Date.now() + 60_000);
  await utimes(join(folder, 'cdk.out', 'manifest.json'), later, later);
  const app = await CdkApp.in(folder);
  // Removed after its name was read. The user root, as which these tests may run, can read any folder that is there.
  vi.spyOn(app!, 'isIgnored').mockImplementation((path) => {
    if (path.endsWith('gone')) rmdirSync(path);
    return false;
  });
  expect(await app?.newerThan(join(folder, 'cdk.out'))).toBeUndefined();
});
