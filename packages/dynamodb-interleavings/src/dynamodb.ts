import type { Fate } from './faults.ts';
import { type Call, type Reply, type Server, wayOf } from './call.ts';
import { cancelled, Refusal, type Unsupported } from './tables/errors.ts';
import type { Reading } from './tables/table.ts';
import type { Tables } from './tables/tables.ts';
import type { World } from './world.ts';

interface BatchOutput {
  readonly Responses?: Readonly<Record<string, object[]>>;
}

/** Milliseconds after which reads that are not consistent see a write, as they usually do on AWS. */
const lag = 1_000;
const searches = new Set<string>(['Query', 'Scan']);
const reads = new Set<string>(['GetItem', 'BatchGetItem', ...searches]);
const transactions = new Set<string>(['TransactWriteItems', 'TransactGetItems']);
const writes = new Set<string>(['PutItem', 'UpdateItem', 'DeleteItem']);

/** DynamoDB as the network sees it: tables that answer. */
export class DynamoDb implements Server {
  readonly #tables: Tables;
  readonly #world: World;
  /** Is told what the tables do not know. */
  readonly #unsupported: (error: Unsupported) => void;

  constructor(tables: Tables, world: World, unsupported: (error: Unsupported) => void) {
    this.#tables = tables;
    this.#world = world;
    this.#unsupported = unsupported;
  }

  isRead({ operation }: Call): boolean {
    return operation === 'TransactGetItems' || reads.has(operation);
  }

  writes({ operation, input, parts }: Call): boolean {
    return parts.length > 0 || this.#tables.writes(operation, input);
  }

  ways(fate: Fate, call: Call): number {
    if (fate === 'answered') return 1;
    if (fate === 'unprocessed') return this.#waysToLeave(call);
    // DynamoDB has got to some items of a batch, so nothing else refuses or loses it.
    if (call.parts.length > 0) return 0;
    if (fate === 'stale' || fate === 'shortPage') return this.#readings(fate, call).length;
    if (fate === 'throttled' || fate === 'conflict') return this.#refusals(fate, call).length;
    return 1;
  }

  /** The item and all that follow, or only the item. A batch of which nothing is processed is throttled instead. */
  #waysToLeave({ input, parts, left }: Call): number {
    const size = this.#tables.sizeOf(input);
    const [isFirst, isLast] = [parts.length === left.size, parts.length + 1 === size];
    if (size === 0) return 0;
    return isLast ? Number(!isFirst) : isFirst ? 1 : 2;
  }

  /** Whether only one item is left out. */
  leavesOne(call: Call): boolean {
    const { input, parts, left } = call;
    const isLast = parts.length + 1 === this.#tables.sizeOf(input);
    return !isLast && (parts.length === left.size || wayOf(call, 2) === 1);
  }

  hasMore({ input, operation, parts }: Call): boolean {
    return parts.length + 1 < this.#tables.sizeOf(input) && !this.#tables.refuses(operation, input);
  }

  advance({ operation, input, parts, left }: Call, isLeft: boolean): void {
    const { length: done } = parts;
    if (isLeft) left.add(done);
    parts.push(isLeft ? {} : this.#tables.call(operation, input, { done, fit: 1 }));
  }

  apply(call: Call, reading?: Reading): Reply {
    const { operation, input, parts, left, fate } = call;
    const read = reading ?? (fate ? this.#readingOf(call, fate) : {});
    return this.#reply(() => {
      const output = this.#tables.call(operation, input, { ...read, done: parts.length, left });
      for (const { Responses: items } of parts.toReversed() as BatchOutput[])
        for (const [table, all] of Object.entries(items ?? {}))
          (output as BatchOutput).Responses![table]!.unshift(...all);
      call.applied = true;
      return output;
    });
  }

  refuse(call: Call, fate: 'failed' | 'throttled' | 'denied' | 'conflict', given?: Refusal): Reply {
    return this.#reply(() => {
      throw given ?? this.#refusalOf(call, fate);
    });
  }

  #refusalOf(call: Call, fate: 'failed' | 'throttled' | 'denied' | 'conflict'): Refusal {
    if (fate === 'failed') return new Refusal('InternalServerError');
    if (fate === 'denied') return new Refusal('AccessDeniedException');
    const all = this.#refusals(fate, call);
    return all[wayOf(call, all.length)]!;
  }

  /** Every way to refuse a call for a reason that has several. */
  #refusals(fate: 'throttled' | 'conflict', { operation, input }: Call): Refusal[] {
    const places = transactions.has(operation) ? this.#tables.placesIn(input) : [];
    const cancellations = (codesOf: (table: string) => readonly string[]) =>
      places.flatMap((table, index) =>
        codesOf(table).map((code) =>
          cancelled(places.map((_, at) => ({ Code: at === index ? code : 'None' }))),
        ),
      );
    if (fate === 'conflict') {
      const single = writes.has(operation) ? [new Refusal('TransactionConflictException')] : [];
      return [...single, ...cancellations(() => ['TransactionConflict'])];
    }
    const isIn = (mode: string) =>
      tablesOf(input).some((table) => (this.#tables.billing(table) ?? mode) === mode);
    return [
      ...(isIn('PAY_PER_REQUEST') ? [new Refusal('ThrottlingException')] : []),
      ...(isIn('PROVISIONED') ? [new Refusal('ProvisionedThroughputExceededException')] : []),
      ...cancellations((table) => {
        const mode = this.#tables.billing(table);
        return [
          ...(mode === 'PROVISIONED' ? [] : ['ThrottlingError']),
          ...(mode === 'PAY_PER_REQUEST' ? [] : ['ProvisionedThroughputExceeded']),
        ];
      }),
      new Refusal('RequestLimitExceeded'),
    ];
  }

  #readingOf(call: Call, fate: Fate): Reading {
    if (fate === 'unprocessed') return { fit: 0 };
    if (fate !== 'stale' && fate !== 'shortPage') return {};
    const all = this.#readings(fate, call);
    return all[wayOf(call, all.length)] ?? {};
  }

  /** Every way to read of which the answer is another one than the latest, or than that of another way. */
  #readings(fate: 'stale' | 'shortPage', { operation, input }: Call): Reading[] {
    if (!(fate === 'stale' ? reads : searches).has(operation)) return [];
    const outputOf = (reading: Reading) => JSON.stringify(this.#tables.call(operation, input, reading));
    try {
      const seen = new Set([outputOf({})]);
      const all: Reading[] =
        fate === 'stale'
          ? missing(this.#tables.recentWrites(operation, input, this.#world.now - lag))
          : this.#tables.pageSizes(operation as 'Query' | 'Scan', input).map((fit) => ({ fit }));
      return all.filter((each) => seen.size < seen.add(outputOf(each)).size);
    } catch (error) {
      if (error instanceof Refusal) return [];
      throw error;
    }
  }

  #reply(answer: () => object): Reply {
    try {
      return this.#replyOf(200, answer());
    } catch (error) {
      if (!(error instanceof Refusal)) {
        this.#unsupported(error as Unsupported);
        throw error;
      }
      const { type, message, members } = error;
      return this.#replyOf(type === 'InternalServerError' ? 500 : 400, {
        __type: `com.amazonaws.dynamodb.v20120810#${type}`,
        message,
        ...members,
      });
    }
  }

  #replyOf(statusCode: number, body: object): Reply {
    const date = new Date(Math.floor(this.#world.now / 1000) * 1000).toUTCString();
    return {
      statusCode,
      headers: { date, 'content-type': 'application/x-amz-json-1.0' },
      text: JSON.stringify(body),
    };
  }
}

/**
 * The readings that miss the last writes of some items, each in every way.
 * @param recent writes of each item, the latest one first
 */
function missing(recent: readonly (readonly number[])[]): Reading[] {
  return recent
    .reduce<number[][]>(
      (all, ofItem) =>
        [0, ...ofItem].flatMap((_, count) => all.map((missed) => [...missed, ...ofItem.slice(0, count)])),
      [[]],
    )
    .map((missed) => ({ misses: new Set(missed) }));
}

/** The names of the tables anywhere in an input. */
export function tablesOf(input: object): string[] {
  const {
    TableName: name,
    RequestItems: batch,
    TransactItems: items = [],
  } = input as {
    TableName?: string;
    RequestItems?: object;
    TransactItems?: object[];
  };
  const inner = items.flatMap((each) => Object.values(each).flatMap((request: object) => tablesOf(request)));
  return [...new Set([...(name === undefined ? [] : [name]), ...Object.keys(batch ?? {}), ...inner])];
}
