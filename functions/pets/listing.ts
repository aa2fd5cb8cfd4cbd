import * as z from 'zod/mini';
import { decodeCursor } from './cursor.ts';
import { petStatus } from './schema.ts';
import { byStatus, type Partition } from './store.ts';

/** Page size (docs/interface.md#8-limits). */
export const pageSize = { min: 1, max: 100, default: 20 } as const;

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
    context.issues.push({ code: 'custom', message: 'is not a valid cursor', input: cursor });
    return z.NEVER;
  }),
);

/** The query of a listing (docs/interface.md#41-list-animals). A filter is read as the partition of an index. */
export const listing = z.pipe(
  z.object({
    limit: z.optional(limit),
    status: z.optional(z.pipe(petStatus, z.transform(byStatus))),
    cursor: z.optional(position),
  }),
  z.transform(({ limit: size = pageSize.default, status: filter, cursor }, context) => {
    if (cursor === undefined || cursor.filter === textOf(filter))
      return { limit: size, filter, before: cursor?.before };
    context.issues.push({
      code: 'custom',
      message: 'belongs to a listing with another filter; send the filter of the previous page',
      path: ['cursor'],
      input: cursor,
    });
    return z.NEVER;
  }),
);

/** A filter as a cursor has it. */
export function textOf(filter: Partition | undefined): string | undefined {
  return filter && `${filter.key}=${filter.value}`;
}
