import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { encodeCursor } from '../../../functions/pets/cursor.ts';
import { listing, listingWith } from '../../../functions/pets/listing.ts';
import { petStatus, petStatuses } from '../../../functions/pets/schema.ts';
import { byStatus } from '../../../functions/pets/store.ts';
import * as arbitrary from '../../support/arbitraries.ts';

type Query = Readonly<Record<string, string>>;

const read = (query: Query) => z.parse(listing, query);

/** Each fault as `field: message`. */
function faultsOf(query: Query): string[] {
  const { error } = z.safeParse(listing, query);
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}

const limitFault = 'limit: must be a whole number from 1 to 100';
const statusFault = 'status: must be one of available, pending, sold';
const filterFault = 'cursor: belongs to a listing with another filter; send the filter of the previous page';

describe('the query of a listing', () => {
  test('defaults to the 20 newest pets of every status', () => {
    expect(read({})).toEqual({ limit: 20, filter: undefined, before: undefined });
  });

  test('accepts a limit from 1 to 100', () => {
    for (let limit = 1; limit <= 100; limit += 1) expect(read({ limit: String(limit) }).limit).toBe(limit);
  });

  test.each(['', '0', '101', '-1', '+5', '05', ' 5', '5 ', '5.0', '5e0', '0x5', '1000', '٥', 'NaN'])(
    'rejects the limit %j',
    (limit) => {
      expect(faultsOf({ limit })).toEqual([limitFault]);
    },
  );

  test.each(petStatuses)('accepts the status %s', (status) => {
    expect(read({ status }).filter).toEqual({ index: 'byStatus', key: 'status', value: status });
  });

  test.each(['', 'Available', 'sold ', 'adopted', 'available,sold', 'toString', '__proto__'])(
    'rejects the status %j',
    (status) => {
      expect(faultsOf({ status })).toEqual([statusFault]);
    },
  );

  test('continues at its cursor', () => {
    fc.assert(
      fc.property(arbitrary.statusFilter, arbitrary.int64, (status, before) => {
        const cursor = encodeCursor({ filter: status && `status=${status}`, before });
        const query = { cursor, ...(status !== undefined && { status }) };
        expect(read(query)).toEqual({ limit: 20, filter: status && byStatus(status), before });
      }),
    );
  });

  test('rejects a cursor of another filter', () => {
    fc.assert(
      fc.property(
        arbitrary.statusFilter,
        fc.constantFrom(undefined, ...petStatuses.map((each) => `status=${each}`), 'categoryId=7'),
        arbitrary.int64,
        (status, filter, before) => {
          fc.pre(filter !== (status && `status=${status}`));
          const cursor = encodeCursor({ filter, before });
          const query = { cursor, ...(status !== undefined && { status }) };
          expect(faultsOf(query)).toEqual([filterFault]);
        },
      ),
    );
  });

  test('has one filter at most, of all that there are', () => {
    const number = z.pipe(
      z.string(),
      z.transform((value: string) => ({ index: 'byCategory', key: 'categoryId', value: BigInt(value) })),
    );
    const two = listingWith({ status: z.pipe(petStatus, z.transform(byStatus)), categoryId: number });
    expect(z.parse(two, { categoryId: '7' })).toMatchObject({ filter: { key: 'categoryId', value: 7n } });
    expect(z.parse(two, { status: 'sold' })).toMatchObject({ filter: byStatus('sold') });
    const { error } = z.safeParse(two, { status: 'sold', categoryId: '7' });
    expect(error?.issues).toMatchObject([
      { path: ['categoryId'], message: 'cannot be sent together with status' },
    ]);
    const cursor = encodeCursor({ filter: 'categoryId=7', before: 1n });
    expect(z.parse(two, { categoryId: '7', cursor })).toMatchObject({ before: 1n });
    expect(z.safeParse(two, { status: 'sold', cursor }).success).toBe(false);
  });
});
