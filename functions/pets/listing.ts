import * as z from 'zod/mini';
import { decodeCursor } from './cursor.ts';
import { petStatus } from './schema.ts';
import { byStatus, type Partition } from './store.ts';

/** Page size (docs/interface.md#list-animals). */
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

/** The schema of the text in a query. The filter is read as the partition of an index whose key has the filter's name. */
type Filter = z.ZodMiniType<Partition, string>;

/**
 * The query of a listing (docs/interface.md#list-animals). A page is read from one index, so a query has one filter at most.
 *
 * @param filters by their names
 */
export function listingWith<Name extends string>(filters: Readonly<Record<Name, Filter>>) {
  const names = Object.keys(filters) as Name[];
  const optional = Object.fromEntries(names.map((name) => [name, z.optional(filters[name])]));
  return z.pipe(
    z.object({
      limit: z.optional(limit),
      ...(optional as Record<Name, z.ZodMiniOptional<Filter>>),
      cursor: z.optional(position),
    }),
    z.transform((query, context) => {
      const { limit: size = pageSize.default, cursor } = query as {
        readonly limit?: number;
        readonly cursor?: z.output<typeof position>;
      };
      const given = query as Readonly<Partial<Record<Name, Partition>>>;
      const [name, other] = names.filter((each) => given[each] !== undefined);
      const filter = name && given[name];
      const refuse = (field: string, message: string) => {
        context.issues.push({ code: 'custom', message, path: [field], input: query });
        return z.NEVER;
      };
      if (other !== undefined) return refuse(other, `cannot be sent together with ${name}`);
      if (cursor !== undefined && cursor.filter !== textOf(filter))
        return refuse(
          'cursor',
          'belongs to a listing with another filter; send the filter of the previous page',
        );
      return { limit: size, filter, before: cursor?.before };
    }),
  );
}

export const listing = listingWith({ status: z.pipe(petStatus, z.transform(byStatus)) });

/** A filter as a cursor has it. */
export function textOf(filter: Partition | undefined): string | undefined {
  return filter && `${filter.key}=${filter.value}`;
}
