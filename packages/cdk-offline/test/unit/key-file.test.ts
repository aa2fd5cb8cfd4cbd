import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ApiKeySnapshot } from '../../src/usage-plans/store.ts';
import { KeyFile, readKeyFile } from '../../src/usage-plans/key-file.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'key-file-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

function snapshot(name: string): ApiKeySnapshot {
  const key = { id: 'id', value: 'v'.repeat(20), description: undefined, enabled: true, tags: { a: 'b' } };
  return {
    keys: [{ ...key, name, createdAt: 1, updatedAt: 2 }],
    bindings: [{ planId: 'plan', keyId: 'id', use: { '2026-03-01': 4 } }],
  };
}

it('reads what was saved, and nothing before the first save', async () => {
  expect(await readKeyFile(directory)).toBeUndefined();
  await new KeyFile(directory, () => snapshot('a')).save();
  expect(await readKeyFile(directory)).toEqual(snapshot('a'));
});

it('concurrent saves are combined into few writes, and each save is in the file when it resolves', async () => {
  let version = 0;
  let taken = 0;
  const file = new KeyFile(directory, () => {
    taken += 1;
    return snapshot(String(version));
  });
  const saved = Array.from({ length: 50 }, async () => {
    version += 1;
    const own = version;
    await file.save();
    const found = await readKeyFile(directory);
    expect(Number(found?.keys[0]?.name)).toBeGreaterThanOrEqual(own);
  });
  await Promise.all(saved);
  expect(taken).toBeLessThanOrEqual(3);
  expect(await readdir(directory)).toHaveLength(1);
});

it('a failed save rejects, and the next save is attempted', async () => {
  const elsewhere = join(directory, 'not-there');
  const file = new KeyFile(elsewhere, () => snapshot('a'));
  await expect(file.save()).rejects.toThrow(/ENOENT/);
  await mkdir(elsewhere);
  await file.save();
  expect(await readKeyFile(elsewhere)).toEqual(snapshot('a'));
});
