import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { referencePages } from './pages.ts';

// Our own renderer: Scalar, Swagger UI, RapiDoc and Stoplight Elements round int64, Redoc sends no requests, and all but Scalar
// have serious findings of axe-core.

const [given] = new Command('npm run docs --')
  .description('Writes the API reference as a static site, which has no API key and sends no requests.')
  .argument('[folder]', 'where to write it', '.local/reference')
  .parse().processedArgs;
const folder = resolve(given);
await mkdir(folder, { recursive: true });
for (const [path, { body }] of await referencePages()) {
  await writeFile(join(folder, path === '/' ? 'index.html' : path), body);
}
console.log(`Wrote the API reference to ${join(folder, 'index.html')}`);
