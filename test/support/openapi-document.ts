import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const node = z.record(z.string(), z.unknown());
type Node = z.infer<typeof node>;

/** docs/openapi.yaml as it is. */
export async function openApiDocument(): Promise<Node> {
  return node.parse(parse(await readFile('docs/openapi.yaml', 'utf8')));
}

/** The document with every reference replaced by what it means. */
export function withoutReferences(document: Node): unknown {
  return inline(document, document);
}

function inline(value: unknown, document: Node): unknown {
  if (Array.isArray(value)) return value.map((each) => inline(each, document));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = node.parse(value);
  const own = Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, inline(each, document)]));
  if (typeof $ref !== 'string') return own;
  return { ...node.parse(inline(target($ref, document), document)), ...own };
}

function target(reference: string, document: Node): unknown {
  let found: unknown = document;
  for (const name of reference.split('/').slice(1)) {
    found = node.parse(found)[name.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (found === undefined) throw new Error(`docs/openapi.yaml refers to ${reference}, which does not exist.`);
  return found;
}
