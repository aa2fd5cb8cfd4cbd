import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';
import { stringify } from 'yaml';
import { describeService } from './document.ts';

const project = join(import.meta.dirname, '..', '..', '..');
const origin = 'Written by `npm run openapi` from functions/ and docs/interface.md: do not edit.';

interface DerivedFile {
  readonly path: string;
  readonly text: string;
  readonly isStale: boolean;
}

/** What is derived from the service. Stale: the file has another text. */
export async function derivedFiles(): Promise<DerivedFile[]> {
  const document = describeService();
  const yaml = stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 });
  return Promise.all([
    derivedFile('docs/openapi.yaml', `# ${origin}\n${yaml}`),
    derivedFile('packages/client/src/schema.ts', await types(document.components?.schemas ?? {})),
  ]);
}

async function derivedFile(name: string, text: string): Promise<DerivedFile> {
  const path = join(project, name);
  const formatted = await format(text, { ...(await resolveConfig(path)), filepath: path });
  const current = await readFile(path, 'utf8').catch(() => undefined);
  return { path, text: formatted, isStale: current !== formatted };
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
