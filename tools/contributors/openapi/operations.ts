import type * as z from 'zod/mini';
import { type ErrorCode, maxBodyInWords } from '../../../functions/http/errors.ts';
import { idempotencyKeys } from '../../../functions/http/input.ts';
import type { Operation, OperationEntry } from '../../../functions/operations.ts';
import { idempotencyRetention } from '../../../functions/pets/idempotent-creation.ts';
import { type listing, pageSize } from '../../../functions/pets/listing.ts';
import type { BodyName, JsonObject } from './bodies.ts';
import type { Occurrences } from './headers.ts';

// What docs/openapi.yaml and docs/interface.md say of the operations, beside what functions/operations.ts says.

interface Parameter {
  readonly in: 'query' | 'path' | 'header';
  readonly description: string;
  /** As JSON Schema, or the name of one. */
  readonly schema: JsonObject | BodyName;
}

export interface Description {
  readonly summary: string;
  /** A link in parentheses, ` ([text](page))`, is in docs/interface.md only. */
  readonly description: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  /** The JSON that it takes. */
  readonly request?: BodyName;
  readonly success: {
    readonly status: 200 | 201 | 204;
    readonly description: string;
    /** The JSON that it answers. None: an answer without a body. */
    readonly body?: BodyName | `${BodyName}[]`;
    /** Besides those that headers.ts gives to each answer. */
    readonly headers?: Occurrences;
  };
  /** Besides those of every operation, and those that follow from `request` and from `idempotent`. */
  readonly errors?: readonly ErrorCode[];
}

const int64 = { type: 'integer', format: 'int64' };

const listPets = {
  limit: {
    in: 'query',
    description: 'Maximum number of animals in the response.',
    schema: {
      type: 'integer',
      format: 'int32',
      minimum: pageSize.min,
      maximum: pageSize.max,
      default: pageSize.default,
    },
  },
  status: { in: 'query', description: 'Only animals with this status.', schema: 'PetStatus' },
  cursor: {
    in: 'query',
    description:
      'Where the previous page ended. It comes with the URL in `Link`, and is valid for the same filter only.',
    schema: { type: 'string', minLength: 1 },
  },
} as const satisfies Record<keyof z.input<typeof listing>, Parameter>;

export const descriptions: Readonly<Record<OperationEntry, Description>> = {
  'list-pets': {
    summary: 'List animals',
    description:
      'Newest first. If more animals follow, the header `Link` has the URL of the next page. An invalid value of a parameter gets 400.',
    parameters: listPets,
    success: {
      status: 200,
      description: 'A JSON array of Pet, one page of the list.',
      body: 'Pet[]',
      headers: { 'Next-Link': 'sometimes' },
    },
  },
  'create-pet': {
    summary: 'Add an animal',
    description:
      'Send an `Idempotency-Key` with every creation. Once an animal has been added with it, a request with the same key and body gets the ' +
      'same response and creates nothing, and one with another body gets 422. Until then, such as after a 400, the body can change. ' +
      `A body above ${maxBodyInWords} gets 413. A content type that is not JSON gets 415, ` +
      'and so does a `Content-Encoding` other than `gzip` and `deflate`, such as `br`.',
    parameters: {
      'Idempotency-Key': {
        in: 'header',
        description:
          `Unique to this creation, such as a UUID. ${idempotencyKeys.inWords}. Kept for ` +
          `${idempotencyRetention / 3_600} hours for each API key.`,
        schema: {
          type: 'string',
          minLength: 1,
          maxLength: idempotencyKeys.maxLength,
          pattern: idempotencyKeys.pattern.source,
        },
      },
    },
    request: 'NewPet',
    success: {
      status: 201,
      description: 'The new Pet with its `id`.',
      body: 'Pet',
      headers: { Location: 'always' },
    },
  },
  'get-pet': {
    summary: 'Get an animal',
    description:
      'A `petId` that is not an int64 gets 404. Use `GET /pets` with `status` instead ([how](api.md#move-off-get-petspetid)).',
    parameters: { petId: { in: 'path', description: 'The ID of the animal.', schema: int64 } },
    success: { status: 200, description: 'The Pet.', body: 'Pet' },
    errors: ['pet_not_found'],
  },
};

/** What is said of each body that a client sends. */
export const requestBody = `At most ${maxBodyInWords}.`;

/** The end of an operation in words. */
export function removalInWords({ deprecated }: Operation): string {
  if (deprecated === undefined) return '';
  const day = new Date(deprecated.removal).toLocaleDateString('en-GB', {
    dateStyle: 'long',
    timeZone: 'UTC',
  });
  return `This operation is deprecated and will be removed on ${day}. `;
}
