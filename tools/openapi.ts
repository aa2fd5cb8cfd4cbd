import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApiDocument } from './openapi/document.ts';

/** `npm run openapi`: writes docs/openapi.json from the code that serves the interface. */
const path = join(import.meta.dirname, '..', 'docs', 'openapi.json');
await writeFile(path, `${JSON.stringify(openApiDocument(), undefined, 2)}\n`);
console.log(`Wrote ${path}`);
