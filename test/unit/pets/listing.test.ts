import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { encodeCursor } from '../../../functions/pets/cursor.ts';
import { listing } from '../../../functions/pets/listing.ts';
import { petStatuses } from '../../../functions/pets/schema.ts';
import * as arbitrary from '../../support/arbitraries.ts';

type Query = Readonly<Record<string, readonly string[]>>;

const read = (query: Query) => z.parse(listing, query);

/** Each fault as `field: message`. */
function faultsOf(query: Query): string[] {
  const { error } = z.safeParse(listing, query);
  return error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
}

const limitFault = 'limit: must be a whole number from 1 to 100';
const statusFault = 'status: must be one of available, pending, sold';
const cursorFault = 'cursor: is not a valid cursor';
const filterFault = 'cursor: belongs to a listing with another status; send the status of the previous page';

describe('the query of a listing', () => {
  test('asks for 20 animals of every status from the newest on, unless it says more', () => {
    expect(read({})).toEqual({ limit: 20, status: undefined, before: undefined });
  });

  test('may ask for 1 to 100 animals', () => {
    for (let limit = 1; limit <= 100; limit += 1) expect(read({ limit: [String(limit)] }).limit).toBe(limit);
  });

  test('may ask for no other number of animals, however it is written', () => {
    fc.assert(
      fc.property(arbitrary.numberLike, (text) => {
        const value = Number(text);
        fc.pre(!(Number.isInteger(value) && value >= 1 && value <= 100 && String(value) === text));
        expect(faultsOf({ limit: [text] })).toEqual([limitFault]);
      }),
      { numRuns: 1000 },
    );
  });

  test.each(['', '0', '101', '-1', '+5', '05', ' 5', '5 ', '5.0', '5e0', '0x5', '1000', '٥', 'NaN'])(
    'may not ask for %j animals',
    (limit) => {
      expect(faultsOf({ limit: [limit] })).toEqual([limitFault]);
    },
  );

  test.each(petStatuses)('may ask for %s animals', (status) => {
    expect(read({ status: [status] }).status).toBe(status);
  });

  test.each(['', 'Available', 'sold ', 'adopted', 'available,sold', 'toString', '__proto__'])(
    'may not ask for animals of the status %j',
    (status) => {
      expect(faultsOf({ status: [status] })).toEqual([statusFault]);
    },
  );

  test('goes on where its cursor says', () => {
    fc.assert(
      fc.property(arbitrary.statusFilter, arbitrary.int64, (status, before) => {
        const cursor = encodeCursor({ status, before });
        const query = { cursor: [cursor], ...(status !== undefined && { status: [status] }) };
        expect(read(query)).toEqual({ limit: 20, status, before });
      }),
    );
  });

  test('may not go on with the cursor of another filter', () => {
    fc.assert(
      fc.property(
        arbitrary.statusFilter,
        arbitrary.statusFilter,
        arbitrary.int64,
        (status, other, before) => {
          fc.pre(status !== other);
          const cursor = encodeCursor({ status: other, before });
          const query = { cursor: [cursor], ...(status !== undefined && { status: [status] }) };
          expect(faultsOf(query)).toEqual([filterFault]);
        },
      ),
    );
  });

  test('may not go on with what is no cursor', () => {
    fc.assert(
      fc.property(arbitrary.text(), (cursor) => {
        expect(faultsOf({ cursor: [cursor] })).toEqual([cursorFault]);
      }),
    );
  });

  test('may give each parameter once only, the same value or not', () => {
    const cursor = encodeCursor({ status: undefined, before: 1n });
    expect(faultsOf({ limit: ['5', '5'], status: ['sold', 'pending'], cursor: [cursor, cursor] })).toEqual([
      'limit: must be given only once',
      'status: must be given only once',
      'cursor: must be given only once',
    ]);
  });

  test('has every one of its faults named', () => {
    expect(faultsOf({ limit: ['0'], status: ['adopted'], cursor: ['x'] })).toEqual([
      limitFault,
      statusFault,
      cursorFault,
    ]);
    expect(faultsOf({ limit: ['0'], cursor: ['x'] })).toEqual([limitFault, cursorFault]);
  });

  test('may bear parameters that nobody knows', () => {
    expect(read({ page: ['2'], Limit: ['0'], utm_source: [] })).toEqual({
      limit: 20,
      status: undefined,
      before: undefined,
    });
  });
});
