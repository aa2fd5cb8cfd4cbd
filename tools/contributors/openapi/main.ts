import { writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { derivedFiles } from './derived-files.ts';

/** `npm run openapi`: writes what is derived from the service. `--check`: fails if it is not up to date. */
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const stale = (await derivedFiles()).filter(({ isStale }) => isStale);
for (const { path, text } of stale) {
  const name = relative(process.cwd(), path);
  if (values.check) console.error(`${name} is not what the service enforces. Run "npm run openapi".`);
  else {
    await writeFile(path, text);
    console.log(`Wrote ${name}.`);
  }
}
if (values.check && stale.length > 0) process.exitCode = 1;
