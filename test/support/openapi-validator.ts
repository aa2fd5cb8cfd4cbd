import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { parse } from 'yaml';
import { z } from 'zod';

/** An answer as a client got it. */
export interface SeenAnswer {
  readonly method: string;
  /** Below the base address, without the query. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const headerSchema = z.looseObject({
  required: z.boolean().optional(),
  schema: z.looseObject({ type: z.enum(['integer', 'string']) }),
});
const responseSchema = z.object({
  headers: z.record(z.string(), z.object({ $ref: z.string() })),
  content: z
    .object({ 'application/json': z.object({ schema: z.record(z.string(), z.unknown()) }) })
    .optional(),
});
const documentSchema = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.object({ responses: z.record(z.string(), z.unknown()) })),
  ),
  components: z.object({
    headers: z.record(z.string(), headerSchema),
    responses: z.record(z.string(), responseSchema),
  }),
});

const documentId = 'https://animal-store.test/openapi.json';
const errorSchema = { $ref: `${documentId}#/components/schemas/Error` };

/** Compares answers of the service with the OpenAPI document, headers included. */
export class AnswerValidator {
  readonly #document: z.infer<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #compiled = new Map<string, ValidateFunction>();
  /** Every header that the document describes for some answer, in lower case. */
  readonly #knownHeaders: ReadonlySet<string>;

  constructor(document: unknown = parse(readFileSync('docs/openapi.yaml', 'utf8'))) {
    this.#document = documentSchema.parse(document);
    addFormats.default(this.#ajv);
    this.#ajv.addSchema({ ...z.record(z.string(), z.unknown()).parse(document), $id: documentId });
    const responses = Object.values(this.#document.paths)
      .flatMap((item) => Object.values(item))
      .flatMap((operation) => Object.values(operation.responses).map((response) => this.#resolve(response)));
    this.#knownHeaders = new Set(
      responses.flatMap(({ headers }) => Object.keys(headers).map((name) => name.toLowerCase())),
    );
  }

  /** What the document does not allow; empty when the answer agrees with it. */
  violations(answer: SeenAnswer): string[] {
    const operation = this.#operationOf(answer);
    // The document does not have this path or method, so only what all errors share can be checked.
    if (operation === undefined) return this.#bodyViolations(answer, errorSchema);
    const listed = operation.responses[answer.status];
    if (listed === undefined) return [`status ${answer.status} is not listed`];
    const { headers, content } = this.#resolve(listed);
    return [
      ...this.#headerViolations(answer, headers),
      ...this.#bodyViolations(answer, content?.['application/json'].schema),
    ];
  }

  /** The methods of a path, such as `GET`. Undefined: the document does not have the path. */
  methodsOf(path: string): string[] | undefined {
    const item = this.#itemOf(path);
    return item && Object.keys(item).map((method) => method.toUpperCase());
  }

  #operationOf({ method, path }: SeenAnswer) {
    return this.#itemOf(path)?.[method.toLowerCase()];
  }

  #itemOf(path: string) {
    const template = Object.keys(this.#document.paths).find((each) =>
      new RegExp(`^${each.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    return template === undefined ? undefined : this.#document.paths[template];
  }

  #resolve(response: unknown): z.infer<typeof responseSchema> {
    const reference = z.object({ $ref: z.string() }).safeParse(response);
    if (!reference.success) return responseSchema.parse(response);
    const name = reference.data.$ref.split('/').at(-1) ?? '';
    return responseSchema.parse(this.#document.components.responses[name]);
  }

  #headerViolations({ headers }: SeenAnswer, listed: Readonly<Record<string, { $ref: string }>>): string[] {
    const names = new Set(Object.keys(listed).map((name) => name.toLowerCase()));
    const unlisted = [...headers.keys()].filter((name) => this.#knownHeaders.has(name) && !names.has(name));
    return [
      ...unlisted.map((name) => `header ${name} is not listed`),
      ...Object.entries(listed).flatMap(([name, { $ref }]) => {
        const definition = this.#document.components.headers[$ref.split('/').at(-1) ?? ''];
        if (definition === undefined) return [`header ${name} refers to nothing`];
        const value = headers.get(name);
        if (value === null) return definition.required === true ? [`header ${name} is missing`] : [];
        const parsed = definition.schema.type === 'integer' ? integerOf(value) : value;
        return this.#schemaViolations(definition.schema, parsed).map((line) => `header ${name}: ${line}`);
      }),
    ];
  }

  /** @param schema of the body; `undefined` if there must be none */
  #bodyViolations({ headers, text }: SeenAnswer, schema: object | undefined): string[] {
    // API Gateway adds a Content-Type.
    if (schema === undefined) return text === '' ? [] : ['there is a body'];
    const type = headers.get('content-type') ?? '';
    if (!/^application\/json\b/.test(type)) return [`Content-Type is "${type}"`];
    try {
      return this.#schemaViolations(schema, JSON.parse(text)).map((line) => `body${line}`);
    } catch {
      return ['the body is not JSON'];
    }
  }

  #schemaViolations(schema: object, value: unknown): string[] {
    // References in a part of the document are relative to the document.
    const text = JSON.stringify(schema).replaceAll('"$ref":"#', `"$ref":"${documentId}#`);
    const validate =
      this.#compiled.get(text) ??
      this.#ajv.compile(z.record(z.string(), z.unknown()).parse(JSON.parse(text)));
    this.#compiled.set(text, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }
}

function integerOf(text: string): unknown {
  return /^\d+$/.test(text) ? Number(text) : text;
}
