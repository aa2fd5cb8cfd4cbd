import { cancelled, Refusal, type Unsupported } from './tables/errors.ts';
import type { Operation, Reading, Tables } from './tables/tables.ts';
import { processes, type Timer, type World } from './world.ts';

export const faults = [
  'lostBefore',
  'lostAfter',
  'late',
  'hungBefore',
  'hungAfter',
  'unreadableBefore',
  'unreadableAfter',
  'failed',
  'throttled',
  'conflict',
  'denied',
  'stale',
  'shortPage',
  'unprocessed',
  'crashedBefore',
  'crashedAfter',
  'paused',
] as const;
/**
 * What happens to a call of DynamoDB instead of a complete answer.
 *
 * - `lostBefore`, `lostAfter`: the connection breaks before DynamoDB gets the call, or after it has applied it.
 * - `late`: the connection breaks, and DynamoDB applies the call at any time afterwards.
 * - `hungBefore`, `hungAfter`: no answer comes until the client's time-out. DynamoDB does not get the call, or applies it.
 * - `unreadableBefore`, `unreadableAfter`: something else answers, such as a proxy. DynamoDB does not get the call, or applies it.
 * - `failed`: DynamoDB answers with an internal error and applies nothing.
 * - `throttled`: DynamoDB refuses the call because there are too many.
 * - `conflict`: DynamoDB refuses a write because a transaction is writing its item.
 * - `denied`: DynamoDB refuses the call because a permission is missing.
 * - `stale`: a read that is not consistent, or of a global index, does not see the writes of the last second.
 * - `shortPage`: a query or scan ends after its first item, with a LastEvaluatedKey. The page is empty if a filter leaves the item out.
 * - `unprocessed`: a batch gets to some of its items only. The others are its UnprocessedItems or UnprocessedKeys.
 * - `crashedBefore`, `crashedAfter`: the process of the request ends before DynamoDB gets the call, or after it has applied it.
 * - `paused`: the process stands still before it sends the call, as in a frozen Lambda environment or a long garbage collection.
 *   Others go on and time passes, and its timers and answers wait for the end of the pause.
 */
export type Fault = (typeof faults)[number];
export type Fate = 'answered' | Fault;

/** What calls meet only if `kinds` says so. */
const unusual = new Set<Fault>(['hungBefore', 'unreadableBefore', 'unreadableAfter', 'failed']);
/** What they meet otherwise. */
export const defaultKinds: readonly Fault[] = faults.filter((each) => !unusual.has(each));

/** One attempt of a call. */
export interface Call {
  /** Of the environment that sends it, unless whoever observes the calls gives it a name of its own. */
  name: string;
  readonly operation: Operation;
  /** The first one that it names. */
  readonly table: string;
  /** As in the JSON of DynamoDB's protocol. */
  readonly input: object;
  readonly sentAt: number;
  /** Its stack says where it was made. */
  readonly origin: Error;
  /** When its client stops waiting for it. */
  deadline: number;
  timeout?: Timer;
  fate?: Fate;
  /** In [0, 1): which of the answers that a fault can have. */
  variant: number;
  /** Milliseconds until DynamoDB applies it, and until its answer arrives. */
  latency?: readonly [number, number];
  /** Whether DynamoDB has applied it. */
  applied: boolean;
  /** Items of a batch that DynamoDB has got to, and what came of each. */
  readonly parts: object[];
  /** The client waits for it no more. */
  ended: boolean;
  endedAt?: number;
  /** What came back. */
  outcome?: string;
  /** Whether the client knows what DynamoDB did. */
  received: boolean;
  readonly answer: (response: object) => void;
  readonly fail: (error: Error) => void;
  /** Its client begins to wait for it. */
  readonly await: () => void;
}

/** As the request handler of clients of the SDK. */
export interface RequestHandler {
  readonly metadata: { readonly handlerProtocol: 'http/1.1' };
  readonly handle: (
    request: { readonly headers: Readonly<Record<string, string>>; readonly body?: unknown },
    options?: { readonly abortSignal?: unknown; readonly requestTimeout?: number },
  ) => Promise<{ readonly response: never }>;
  readonly updateHttpClientConfig: () => void;
  readonly httpHandlerConfigs: () => object;
  readonly destroy: () => void;
}

interface BatchOutput {
  readonly Responses?: Readonly<Record<string, object[]>>;
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

/** Milliseconds after which reads that are not consistent see a write, as they usually do on AWS. */
const lag = 1_000;
const searches = new Set<Operation>(['Query', 'Scan']);
const reads = new Set<Operation>(['GetItem', 'BatchGetItem', ...searches]);
/** What is refused while a transaction writes the same item. */
const conflicting = new Set<Operation>(['PutItem', 'UpdateItem', 'DeleteItem', 'TransactWriteItems']);
const throttlings = ['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded'];

/** DynamoDB, and what is between it and the code that calls it. */
export class Network {
  readonly tables: Tables;
  /** What the tables do not know, whatever the code under test makes of the error. */
  unsupported: Error | undefined;
  readonly #world: World;
  readonly #arrange: (call: Call, network: Network) => void;

  /** @param arrange decides what happens to a call, and when */
  constructor(world: World, tables: Tables, arrange: (call: Call, network: Network) => void) {
    this.#world = world;
    this.#arrange = arrange;
    this.tables = tables;
  }

  /** The network as an environment sees it. @param timeout milliseconds that a client waits for an answer, unless it has its own */
  handlerFor(sender: string, onCall: (call: Call) => void, timeout: number): RequestHandler {
    const handle: RequestHandler['handle'] = (
      { headers, body },
      { abortSignal, requestTimeout = timeout } = {},
    ) => {
      const signal = abortSignal as AbortSignal | undefined;
      const { promise, resolve, reject } = Promise.withResolvers<{ readonly response: never }>();
      if (signal?.aborted === true) return Promise.reject(named('AbortError'));
      const process = processes.getStore();
      const end = (settle: () => void): void => {
        if (call.ended || process?.state === 'crashed') return;
        if (process?.state === 'paused') {
          this.#world.after(0, () => end(settle), process);
          return;
        }
        call.ended = true;
        call.endedAt = this.#world.now;
        this.#world.cancel(call.timeout);
        signal?.removeEventListener('abort', abort);
        settle();
      };
      const operation = headers['x-amz-target']!.split('.').at(-1) as Operation;
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array);
      const input = JSON.parse(text) as object;
      const call: Call = {
        name: sender,
        variant: 0,
        operation,
        table: tablesOf(input)[0] ?? '',
        input,
        sentAt: this.#world.now,
        origin: new Error(),
        deadline: Infinity,
        applied: false,
        parts: [],
        received: false,
        ended: false,
        answer: (response) => end(() => resolve({ response: response as never })),
        fail: (error) => end(() => reject(error)),
        await: () => {
          call.deadline = this.#world.now + requestTimeout;
          call.timeout = this.#world.after(requestTimeout, () => call.fail(named('TimeoutError')), process);
        },
      };
      const abort = (): void => call.fail(named('AbortError'));
      // A process that has ended does nothing, although others may call its code.
      if (process?.state === 'crashed') return promise;
      call.await();
      signal?.addEventListener('abort', abort);
      onCall(call);
      this.#arrange(call, this);
      return promise;
    };
    return {
      metadata: { handlerProtocol: 'http/1.1' },
      handle,
      updateHttpClientConfig: () => {},
      httpHandlerConfigs: () => ({}),
      destroy: () => {},
    };
  }

  isRead({ operation }: Call): boolean {
    return operation === 'TransactGetItems' || reads.has(operation);
  }

  /** Whether DynamoDB would do something if it got a call. */
  writes({ operation, input, parts }: Call): boolean {
    return parts.length > 0 || this.tables.writes(operation, input);
  }

  /** Whether a call can meet a fate, and whether it would then not be answered all the same. */
  canMeet(fate: Fate, call: Call): boolean {
    const { operation, input, parts } = call;
    // DynamoDB has got to some items of a batch, so nothing else refuses or loses it.
    if (parts.length > 0) return fate === 'answered' || fate === 'unprocessed';
    // A batch of which nothing is processed is throttled.
    if (fate === 'unprocessed') return false;
    if (fate === 'conflict') return conflicting.has(operation);
    if (fate !== 'stale' && fate !== 'shortPage') return true;
    const isOfFate = (fate === 'stale' ? reads : searches).has(operation);
    return isOfFate && this.tables.differs(operation, input, this.#readingOf(call, fate));
  }

  /** DynamoDB gets to the next item of a batch. False if it is the last one, with which it answers, or no batch. */
  advance({ operation, input, parts }: Call): boolean {
    if (parts.length + 1 >= this.tables.sizeOf(input)) return false;
    try {
      parts.push(this.tables.call(operation, input, { done: parts.length, fit: 1 }));
      return true;
    } catch (error) {
      if (error instanceof Refusal) return false;
      throw error;
    }
  }

  /** DynamoDB's answer to a call, which is applied, unless it is refused. */
  apply(call: Call, refusal?: Refusal, reading?: Reading): object {
    try {
      if (refusal !== undefined) throw refusal;
      const output = this.tables.call(call.operation, call.input, { ...reading, done: call.parts.length });
      for (const { Responses: items } of call.parts.toReversed() as BatchOutput[])
        for (const [table, all] of Object.entries(items ?? {}))
          (output as BatchOutput).Responses![table]!.unshift(...all);
      call.applied = true;
      return this.#response(200, output);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        this.unsupported ??= error as Unsupported;
        throw error;
      }
      const { type, message, members } = error;
      return this.#response(type === 'InternalServerError' ? 500 : 400, {
        __type: `com.amazonaws.dynamodb.v20120810#${type}`,
        message,
        ...members,
      });
    }
  }

  /** What a call comes to: applied or not, answered or not. @param refusal what DynamoDB answers to a call that is answered */
  meet(call: Call, reading?: Reading, refusal?: Refusal): () => void {
    const answer = (response: object) => () => {
      const { statusCode, text } = response as { statusCode: number; text: string };
      call.outcome = `${call.ended ? 'too late: ' : ''}${statusCode} ${text}`;
      call.received = !call.ended && !call.fate!.startsWith('unreadable');
      call.answer({ ...response, body: Buffer.from(text) });
    };
    const lose = (): void => {
      call.outcome = 'lost';
      call.fail(named('TimeoutError'));
    };
    const stranger = () => ({ headers: {}, ...strangers[Math.floor(call.variant * strangers.length)]! });
    switch (call.fate!) {
      case 'answered':
        return answer(this.apply(call, refusal, reading));
      case 'stale':
      case 'shortPage':
      case 'unprocessed':
        return answer(this.apply(call, undefined, this.#readingOf(call, call.fate)));
      case 'lostAfter':
        this.apply(call);
        return lose;
      case 'lostBefore':
      case 'late':
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
      // What becomes of the process is up to whoever runs it.
      case 'crashedAfter':
        this.apply(call);
        return () => {};
      case 'crashedBefore':
      case 'paused':
        return () => {};
      case 'throttled':
        return answer(this.apply(call, this.#throttle(call)));
      case 'conflict':
        return answer(this.apply(call, refusal ?? this.#conflict(call)));
    }
  }

  #readingOf({ parts }: Call, fate: Fate): Reading {
    if (fate === 'stale') return { asOf: this.#world.now - lag };
    return { fit: fate === 'shortPage' || parts.length === 0 ? 1 : 0 };
  }

  #throttle({ operation, input, variant }: Call): Refusal {
    const types = throttlings.length * (operation === 'TransactWriteItems' ? 2 : 1);
    const type = throttlings[Math.floor(variant * types)];
    return type === undefined ? this.#cancelled(input, 'ThrottlingError') : new Refusal(type);
  }

  #conflict({ operation, input }: Call): Refusal | undefined {
    if (!conflicting.has(operation)) return undefined;
    return operation === 'TransactWriteItems'
      ? this.#cancelled(input, 'TransactionConflict')
      : new Refusal('TransactionConflictException');
  }

  #cancelled(input: object, code: string): Refusal {
    const items = this.tables.written('TransactWriteItems', input);
    return cancelled(items.map((_, index) => ({ Code: index === items.length - 1 ? code : 'None' })));
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

/** The names of the tables anywhere in an input. */
function tablesOf(input: object): string[] {
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

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}
