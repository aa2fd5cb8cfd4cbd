import * as z from 'zod/mini';
import type { ErrorCode } from '../http/errors.ts';
import type { OperationEntry } from '../operations.ts';

/** A request that a new version has to answer like this before it gets others. It stores nothing and shows no item. */
export type CheckRequest = {
  readonly pathParameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Sent with an `Idempotency-Key` that was used for another body. */
  readonly keyIsUsed?: boolean;
  readonly status: number;
} & ({ readonly code: ErrorCode } | { readonly code?: never; readonly shows: z.core.$ZodType | 'no body' });

export const requestsOfOperations: Readonly<Record<OperationEntry, readonly CheckRequest[]>> = {
  'list-pets': [
    { query: { limit: '1' }, status: 200, shows: z.array(z.object({ id: z.int(), name: z.string() })) },
  ],
  'create-pet': [
    { body: {}, status: 400, code: 'invalid_request' },
    {
      body: { name: 'pre-traffic-check', categoryId: 1 },
      keyIsUsed: true,
      status: 422,
      code: 'idempotency_key_reused',
    },
  ],
  'get-pet': [{ pathParameters: { petId: '0' }, status: 404, code: 'pet_not_found' }],
};
