import { parseArgs } from 'node:util';

/**
 * `npm run openapi`: writes what is derived from the service. `--check`: fails if it is not up to date. `--openapi 3.0 FILE`: writes
 * the document in that version to a file, and nothing else.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false }, openapi: { type: 'string' } },
});
const [file, ...others] = positionals;
const isDerived = values.openapi === undefined && file === undefined;
const isVersion30 = values.openapi === '3.0' && file !== undefined && others.length === 0 && !values.check;
if (!isDerived && !isVersion30) {
  console.error(
    'Usage: npm run openapi -- [--check | --openapi 3.0 FILE]. FILE is YAML, or JSON if its name ends in .json.',
  );
  process.exitCode = 2;
} else {
  // Loads the CDK and the parser of TypeScript, which takes a second.
  const { deriveAll, writeVersion30 } = await import('./derive.ts');
  if (file === undefined) await deriveAll(values.check);
  else await writeVersion30(file);
}
