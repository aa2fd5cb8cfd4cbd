import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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
