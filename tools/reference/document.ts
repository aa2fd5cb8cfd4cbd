import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const node = z.record(z.string(), z.unknown());
type Node = z.infer<typeof node>;

const schema = z.object({
  type: z.string().optional(),
  format: z.string().optional(),
  description: z.string().default(''),
  enum: z.array(z.string()).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  default: z.union([z.string(), z.number()]).optional(),
  examples: z.array(z.union([z.string(), z.number()])).default([]),
  required: z.array(z.string()).default([]),
  get properties() {
    return z.record(z.string(), schema).default({});
  },
});
export type Schema = z.infer<typeof schema>;

const examples = z.record(z.string(), z.object({ value: z.unknown() }));
const header = z.object({ description: z.string().default('') });
const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header']),
  description: z.string().default(''),
  required: z.boolean().default(false),
  schema,
});
const response = z.object({
  description: z.string(),
  headers: z.record(z.string(), header).default({}),
  /** Absent when it has no body. */
  content: z
    .object({ 'application/json': z.object({ examples: examples.default({}) }).optional() })
    .default({}),
  links: z
    .record(z.string(), z.object({ operationId: z.string(), parameters: z.record(z.string(), z.string()) }))
    .default({}),
});
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().default(''),
  deprecated: z.boolean().default(false),
  parameters: z.array(parameter).default([]),
  requestBody: z
    .object({
      description: z.string().default(''),
      content: z.object({ 'application/json': z.object({ schema, examples: examples.default({}) }) }),
    })
    .optional(),
  responses: z.record(z.string(), response),
  'x-codeSamples': z.array(z.object({ label: z.string(), source: z.string() })).default([]),
});
export type Parameter = z.infer<typeof parameter>;
export type Response = z.infer<typeof response>;

const documentSchema = z.object({
  info: z.object({
    title: z.string(),
    version: z.string(),
    summary: z.string(),
    description: z.string(),
  }),
  servers: z.array(z.object({ url: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    schemas: z.record(z.string(), schema),
    securitySchemes: z.object({ apiKey: z.object({ description: z.string() }) }),
    /** The errors. */
    responses: z.record(z.string(), response).default({}),
  }),
});
/** What the reference shows of an OpenAPI document, without references. */
export type ApiDocument = z.infer<typeof documentSchema>;
export type Operation = z.infer<typeof operation> & { readonly method: string; readonly path: string };

const file = join(import.meta.dirname, '..', '..', 'docs', 'openapi.yaml');

/** docs/openapi.yaml as it is. */
export async function openApiDocument(): Promise<Node> {
  return node.parse(parse(await readFile(file, 'utf8')));
}

export function readDocument(document: Node): ApiDocument {
  return documentSchema.parse(withoutReferences(document));
}

/** The examples of an error have their codes as names. */
export function examplesOf({ content }: Response): z.infer<typeof examples> {
  return content['application/json']?.examples ?? {};
}

export function operationsOf({ paths }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ ...each, method: method.toUpperCase(), path })),
  );
}

/** The document with every reference, and every `allOf` of one schema, replaced by what it means. */
export function withoutReferences(document: Node): unknown {
  return inline(document, document);
}

function inline(value: unknown, document: Node): unknown {
  if (Array.isArray(value)) return value.map((each) => inline(each, document));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, allOf, ...rest } = node.parse(value);
  const own = Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, inline(each, document)]));
  const general =
    typeof $ref === 'string' ? target($ref, document) : z.array(node).optional().parse(allOf)?.[0];
  return general === undefined ? own : { ...node.parse(inline(general, document)), ...own };
}

function target(reference: string, document: Node): unknown {
  let found: unknown = document;
  for (const name of reference.split('/').slice(1)) {
    found = node.parse(found)[name.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  if (found === undefined) throw new Error(`docs/openapi.yaml refers to ${reference}, which does not exist.`);
  return found;
}
