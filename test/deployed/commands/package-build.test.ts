import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
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

it('a package says on an older Node.js which one it needs, and nothing else first', async () => {
  const target = await mkdtemp(join(tmpdir(), 'build-'));
  onTestFinished(() => rm(target, { recursive: true, force: true }));
  await run(process.execPath, ['../build.mjs', target], { cwd: 'packages/client' });
  const older = join(target, 'older.cjs');
  await writeFile(
    older,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '19.9.0' } });",
  );
  const sentence = 'animal-store-client needs Node.js 20 or later (this is 19.9.0).';
  for (const entry of ['index.js', 'index.mjs']) {
    const failure: unknown = await run(process.execPath, ['--require', older, join(target, entry)]).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({
      code: 1,
      stderr: expect.toSatisfy((stderr: string) => stderr.startsWith(sentence)),
    });
    await expect(run(process.execPath, [join(target, entry)])).resolves.toMatchObject({ stderr: '' });
  }
});
