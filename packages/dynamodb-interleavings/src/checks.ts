import { inspect, isDeepStrictEqual } from 'node:util';
import Big from 'big.js';
import type { History } from './options.ts';

type Check = (history: Pick<History, 'outcomes' | 'tables' | 'together'>) => string | undefined;

/** Of a lock: never are two requests inside, in what each runs with `environment.inside`. */
export function lock(): Check {
  return ({ together }) =>
    together.length === 0 ? undefined : `${together.join(' and ')} hold the lock at the same time.`;
}

/** Of what is done once only, by whichever request: it is an item of a table. */
export function once(table: string): Check {
  return ({ outcomes, tables }) => {
    const { length } = tables.items(table);
    if (length > 1) return `It is done ${length} times: ${table} has ${length} items.`;
    const isDone = outcomes.some(({ status }) => status === 'fulfilled');
    return isDone && length === 0
      ? `It is not done, although a request succeeds: ${table} has no item.`
      : undefined;
  };
}

/** Of an attribute of which no two items of a table have the same value, such as an e-mail address. */
export function unique(table: string, attribute: string): Check {
  return ({ tables }) => {
    const values = tables.items(table).flatMap((item) => (attribute in item ? [item[attribute]] : []));
    const twice = values.find((value, index) =>
      values.slice(0, index).some((each) => isDeepStrictEqual(each, value)),
    );
    return twice === undefined
      ? undefined
      : `Two items of ${table} have the ${attribute} ${typeof twice === 'string' ? twice : inspect(twice)}.`;
  };
}

/** Exact, as numbers are in DynamoDB. */
function sumOf(tables: History['tables'], table: string, attribute: string): Big {
  return tables.versions(table).reduce((before, versions) => {
    const value = versions.at(-1)!.item?.[attribute] ?? { N: '0' };
    return before.plus(value.NULL ? 0 : (value.N ?? value.S ?? NaN));
  }, new Big(0));
}

/** Of numbers that are moved between items, such as balances: their sum stays what it was. */
export function sum(table: string, attribute: string, total: number | bigint): Check {
  return ({ tables }) => {
    const found = sumOf(tables, table, attribute);
    return found.eq(total)
      ? undefined
      : `The ${attribute} of ${table} sums up to ${found.toFixed()} instead of ${total}.`;
  };
}

/**
 * Of a counter that each request raises by one, those afterwards, too: every one that succeeds is counted once, every other at most
 * once.
 * @param attribute its number, summed up over the items of the table
 * @param from what it is before
 */
export function counter(table: string, attribute: string, from: number | bigint = 0): Check {
  return ({ outcomes, tables }) => {
    const counted = sumOf(tables, table, attribute).minus(from);
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
    return counted.gte(done) && counted.lte(outcomes.length)
      ? undefined
      : `${done} of ${outcomes.length} requests succeed, but ${counted.toFixed()} are counted.`;
  };
}
