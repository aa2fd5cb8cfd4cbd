import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../src/system/temporary-directory.ts';

it('a new directory removes those of processes that were killed, and no others', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'parent-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  const ended = spawn(process.execPath, ['--version']);
  await once(ended, 'exit');
  const own = temporaryDirectory(parent);
  const name = basename(own.path);
  const killed = name.replace(`-${process.pid}-`, `-${ended.pid}-`);
  const others = ['cdk-offline-elsewhere-1-abc', `cdk-offline-${ended.pid}`, 'other'];
  for (const each of [killed, ...others]) await mkdir(join(parent, each, 'inner'), { recursive: true });
  const next = temporaryDirectory(parent);
  expect((await readdir(parent)).toSorted()).toEqual([name, basename(next.path), ...others].toSorted());
  await own.remove();
  await next.remove();
  expect((await readdir(parent)).toSorted()).toEqual(others.toSorted());
});
