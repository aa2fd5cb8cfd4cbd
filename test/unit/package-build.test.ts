import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const run = promisify(execFile);

it('a package can be built twice', async () => {
  const target = await mkdtemp(join(tmpdir(), 'build-'));
  onTestFinished(() => rm(target, { recursive: true, force: true }));
  const build = async () => {
    await run(process.execPath, ['../build.mjs', target], { cwd: 'packages/client' });
    return (await readdir(target, { recursive: true })).toSorted();
  };
  const first = await build();
  expect(await build()).toEqual(first);
});
