import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { referencePages } from './pages.ts';

/** `npm run docs [-- <folder>]`: writes the API reference as a static site, without an API key and without sending requests. */
const folder = resolve(process.argv[2] ?? '.local/reference');
await mkdir(folder, { recursive: true });
for (const [path, { body }] of await referencePages()) {
  await writeFile(join(folder, path === '/' ? 'index.html' : path), body);
}
console.log(`Wrote the API reference to ${join(folder, 'index.html')}`);
