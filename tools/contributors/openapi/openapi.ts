import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';
import { stringify } from 'yaml';
import { describeService } from './document.ts';
import { partsOfPages, withParts } from './pages.ts';
import { toVersion30 } from './version-3.0.ts';

/**
 * `npm run openapi`: writes what is derived from the service. `--check`: fails if it is not up to date. `--openapi 3.0 FILE`: writes
 * the document in that version to a file, and nothing else.
 */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { check: { type: 'boolean', default: false }, openapi: { type: 'string' } },
});
const project = join(import.meta.dirname, '..', '..', '..');
const origin = 'Written by `npm run openapi` from functions/ and tools/contributors/openapi/: do not edit.';

const document = describeService();
if (values.openapi === undefined && positionals.length === 0) await deriveAll();
else await writeVersion30();

async function deriveAll(): Promise<void> {
  await derive('docs/openapi.yaml', `# ${origin}\n${yaml(document)}`);
  await derive('packages/client/src/schema.ts', await types(document.components.schemas));
  for (const [name, parts] of Object.entries(partsOfPages())) {
    const page = await readFile(join(project, name), 'utf8');
    const formatted = Object.entries(parts).map(async ([part, text]) => [part, await inLines(text)] as const);
    await derive(name, withParts(name, page, Object.fromEntries(await Promise.all(formatted))));
  }
}

async function writeVersion30(): Promise<void> {
  const [file, ...others] = positionals;
  if (values.openapi === '3.0' && file !== undefined && others.length === 0 && !values.check) {
    const made = toVersion30(document);
    await writeFile(file, file.endsWith('.json') ? JSON.stringify(made, null, 2) : yaml(made));
    return;
  }
  console.error(
    'Usage: npm run openapi -- [--check | --openapi 3.0 FILE]. FILE is YAML, or JSON if its name ends in .json.',
  );
  process.exitCode = 2;
}

function yaml(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** Markdown as the pages have it, in lines that are not longer than theirs. */
async function inLines(markdown: string): Promise<string> {
  return (await format(markdown, { parser: 'markdown', proseWrap: 'always', printWidth: 140 })).trim();
}

async function derive(name: string, text: string): Promise<void> {
  const path = join(project, name);
  const formatted = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (formatted === (await readFile(path, 'utf8').catch(() => undefined))) return;
  if (values.check) {
    console.error(`${name} is not what the service enforces. Run "npm run openapi".`);
    process.exitCode = 1;
  } else {
    await writeFile(path, formatted);
    console.log(`Wrote ${name}.`);
  }
}

/** A type for each schema, with its name in the document. */
async function types(schemas: object): Promise<string> {
  // Not openapi-typescript, which needs TypeScript 5. This generator comments on what its root does not use.
  const properties = Object.fromEntries(
    Object.keys(schemas).map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
  );
  const root = { title: 'Schemas', type: 'object', required: Object.keys(schemas), properties };
  return compile({ ...root, components: { schemas } } as JSONSchema, 'Schemas', {
    additionalProperties: false,
    bannerComment: `/** ${origin} */`,
    format: false,
  });
}
