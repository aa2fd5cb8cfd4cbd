import type { Call, Tables } from 'dynamodb-interleavings';
import { cancelled, Refusal } from 'dynamodb-interleavings/simulation';

type Write = Pick<Call, 'operation' | 'input'>;

/** What DynamoDB refuses because of other writes: of an item that a transaction is writing, or that too many write. */
export class Writes {
  readonly #tables: Tables;
  /** Items that transactions are writing, and the tokens of these transactions. */
  readonly #inProgress = new Map<string, number>();
  /** The number of writes of each item in each second. */
  readonly #counts = new Map<string, number>();

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** A transaction takes its time until the function that is returned is called. No effect on other calls. */
  begin({ operation, input }: Write): () => void {
    if (operation !== 'TransactWriteItems') return () => {};
    const all = [...this.#tables.written(operation, input), ...tokenOf(input)];
    for (const each of all) add(this.#inProgress, each, 1);
    return () => {
      for (const each of all) add(this.#inProgress, each, -1);
    };
  }

  /** What a write is refused with that meets a transaction. */
  refusalOf({ operation, input }: Write): Refusal | undefined {
    const isInProgress = (each: string) => (this.#inProgress.get(each) ?? 0) > 0;
    if (tokenOf(input).some(isInProgress)) return new Refusal('TransactionInProgressException');
    const items = this.#tables.written(operation, input).map(isInProgress);
    if (!items.includes(true)) return undefined;
    return operation === 'TransactWriteItems'
      ? cancelled(items.map((meets) => ({ Code: meets ? 'TransactionConflict' : 'None' })))
      : new Refusal('TransactionConflictException');
  }

  /** Counts a write. Whether its item gets more than `perSecond`. @param now in milliseconds */
  isHot({ operation, input }: Write, perSecond: number, now: number): boolean {
    const second = Math.floor(now / 1000);
    const counts = this.#tables
      .written(operation, input)
      .map((item) => add(this.#counts, `${second} ${item}`, 1));
    return Math.max(0, ...counts) > perSecond;
  }
}

function tokenOf(input: object): string[] {
  const { ClientRequestToken: token } = input as { ClientRequestToken?: string };
  return token === undefined ? [] : [token];
}

function add(counts: Map<string, number>, key: string, change: number): number {
  const count = (counts.get(key) ?? 0) + change;
  counts.set(key, count);
  return count;
}
