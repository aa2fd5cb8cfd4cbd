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

/**
 * Of a counter that each request raises by one, those afterwards, too: every one that succeeds is counted once, every other at most
 * once.
 * @param attribute its number, summed up over the items of the table
 * @param from what it is before
 */
export function counter(table: string, attribute: string, from = 0): Check {
  return ({ outcomes, tables }) => {
    const values = tables.items(table).map((item) => Number(item[attribute] ?? 0));
    const counted = values.reduce((sum, value) => sum + value, 0) - from;
    const done = outcomes.filter(({ status }) => status === 'fulfilled').length;
    return counted >= done && counted <= outcomes.length
      ? undefined
      : `${done} of ${outcomes.length} requests succeed, but ${counted} are counted.`;
  };
}
