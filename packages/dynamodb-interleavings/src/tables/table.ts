import { Schema } from './schema.ts';
import type { Item, Value } from './values.ts';

/** What an item was from a time on. Undefined: it did not exist. */
export interface Version {
  readonly since: number;
  /** Of the write, among all writes of all tables. */
  readonly number: number;
  readonly item: Item | undefined;
}

export interface Reading {
  /** A read that is not consistent sees the items of this time, or each item of its own. Default: the latest. */
  readonly asOf?: number | ((key: Item) => number);
  /** It does not see these writes. */
  readonly misses?: ReadonlySet<number>;
  /** Items that fit in the answer of a query or scan, or that a batch gets to. */
  readonly fit?: number;
  /** Items of a batch that it has got to before. */
  readonly done?: number;
  /** Those of them that it has left out. */
  readonly left?: ReadonlySet<number>;
}

/** The items of a table, and what they were. */
export class Table extends Schema {
  readonly histories = new Map<string, Version[]>();

  latest(id: string): Item | undefined {
    return this.histories.get(id)?.at(-1)?.item;
  }

  /** Names a partition. */
  partition(key: Value | undefined): string {
    return `${this.name} ${JSON.stringify(key)}`;
  }
}

/** The item as a read sees it that is not consistent. */
export function itemAt(
  versions: readonly Version[],
  key: Item,
  { asOf = Infinity, misses }: Reading,
): Item | undefined {
  const time = typeof asOf === 'number' ? asOf : asOf(key);
  return versions.findLast(({ since, number }) => since <= time && misses?.has(number) !== true)?.item;
}
