import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';
import { stringify } from 'yaml';
import { ToolError } from '../../../operators/command-line/errors.ts';
import { describeService } from './document.ts';
import { partsOfPages, withParts } from './pages.ts';
import { toVersion30 } from './version-3.0.ts';

const project = join(import.meta.dirname, '..', '..', '..', '..');
const origin = 'Written by `npm run openapi` from functions/ and tools/contributors/openapi/: do not edit.';

const document = describeService();

/** @param check writes nothing @throws ToolError if something is not up to date */
export async function deriveAll(check: boolean): Promise<void> {
  const areThere = [
    await derive('docs/openapi.yaml', `# ${origin}\n${yaml(document)}`, check),
    await derive('packages/client/src/schema.ts', await types(document.components.schemas), check),
  ];
  for (const [name, parts] of Object.entries(partsOfPages())) {
    const page = await readFile(join(project, name), 'utf8');
    const formatted = Object.entries(parts).map(async ([part, text]) => [part, await inLines(text)] as const);
    areThere.push(
      await derive(name, withParts(name, page, Object.fromEntries(await Promise.all(formatted))), check),
    );
  }
  if (areThere.includes(false)) throw new ToolError('failed', 'Run "npm run openapi".');
}

/** Writes the document in version 3.0. */
export async function writeVersion30(file: string): Promise<void> {
  const made = toVersion30(document);
  await writeFile(file, file.endsWith('.json') ? JSON.stringify(made, null, 2) : yaml(made));
}

function yaml(value: object): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** Markdown as the pages have it, in lines that are not longer than theirs. */
async function inLines(markdown: string): Promise<string> {
  return (await format(markdown, { parser: 'markdown', proseWrap: 'always', printWidth: 140 })).trim();
}

/** @returns whether the file is up to date in the end */
async function derive(name: string, text: string, check: boolean): Promise<boolean> {
  const path = join(project, name);
  const formatted = await format(text, { ...(await resolveConfig(path)), filepath: path });
  if (formatted === (await readFile(path, 'utf8').catch(() => undefined))) return true;
  if (check) {
    console.error(`${name} is not what the service enforces.`);
    return false;
  }
  await writeFile(path, formatted);
  console.log(`Wrote ${name}.`);
  return true;
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
