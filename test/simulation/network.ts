import { cancelled, type Item, MemoryTables, type Operation, Refusal } from '../support/memory-tables.ts';
import type { RequestHandler } from './environments.ts';
import type { Timer, World } from './world.ts';

/**
 * What happens to a call of DynamoDB. `lost`: the connection breaks. `hung`: no answer comes. `unreadable`: something else than
 * DynamoDB answers. Each can happen before or after DynamoDB has applied the call.
 */
export const faults = [
  'lostBefore',
  'lostAfter',
  'hungBefore',
  'hungAfter',
  'unreadableBefore',
  'unreadableAfter',
  'failed',
  'throttled',
  'conflict',
  'denied',
] as const;
export type Fault = (typeof faults)[number];
export type Fate = 'answered' | Fault;

/** One attempt of a call. */
export interface Call {
  readonly operation: Operation;
  readonly table: string;
  readonly input: never;
  readonly sentAt: number;
  fate?: Fate;
  /** Milliseconds until DynamoDB applied it, and until its answer arrived. */
  latency?: readonly [number, number];
  /** Whether the signature's time is more than five minutes off. */
  skewed: boolean;
  /** Whether the tables were changed. */
  applied: boolean;
  /** The client waits for it no more. */
  ended: boolean;
  /** What came back. */
  outcome?: string;
  /** Whether the client knows what DynamoDB did. */
  received: boolean;
  readonly answer: (response: object) => void;
  readonly fail: (error: Error) => void;
}

/** Answers that DynamoDB does not give. */
const strangers = [
  { statusCode: 200, text: '<html></html>' },
  { statusCode: 200, text: '{"Item":' },
  { statusCode: 200, text: '' },
  { statusCode: 200, text: 'null' },
  { statusCode: 200, text: ' []' },
  { statusCode: 200, text: '"{}"' },
  { statusCode: 204, text: '' },
  { statusCode: 302, text: '<html></html>' },
  { statusCode: 503, text: '<html></html>' },
  { statusCode: 400, text: '<html></html>' },
  { statusCode: 400, text: '{"message":"No."}' },
  { statusCode: 400, text: '{"__type":"SomethingNew"}' },
  { statusCode: 301, text: '{"__type":"ResourceNotFoundException"}' },
  { statusCode: 503, text: '{"message":"No."}' },
] as const;

const throttlings = ['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded'];

/** DynamoDB, and what is between it and the functions. */
export class Network {
  readonly tables: MemoryTables;
  readonly #world: World;
  readonly #arrange: (call: Call, network: Network) => void;
  /** Keys that a transaction is writing. */
  readonly #locked = new Map<string, number>();
  /** Calls written to each item, by whole seconds. */
  readonly #writes = new Map<string, number>();

  /** @param arrange decides what happens to a call, and when */
  constructor(world: World, arrange: (call: Call, network: Network) => void) {
    this.#world = world;
    this.#arrange = arrange;
    this.tables = new MemoryTables(() => world.now);
  }

  /** The network as an execution environment sees it: like NodeHttpHandler of the SDK. */
  handlerFor(onCall: (call: Call) => void): RequestHandler {
    return ({ headers, body }, { abortSignal: signal, requestTimeout }) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ readonly response: object }>();
      if (signal?.aborted === true) return Promise.reject(named('AbortError'));
      let timer: Timer | undefined = undefined;
      const end = (settle: () => void): void => {
        if (call.ended) return;
        call.ended = true;
        this.#world.cancel(timer);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const operation = headers['x-amz-target']!.split('.').at(-1) as Operation;
      const input = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as never;
      const call: Call = {
        operation,
        table: tableOf(input),
        input,
        sentAt: this.#world.now,
        skewed: Math.abs(timeOf(headers['x-amz-date']!) - this.#world.now) > 300_000,
        applied: false,
        received: false,
        ended: false,
        answer: (response) => end(() => resolve({ response })),
        fail: (error) => end(() => reject(error)),
      };
      const abort = (): void => call.fail(named('AbortError'));
      timer = this.#world.after(requestTimeout, () => call.fail(named('TimeoutError')));
      signal?.addEventListener('abort', abort);
      onCall(call);
      this.#arrange(call, this);
      return promise;
    };
  }

  /** Whether a call meets a transaction that is writing the same item. */
  meetsTransaction({ operation, input }: Call): boolean {
    return MemoryTables.written(operation, input).some((key) => (this.#locked.get(key) ?? 0) > 0);
  }

  /** A transaction writes its items from now on until `unlock`. */
  lock({ operation, input }: Call): () => void {
    const keys = operation === 'TransactWriteItems' ? MemoryTables.written(operation, input) : [];
    const add = (change: number) => {
      for (const key of keys) this.#locked.set(key, (this.#locked.get(key) ?? 0) + change);
    };
    add(1);
    return () => add(-1);
  }

  /** Counts a write. Whether its item gets more than `perSecond`. */
  isHot({ operation, input }: Call, perSecond: number): boolean {
    const second = Math.floor(this.#world.now / 1000);
    const writes = MemoryTables.written(operation, input).map((key) => {
      const count = (this.#writes.get(`${second} ${key}`) ?? 0) + 1;
      this.#writes.set(`${second} ${key}`, count);
      return count;
    });
    return Math.max(0, ...writes) > perSecond;
  }

  /** DynamoDB's answer to a call, which is applied, unless it is refused. */
  apply(call: Call, refusal?: Refusal, reading?: { readonly asOf?: number; readonly fit?: number }): object {
    try {
      if (call.skewed) throw new Refusal('InvalidSignatureException');
      if (refusal !== undefined) throw refusal;
      const output = this.tables.call(call.operation, call.input, reading);
      call.applied = true;
      return this.#response(200, output);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { type, members } = error;
      return this.#response(type === 'InternalServerError' ? 500 : 400, {
        __type: `com.amazonaws.dynamodb.v20120810#${type}`,
        message: 'No.',
        ...members,
      });
    }
  }

  /** What a call comes to: applied or not, answered or not. */
  meet(call: Call, reading?: { readonly asOf?: number; readonly fit?: number }): () => void {
    const answer = (response: object) => () => {
      call.outcome = `${call.ended ? 'too late: ' : ''}${JSON.stringify(response)}`;
      call.received = !call.ended && !call.fate!.startsWith('unreadable');
      call.answer({ ...response, body: Buffer.from((response as { text: string }).text) });
    };
    const lose = (): void => {
      call.outcome = 'lost';
      call.fail(named('TimeoutError'));
    };
    const stranger = () => ({
      headers: {},
      ...strangers[Math.floor(this.#world.random() * strangers.length)]!,
    });
    switch (call.fate!) {
      case 'answered':
        return answer(this.apply(call, undefined, reading));
      case 'lostAfter':
        this.apply(call);
        return lose;
      case 'lostBefore':
        return lose;
      case 'hungAfter':
        this.apply(call);
        return () => {};
      case 'hungBefore':
        return () => {};
      case 'unreadableAfter':
        this.apply(call);
        return answer(stranger());
      case 'unreadableBefore':
        return answer(stranger());
      case 'failed':
        return answer(this.apply(call, new Refusal('InternalServerError')));
      case 'denied':
        return answer(this.apply(call, new Refusal('AccessDeniedException')));
      case 'throttled':
        return answer(this.apply(call, this.#throttle(call)));
      case 'conflict':
        return answer(this.apply(call, conflictOf(call)));
    }
  }

  #throttle({ operation }: Call): Refusal {
    const throttling = new Refusal(throttlings[Math.floor(this.#world.random() * throttlings.length)]!);
    if (operation !== 'TransactWriteItems' || this.#world.random() < 0.5) return throttling;
    return cancelled([{ Code: 'None' }, { Code: 'ThrottlingError' }]);
  }

  #response(statusCode: number, body: object) {
    const date = new Date(Math.floor(this.#world.now / 1000) * 1000).toUTCString();
    return {
      statusCode,
      headers: { date, 'content-type': 'application/x-amz-json-1.0' },
      text: JSON.stringify(body),
    };
  }
}

/** Only writes conflict with transactions. */
function conflictOf({ operation }: Call): Refusal | undefined {
  if (operation === 'TransactWriteItems')
    return cancelled([{ Code: 'None' }, { Code: 'TransactionConflict' }]);
  return operation === 'PutItem' ? new Refusal('TransactionConflictException') : undefined;
}

function tableOf(input: {
  TableName?: string;
  TransactItems?: { Put: { TableName: string; Item: Item } }[];
}) {
  return input.TableName ?? input.TransactItems![0]!.Put.TableName;
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}

/** Of `20260701T120000Z`. */
function timeOf(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
