import { z } from 'zod';
import { type errorBody, errorCatalogue } from '../../../functions/http/errors.ts';
import { newPet, type Pet, petStatus, petStatuses, storedPet } from '../../../functions/pets/schema.ts';

// The JSON of requests and answers: the schemas of functions/, with words and samples. No function loads this.

export type Schema = z.core.$ZodType;
/** A part of the document. */
export type JsonObject = Readonly<Record<string, unknown>>;

export interface Field {
  /** A link in parentheses, ` ([text](page))`, is in docs/interface.md only. */
  readonly description: string;
  readonly sample: unknown;
  /** What the schema does not say, as keywords of JSON Schema. */
  readonly keywords?: JsonObject;
}

export interface Body {
  readonly description: string;
  /** That of a stored item is what answers have. */
  readonly schema: Schema;
  /** The fields of an object. */
  readonly fields?: Readonly<Record<string, Field>>;
}

/** What is said of a field with a `readableText` besides its description. */
export const readableTextInWords = (minimum: number, maximum: number): string =>
  `${minimum} to ${maximum} Unicode code points, at least one of them visible (not a separator or format character). Control ` +
  'characters (U+0000 to U+001F, U+007F to U+009F), such as a line feed, lone surrogates and U+FFFD to U+FFFF are rejected.';

/** The fields of Pet, and of NewPet, which has all but `id`. */
const petFields = {
  id: {
    description:
      'Assigned by the service. A later animal has a higher ID. Only animals that are created within three seconds, and those that the operator imports, ' +
      'can be in another order. At most 2^53 − 1, so a JavaScript `number` is exact.',
    sample: 115_448_523_194_368,
  },
  name: { description: 'Name of the animal.', sample: 'Rex' },
  categoryId: {
    description:
      'Category that the animal is in. Any int64, returned digit for digit. JavaScript rounds a large one without an error, ' +
      'also in a generated client ([how to keep it exact](write-a-client.md#keep-int64-exact)).',
    sample: 7,
  },
  status: { description: 'Availability of the animal.', sample: 'available' },
} satisfies Record<keyof Pet, Field>;

const errorFields = {
  code: {
    description: 'Machine-readable error code. The list can grow. Treat an unknown code by its status.',
    sample: 'invalid_request',
    keywords: { 'x-extensible-enum': Object.keys(errorCatalogue) },
  },
  message: {
    description: 'Description for people. It names every invalid field.',
    sample: 'name: is required',
  },
  status: { description: 'The HTTP status code.', sample: 400, keywords: { format: 'int32' } },
} satisfies Record<keyof ReturnType<typeof errorBody>, Field>;

const error = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int32().min(400).max(599),
} satisfies Record<keyof typeof errorFields, Schema>);

const inWords = new Intl.ListFormat('en-GB').format(petStatuses.map((status) => `\`${status}\``));

/** In the order of docs/interface.md. */
export const bodies = {
  Pet: {
    description:
      'An animal, as the service returns it. `status` is not required, but the service returns it with every animal.',
    schema: storedPet,
    fields: petFields,
  },
  NewPet: {
    description: 'The body of a creation: a Pet without `id`. Unknown fields are ignored, `id` included.',
    schema: newPet,
    fields: petFields,
  },
  PetStatus: {
    description:
      `Availability of an animal: one of the strings ${inWords}. \`available\` means listed as available. The interface does ` +
      'not define what the two others mean: agree on it with the operator. No operation changes a status. The operator can change ' +
      'any status to any other.',
    schema: petStatus,
  },
  Error: {
    description: 'The body of every response of the service that is not a success. All fields are required.',
    schema: error,
    fields: errorFields,
  },
} as const satisfies Readonly<Record<string, Body>>;

export type BodyName = keyof typeof bodies;

export const bodyOf = (name: BodyName): Body => bodies[name];
