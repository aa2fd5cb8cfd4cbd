import * as z from 'zod/mini';

/** A number of a stored item, read with its exact digits (functions/dynamodb/connection.ts). */
export const storedCount = z.pipe(
  z.object({ value: z.string().check(z.regex(/^\d{1,15}$/)) }),
  z.transform(({ value }) => Number(value)),
);
