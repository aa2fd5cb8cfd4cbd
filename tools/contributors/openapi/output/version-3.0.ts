import type { JsonObject } from '../bodies.ts';

// The document as OpenAPI 3.0, for tools that do not read 3.1: https://www.openapis.org/blog/2021/02/16/migrating-from-openapi-3-0-to-3-1-0

interface Document extends JsonObject {
  readonly info: {
    readonly summary: string;
    readonly description: string;
    readonly license: { readonly identifier: string };
  };
}

interface Components extends JsonObject {
  readonly responses: JsonObject;
}

export function toVersion30(document: Document): JsonObject {
  const { summary, ...info } = document.info;
  const { identifier, ...license } = info.license;
  const converted = convert(document, document) as JsonObject & { readonly components: Components };
  const text = JSON.stringify(converted);
  // What only references with a description of their own referred to.
  const isUsed = ([name]: [string, unknown]) => text.includes(`"#/components/responses/${name}"`);
  const responses = Object.fromEntries(Object.entries(converted.components.responses).filter(isUsed));
  return {
    ...converted,
    components: { ...converted.components, responses },
    openapi: '3.0.3',
    info: {
      ...info,
      description: `${summary}\n\n${info.description}`,
      license: { ...license, url: `https://spdx.org/licenses/${identifier}.html` },
    },
  };
}

function convert(value: unknown, document: JsonObject): unknown {
  if (Array.isArray(value)) return value.map((each) => convert(each, document));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as JsonObject;
  const own = Object.fromEntries(
    Object.entries(rest).flatMap(([key, each]) => keyword(key, convert(each, document))),
  );
  if (typeof $ref !== 'string') return own;
  // 3.0 ignores what stands beside a reference.
  if (Object.keys(own).length === 0) return { $ref };
  if ($ref.startsWith('#/components/schemas/')) return { ...own, allOf: [{ $ref }] };
  return { ...(convert(target($ref, document), document) as JsonObject), ...own };
}

/** What 3.0 has for a keyword. The examples of a schema are a list; other parts have them by name, as in 3.1. */
function keyword(name: string, value: unknown): (readonly [string, unknown])[] {
  if (name === 'examples' && Array.isArray(value)) return [['example', value[0]]];
  if (name === 'const') return [['enum', [value]]];
  if ((name === 'exclusiveMinimum' || name === 'exclusiveMaximum') && typeof value === 'number')
    return [
      [name.replace('exclusiveM', 'm'), value],
      [name, true],
    ];
  return [[name, value]];
}

function target(reference: string, document: JsonObject): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => (part as JsonObject)[name], document);
}
