import type { Item, Tables, Version } from 'dynamodb-interleavings';
import type { Random } from 'dynamodb-interleavings/simulation';
import type { Sent } from './gateway.ts';
import type { History, Seen } from './seen.ts';

/** What the simulation knows of a resource: what clients send to it, and what it may answer. */
export interface Resource {
  /** The path of its collection. */
  readonly path: string;
  /** A body that is valid, by its name in tools/contributors/openapi/bodies.ts. @param number another one for each body */
  readonly bodies: Readonly<Record<string, (random: Random, number: number) => string>>;
  /** The filters of a listing. */
  readonly filters: (random: Random) => readonly (readonly [string, string])[];
  /** The statuses of an answer without a failure. */
  readonly expectedOf: (sent: Sent, history: History) => readonly number[];
  /** Whether an answer can be a 500 because of what is stored. */
  readonly isMalformed: (sent: Sent, history: History) => boolean;
  /** Whether a call of it is counted, because it will be removed. */
  readonly isDeprecated: (sent: Sent) => boolean;
  /** @param all requests to it. @throws Violation */
  readonly check: (all: readonly Seen[], history: History) => void;
}

/** What an item has been, with the key `id`. */
export function versionsOf(tables: Tables, table: string, id: string): readonly Version[] {
  const all = tables.versions(table);
  return all.find((versions) => versions.some(({ item }) => item?.['id']?.N === id)) ?? [];
}

/** What an item was at some time between two times. @param isBefore whether a version is surely as old as the first */
export function itemsWithin(
  versions: readonly Version[],
  isBefore: (version: Version) => boolean,
  to: number,
): (Item | undefined)[] {
  const first = versions.findLastIndex(isBefore);
  return [
    ...(first < 0 ? [undefined] : []),
    ...versions
      .slice(Math.max(0, first))
      .filter(({ since }) => since <= to)
      .map(({ item }) => item),
  ];
}
