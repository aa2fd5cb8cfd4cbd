import { defaultPetStatus, maxNameLength, petStatuses } from '../../functions/pets/schema.ts';
import { type ErrorCode, errorCatalogue } from '../../functions/http/errors.ts';

const int64 = { type: 'integer', format: 'int64' } as const;

export const petId = { ...int64, examples: [115_448_523_194_368] };

/**
 * The rule of `newPet` as one expression: a visible character, no lone surrogate, no U+FFFD. ECMA-262 with the `u`
 * flag, as JSON Schema 2020-12 recommends (section 6.4 of its core specification).
 */
export const namePattern = String.raw`^[^\p{Cs}\uFFFD]*[^\p{Z}\p{Cc}\p{Cf}\p{Cs}\uFFFD][^\p{Cs}\uFFFD]*$`;

const categoryId = {
  ...int64,
  description: 'The category the animal belongs to. The full range of int64, returned digit for digit.',
  examples: [7],
};

export const schemas = {
  PetStatus: {
    type: 'string',
    enum: petStatuses,
    description: 'Availability of the animal.',
    examples: ['available'],
  },
  NewPet: {
    type: 'object',
    description: 'An animal as sent on creation. Unknown fields are ignored, `id` included.',
    required: ['name', 'categoryId'],
    properties: {
      name: {
        type: 'string',
        minLength: 1,
        maxLength: maxNameLength,
        pattern: namePattern,
        description:
          `The animal's name: 1 to ${maxNameLength} Unicode code points, at least one of them visible ` +
          '(not a separator, control or format character). Lone surrogates and U+FFFD are rejected.',
        examples: ['Rex'],
      },
      categoryId,
      // No `default`: code generators would make the field required.
      status: {
        allOf: [{ $ref: '#/components/schemas/PetStatus' }],
        description: `Availability of the animal. \`${defaultPetStatus}\` when omitted.`,
      },
    },
  },
  Pet: {
    type: 'object',
    description: 'An animal as returned.',
    required: ['id', 'name', 'categoryId'],
    properties: {
      id: { ...petId, description: 'Assigned by the service: at most 2^53 − 1, in order of creation.' },
      name: { type: 'string', description: "The animal's name.", examples: ['Rex'] },
      categoryId,
      status: { $ref: '#/components/schemas/PetStatus' },
    },
  },
  Error: {
    type: 'object',
    description: 'The body of every answer that is not a success.',
    required: ['code', 'message', 'status'],
    properties: {
      code: {
        type: 'string',
        description: 'Machine-readable error code. The list can grow: treat an unknown code by its status.',
        'x-extensible-enum': Object.keys(errorCatalogue),
        examples: ['invalid_request'] satisfies ErrorCode[],
      },
      message: {
        type: 'string',
        description: 'Human-readable. Names every invalid field.',
        examples: ['name: is required'],
      },
      status: {
        type: 'integer',
        format: 'int32',
        minimum: 400,
        maximum: 599,
        description: 'The HTTP status code.',
        examples: [400],
      },
    },
  },
};
