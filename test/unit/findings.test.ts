import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '..', '..', 'findings');
const files = globSync('{*,subjects/*}.mjs', { cwd: folder });

// findings/ has packages of its own, so neither types nor the linter see what it imports of this service.
test.each(files)('findings/%s imports files of the service that exist', (file) => {
  const text = readFileSync(join(folder, file), 'utf8');
  const imported = Array.from(text.matchAll(/from '(.+\/functions\/.+)'/g), ([, path]) => path!);
  const missing = imported.filter((path) => !existsSync(join(folder, dirname(file), path)));
  expect(missing).toEqual([]);
});
