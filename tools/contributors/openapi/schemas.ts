import { z } from 'zod';
import { storedInteger } from '../../../functions/pets/int64.ts';
import { pageSize } from '../../../functions/pets/listing.ts';
import { readablePattern, storedInt64 } from '../../../functions/pets/schema.ts';
import { bodies, type Body, type BodyName, bodyOf, type Field, type Schema } from './bodies.ts';
import type { Node } from './headers.ts';
import { descriptions } from './operations.ts';

// The schemas of bodies.ts as JSON Schema.

/** What fields have beside their schemas: each field is a copy, because several can have one schema. */
const keywordsOf = new Map<Schema, Node | undefined>();

const integer64 = { type: 'integer', format: 'int64' };

/** How JSON Schema has what zod cannot write of the schemas of `functions/`. A check states its keywords as `params`. */
export const writing = {
  unrepresentable: 'any',
  override: ({ jsonSchema, zodSchema }: { readonly jsonSchema: object; readonly zodSchema: Schema }) => {
    const { def } = zodSchema._zod;
    const isInt64 = def.type === 'bigint' || def === storedInt64._zod.def;
    const keywords = [
      isInt64 && integer64,
      def === storedInteger._zod.def && { type: 'integer' },
      ...(def.checks ?? []).map((check) => (check._zod.def as { readonly params?: Node }).params),
      keywordsOf.get(zodSchema),
    ];
    Object.assign(jsonSchema, ...keywords);
    // Clients ignore fields that they do not know.
    if ('additionalProperties' in jsonSchema) delete jsonSchema.additionalProperties;
  },
} as const;

/** Without what makes it optional. A default is described in words: not every generator of clients can read one. */
function required(schema: Schema): Schema {
  const { def } = (schema as z.core.$ZodDefault | z.core.$ZodOptional)._zod;
  return def.type === 'default' || def.type === 'optional' ? def.innerType : schema;
}

function shapeOf(name: string): Readonly<Record<string, Schema>> | undefined {
  const body = name in bodies ? bodyOf(name as BodyName) : undefined;
  return (body?.schema as { readonly shape?: Readonly<Record<string, Schema>> } | undefined)?.shape;
}

/** What a schema enforces, and JSON Schema cannot say. */
function rulesInWords(schema: Schema): string[] {
  const { def } = schema._zod as z.core.$ZodDefault['_zod'];
  const { pattern, minLength, maxLength } = z.toJSONSchema(required(schema), { ...writing, io: 'input' });
  return [
    ...(pattern === readablePattern
      ? [
          `${minLength} to ${maxLength} Unicode code points, at least one of them visible (not a separator or format character). Control ` +
            'characters (U+0000 to U+001F, U+007F to U+009F), such as a line feed, lone surrogates and U+FFFD to U+FFFF are rejected.',
        ]
      : []),
    ...(def.type === 'default' ? [`\`${String(def.defaultValue)}\` when omitted.`] : []),
  ];
}

/** @throws Error for a field without words or a sample: each new field needs both */
export function describedField(name: string, field: string, fields: Body['fields'] = {}): Field {
  const found = fields[field];
  if (found?.description !== undefined && found.sample !== undefined) return found;
  throw new Error(
    `The field "${field}" of ${name} has no words or no sample. Add its "description" and "sample" to tools/contributors/openapi/bodies.ts.`,
  );
}

/** The fields of an object. `rules`: what to say of a field besides its description. */
export function fieldsOf(name: BodyName) {
  const { fields } = bodyOf(name);
  return Object.entries(shapeOf(name) ?? {}).map(([field, schema]) => {
    const described = describedField(name, field, fields);
    // What is optional in a request is optional in an answer.
    const inRequest = shapeOf(`New${name}`)?.[field] ?? schema;
    const isOptional = [schema, inRequest].some((each) => required(each) !== each);
    return { field, schema, isOptional, described, rules: rulesInWords(schema) };
  });
}

/** Whether a client sends it. */
export const isRequest = (name: BodyName): boolean =>
  Object.values(descriptions).some(({ request }) => request === name);

/** The fields that a request needs, or all that an answer has. */
export function sampleOf(name: BodyName): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fieldsOf(name)
      .filter(({ isOptional }) => !isRequest(name) || !isOptional)
      .map(({ field, described }) => [field, described.sample]),
  );
}

/** Adds the schema of an object with the words of it and of its fields. */
function registerSchema(name: BodyName, registry: z.core.$ZodRegistry<z.core.JSONSchemaMeta>): void {
  const fields = fieldsOf(name).map(({ field, schema, isOptional, described, rules }) => {
    const own = required(schema);
    const copy = isOptional ? z.optional(own) : z.nonoptional(own);
    const description = [described.description, ...rules].join(' ');
    const examples = [described.sample];
    registry.add(copy, { description, examples });
    // zod drops the examples of what it transforms.
    keywordsOf.set(copy, { examples, ...described.keywords });
    return [field, copy] as const;
  });
  registry.add(z.object(Object.fromEntries(fields)), {
    id: name,
    description: bodyOf(name).description,
  });
}

const addressOf = (name: string) => `#/components/schemas/${name}`;
export const referenceTo = (name: BodyName): Node => ({ $ref: addressOf(name) });

/** These schemas as requests or as answers have them, and what they refer to. */
function written(io: 'input' | 'output', names: readonly BodyName[]): Readonly<Record<string, Node>> {
  const registry = z.registry<z.core.JSONSchemaMeta>();
  for (const name of names) registerSchema(name, registry);
  for (const [id, { schema, description }] of Object.entries(bodies))
    if (!('shape' in schema)) registry.add(schema, { id, description });
  const { schemas } = z.toJSONSchema(registry, { ...writing, io, metadata: registry, uri: addressOf });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const { $schema: _draft, $id: _address, ...own } = schema;
      return [name, own];
    }),
  );
}

/** The name of the JSON in a list, such as `Pet` of `Pet[]`. */
const oneOf = (name: BodyName | `${BodyName}[]`) => name.replace('[]', '') as BodyName;

/** The components of docs/openapi.yaml. */
export function jsonSchemas(): Readonly<Record<string, Node>> {
  const all = Object.values(descriptions);
  const requests = all.flatMap(({ request }) => request ?? []);
  const answers = all.flatMap(({ success }) => (success.body === undefined ? [] : oneOf(success.body)));
  return {
    ...written('input', Array.from(new Set(requests))),
    ...written('output', Array.from(new Set(['Error' as const, ...answers]))),
  };
}

/** The content of a request or an answer, and its sample. */
export function jsonContent(name: BodyName | `${BodyName}[]`, sampleName: string) {
  const one = oneOf(name);
  const isList = one !== name;
  const sample = sampleOf(one);
  const schema = referenceTo(one);
  return {
    'application/json': {
      schema: isList ? { maxItems: pageSize.max, type: 'array', items: schema } : schema,
      examples: { [sampleName]: { value: isList ? [sample] : sample } },
    },
  };
}
