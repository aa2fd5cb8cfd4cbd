import type { Fate } from './faults.ts';
import type { Call, Reply, Server } from './call.ts';
import { cancelled, Refusal, type Unsupported } from './tables/errors.ts';
import type { Reading, Tables } from './tables/tables.ts';
import type { World } from './world.ts';

interface BatchOutput {
  readonly Responses?: Readonly<Record<string, object[]>>;
}

/** Milliseconds after which reads that are not consistent see a write, as they usually do on AWS. */
const lag = 1_000;
const searches = new Set<string>(['Query', 'Scan']);
const reads = new Set<string>(['GetItem', 'BatchGetItem', ...searches]);
/** What is refused while a transaction writes the same item. */
const conflicting = new Set<string>(['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']);
const throttlings = ['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded'];

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

  canMeet(fate: Fate, call: Call): boolean {
    const { operation, input, parts } = call;
    // DynamoDB has got to some items of a batch, so nothing else refuses or loses it.
    if (parts.length > 0) return fate === 'answered' || fate === 'unprocessed';
    // A batch of which nothing is processed is throttled.
    if (fate === 'unprocessed') return false;
    if (fate === 'conflict') return conflicting.has(operation);
    if (fate !== 'stale' && fate !== 'shortPage') return true;
    const isOfFate = (fate === 'stale' ? reads : searches).has(operation);
    return isOfFate && this.#tables.differs(operation, input, this.#readingOf(call, fate));
  }

  advance({ operation, input, parts }: Call): boolean {
    if (parts.length + 1 >= this.#tables.sizeOf(input)) return false;
    try {
      parts.push(this.#tables.call(operation, input, { done: parts.length, fit: 1 }));
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }

  apply(call: Call, reading?: Reading): Reply {
    const { operation, input, parts } = call;
    const read = reading ?? (call.fate ? this.#readingOf(call, call.fate) : {});
    return this.#reply(() => {
      const output = this.#tables.call(operation, input, { ...read, done: parts.length });
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
    const { operation, input, variant } = call;
    const isTransaction = operation === 'TransactWriteItems';
    if (fate === 'failed') return new Refusal('InternalServerError');
    if (fate === 'denied') return new Refusal('AccessDeniedException');
    if (fate === 'conflict')
      return isTransaction
        ? this.#cancelled(input, 'TransactionConflict')
        : new Refusal('TransactionConflictException');
    const type = throttlings[Math.floor(variant * throttlings.length * (isTransaction ? 2 : 1))];
    return type === undefined ? this.#cancelled(input, 'ThrottlingError') : new Refusal(type);
  }

  #readingOf({ parts }: Call, fate: Fate): Reading {
    if (fate === 'stale') return { asOf: this.#world.now - lag };
    if (fate !== 'shortPage' && fate !== 'unprocessed') return {};
    return { fit: fate === 'shortPage' || parts.length === 0 ? 1 : 0 };
  }

  #cancelled(input: object, code: string): Refusal {
    const items = this.#tables.written('TransactWriteItems', input);
    return cancelled(items.map((_, index) => ({ Code: index === items.length - 1 ? code : 'None' })));
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
