import { z } from 'zod';
import { type errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { operations } from '../../../functions/operations.ts';
import { storedInteger } from '../../../functions/pets/int64.ts';
import { pageSize } from '../../../functions/pets/listing.ts';
import * as pets from '../../../functions/pets/schema.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { bodyText } from './interface.ts';

// JSON as JSON Schema: the schemas of functions/, in the words of docs/interface.md.

export type Node = Readonly<Record<string, unknown>>;
type Schema = z.core.$ZodType;

const error = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int32().min(400).max(599),
} satisfies Record<keyof ReturnType<typeof errorBody>, Schema>);

/** By the names of their JSON. Those of stored items are what answers have. */
const sources: Readonly<Record<string, unknown>> = Object.fromEntries(
  [{ error }, pets].flatMap((resource) =>
    Object.entries(resource).map(([name, schema]) => [titleCase(name.replace(/^stored/, '')), schema]),
  ),
);

/** What the schemas of `functions/` do not say of a field. */
const rules: Readonly<Record<string, Node>> = {
  'Error.code': { 'x-extensible-enum': Object.keys(errorCatalogue) },
  'Error.status': { format: 'int32' },
};
/** By the schemas of the fields. */
const rulesOfFields = new Map<Schema, Node | undefined>();

export const integer64 = { type: 'integer', format: 'int64' };

/** How JSON Schema has what zod cannot write of the schemas of `functions/`. A check states its keywords as `params`. */
export const writing = {
  unrepresentable: 'any',
  override: ({ jsonSchema, zodSchema }: { readonly jsonSchema: object; readonly zodSchema: Schema }) => {
    const { def } = zodSchema._zod;
    const isInt64 = def.type === 'bigint' || def === pets.storedInt64._zod.def;
    const keywords = [
      isInt64 && integer64,
      def === storedInteger._zod.def && { type: 'integer' },
      ...(def.checks ?? []).map((check) => (check._zod.def as { readonly params?: Node }).params),
      rulesOfFields.get(zodSchema),
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
  return (sources[name] as { readonly shape?: Readonly<Record<string, Schema>> } | undefined)?.shape;
}

/** Adds the schema of an object with the words of it and of its fields. */
function describe(name: string, words: z.core.$ZodRegistry<z.core.JSONSchemaMeta>): void {
  const shape = shapeOf(name);
  if (shape === undefined) throw new Error(`No schema.ts of functions/ has the JSON "${name}".`);
  const { description, field: textOf } = bodyText(name);
  const fields = Object.entries(shape).map(([field, schema]) => {
    // What is optional in a request is optional in an answer.
    const inRequest = shapeOf(`New${name}`)?.[field] ?? schema;
    const isOptional = required(schema) !== schema || required(inRequest) !== inRequest;
    // Several fields can have the same schema: each gets a copy.
    const own = required(schema);
    const copy = isOptional ? z.optional(own) : z.core.clone(own, own._zod.def);
    words.add(copy, textOf(field, isOptional));
    rulesOfFields.set(copy, rules[`${name}.${field}`]);
    return [field, copy] as const;
  });
  words.add(z.object(Object.fromEntries(fields)), { id: name, description });
}

const addressOf = (name: string) => `#/components/schemas/${name}`;
export const referenceTo = (name: string): Node => ({ $ref: addressOf(name) });

/** These schemas as requests or as answers have them, and what they refer to. */
function written(io: 'input' | 'output', names: readonly string[]): Readonly<Record<string, Node>> {
  const words = z.registry<z.core.JSONSchemaMeta>();
  for (const name of names) describe(name, words);
  words.add(pets.petStatus, { id: 'PetStatus', description: bodyText('PetStatus').description });
  const { schemas } = z.toJSONSchema(words, { ...writing, io, metadata: words, uri: addressOf });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => {
      const { $schema: _draft, $id: _address, ...own } = schema;
      return [name, own];
    }),
  );
}

/** The components of docs/openapi.yaml. */
export function jsonSchemas(): Readonly<Record<string, Node>> {
  const requests = operations.flatMap(({ request }) => request ?? []);
  const answers = operations.flatMap(({ success }) => success.body?.replace('[]', '') ?? []);
  return { ...written('input', requests), ...written('output', ['Error', ...answers]) };
}

/** The content of a request or an answer: JSON with a name of functions/operations.ts, such as `Pet[]`, and its sample. */
export function jsonContent(name: string, sampleName: string): Node {
  const one = name.replace('[]', '');
  const isList = one !== name;
  const { sample } = bodyText(one);
  const schema = referenceTo(one);
  return {
    'application/json': {
      schema: isList ? { maxItems: pageSize.max, type: 'array', items: schema } : schema,
      examples: { [sampleName]: { value: isList ? [sample] : sample } },
    },
  };
}
