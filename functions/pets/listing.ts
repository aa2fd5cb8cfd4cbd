import * as z from 'zod/mini';
import { decodeCursor } from './cursor.ts';
import { petStatus } from './schema.ts';

/** Page size (interface, section 8): whole animals a page. */
export const pageSize = { min: 1, max: 100, default: 20 } as const;

const once = 'must be given only once';

/** A query parameter arrives as the list of its values. */
function single<T>(schema: z.ZodMiniType<T, string>) {
  return z.optional(
    z.pipe(
      z.pipe(
        z.array(z.string()).check(z.refine((values) => values.length === 1, once)),
        z.transform((values) => values[0]!),
      ),
      schema,
    ),
  );
}

const limit = z.pipe(
  z
    .string()
    .check(
      z.refine(
        (text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= pageSize.max,
        `must be a whole number from ${pageSize.min} to ${pageSize.max}`,
      ),
    ),
  z.transform((text) => Number(text)),
);

const position = z.pipe(
  z.string(),
  z.transform((cursor, context) => {
    const decoded = decodeCursor(cursor);
    if (decoded !== undefined) return decoded;
    context.issues.push({ code: 'custom', message: 'is none that this service gave out', input: cursor });
    return z.NEVER;
  }),
);

/** The query of a listing (interface, section 4.1): what it asks for, and where it goes on. */
export const listing = z.pipe(
  z.object({ limit: single(limit), status: single(petStatus), cursor: single(position) }),
  z.transform(({ limit: size = pageSize.default, status, cursor }, context) => {
    if (cursor === undefined || cursor.status === status)
      return { limit: size, status, before: cursor?.before };
    context.issues.push({
      code: 'custom',
      message: 'belongs to another status filter; send the same status as for the page before',
      path: ['cursor'],
      input: cursor,
    });
    return z.NEVER;
  }),
);
