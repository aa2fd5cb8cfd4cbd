import { z } from 'zod';
import { storedInteger } from '../../../../functions/pets/int64.ts';
import { pageSize } from '../../../../functions/pets/listing.ts';
import { readablePattern, storedInt64 } from '../../../../functions/pets/schema.ts';
import {
  bodies,
  type Body,
  type BodyName,
  bodyOf,
  type Field,
  type JsonObject,
  readableTextInWords,
  type Schema,
} from '../bodies.ts';
import { descriptions } from '../operations.ts';

// The schemas of bodies.ts as JSON Schema.

const integer64 = { type: 'integer', format: 'int64' };
const nameOf = new Map<Schema, string>(Object.entries(bodies).map(([name, { schema }]) => [schema, name]));
export const referenceTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** How JSON Schema has what zod cannot write of the schemas of `functions/`. A check states its keywords as `params`. */
export const writing = {
  unrepresentable: 'any',
  override: ({ jsonSchema, zodSchema }: { readonly jsonSchema: object; readonly zodSchema: Schema }) => {
    const { def } = zodSchema._zod;
    const isInt64 = def.type === 'bigint' || def === storedInt64._zod.def;
    const keywords = [
      isInt64 && integer64,
      def === storedInteger._zod.def && { type: 'integer' },
      ...(def.checks ?? []).map((check) => (check._zod.def as { readonly params?: JsonObject }).params),
    ];
    Object.assign(jsonSchema, ...keywords);
    // Clients ignore fields that they do not know.
    if ('additionalProperties' in jsonSchema) delete jsonSchema.additionalProperties;
    const name = nameOf.get(zodSchema);
    if (name === undefined) return;
    for (const keyword of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, keyword);
    Object.assign(jsonSchema, referenceTo(name));
  },
} as const;

function written(schema: Schema, io: 'input' | 'output'): JsonObject {
  const { $schema: _draft, ...own } = z.toJSONSchema(schema, { ...writing, io });
  return own;
}

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
  const { pattern, minLength, maxLength } = written(required(schema), 'input');
  return [
    ...(pattern === readablePattern ? [readableTextInWords(Number(minLength), Number(maxLength))] : []),
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

/** A schema of bodies.ts, with the descriptions of it and of its fields. */
function schemaOf(name: BodyName): JsonObject {
  const { schema, description } = bodyOf(name);
  const io = isRequest(name) ? 'input' : 'output';
  const fields = fieldsOf(name);
  // A copy, because the schema itself is written as a reference to what is made here.
  if (fields.length === 0) return { ...written(z.core.clone(schema, schema._zod.def), io), description };
  const properties = fields.map(
    ({ field, schema: ofField, described: { sample, keywords, ...own }, rules }) => {
      const property = {
        description: [own.description, ...rules].join(' '),
        examples: [sample],
        ...written(required(ofField), io),
        ...keywords,
      };
      return [field, property] as const;
    },
  );
  const always = fields.filter(({ isOptional }) => !isOptional).map(({ field }) => field);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(always.length > 0 && { required: always }),
    description,
  };
}

/** The name of the JSON in a list, such as `Pet` of `Pet[]`. */
const oneOf = (name: BodyName | `${BodyName}[]`) => name.replace('[]', '') as BodyName;

/** The components of docs/openapi.yaml. */
export function jsonSchemas(): Readonly<Record<string, JsonObject>> {
  const all = Object.values(descriptions);
  const names = new Set<BodyName>([
    ...all.flatMap(({ request }) => request ?? []),
    ...(Object.keys(bodies) as BodyName[]).filter((name) => shapeOf(name) === undefined),
    'Error',
    ...all.flatMap(({ success }) => (success.body === undefined ? [] : oneOf(success.body))),
  ]);
  return Object.fromEntries(Array.from(names, (name) => [name, schemaOf(name)]));
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
