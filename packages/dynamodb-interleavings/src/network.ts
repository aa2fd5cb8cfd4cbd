import { type Call, type Reply, type Server, wayOf } from './call.ts';
import { DynamoDb, tablesOf } from './dynamodb.ts';
import type { Fate } from './faults.ts';
import { operationOf, OtherServer, type Service, type ServiceRequest } from './services.ts';
import type { Refusal } from './tables/errors.ts';
import type { Reading } from './tables/table.ts';
import type { Tables } from './tables/tables.ts';
import { processes, type World } from './world.ts';

/** As the request handler of clients of the SDK. */
export interface RequestHandler {
  readonly metadata: { readonly handlerProtocol: 'http/1.1' };
  readonly handle: (
    request: Partial<Omit<ServiceRequest, 'body' | 'headers'>> & {
      readonly headers: Readonly<Record<string, string>>;
      readonly hostname?: string;
      readonly body?: unknown;
    },
    options?: { readonly abortSignal?: unknown; readonly requestTimeout?: number },
  ) => Promise<{ readonly response: never }>;
  readonly updateHttpClientConfig: () => void;
  readonly httpHandlerConfigs: () => object;
  readonly destroy: () => void;
}

/** What answers instead of a service, such as a proxy. */
export interface Stranger {
  readonly statusCode: number;
  readonly text: string;
}

/** What cannot be read, and what is empty. */
const usualStrangers: readonly Stranger[] = [
  { statusCode: 200, text: '<html></html>' },
  { statusCode: 200, text: '' },
];

/** DynamoDB and other services, and what is between them and the code that calls them. */
export class Network {
  readonly tables: Tables;
  /** What the tables do not know, whatever the code under test makes of the error. */
  unsupported: Error | undefined;
  readonly #world: World;
  readonly #arrange: (call: Call, network: Network) => void;
  readonly #servers = new Map<string, Server>();
  readonly #strangers: readonly Stranger[];

  /**
   * @param arrange decides what happens to a call, and when
   * @param strangers of which one answers a call that meets `unreadable`
   */
  constructor(
    world: World,
    tables: Tables,
    arrange: (call: Call, network: Network) => void,
    strangers = usualStrangers,
  ) {
    this.#world = world;
    this.#arrange = arrange;
    this.#strangers = strangers;
    this.tables = tables;
    this.#servers.set('DynamoDB', new DynamoDb(tables, world, (error) => (this.unsupported ??= error)));
  }

  /**
   * Lets another service answer, too.
   * @param name as in its host name and in signatures, such as `apigateway`
   */
  serve(name: string, service: Service): void {
    this.#servers.set(name, new OtherServer(name, service, () => this.tables.footprint));
  }

  /** The network as an environment sees it. @param timeout milliseconds that a client waits for an answer, unless it has its own */
  handlerFor(sender: string, onCall: (call: Call) => void, timeout: number): RequestHandler {
    const handle: RequestHandler['handle'] = (request, { abortSignal, requestTimeout = timeout } = {}) => {
      const signal = abortSignal as AbortSignal | undefined;
      const { promise, resolve, reject } = Promise.withResolvers<{ readonly response: never }>();
      if (signal?.aborted === true) return Promise.reject(named('AbortError'));
      const process = processes.getStore();
      process?.ids?.delete(request.headers['amz-sdk-invocation-id'] ?? '');
      const end = (settle: () => void, what: string): void => {
        if (call.ended || process?.state === 'crashed') return;
        if (process?.state === 'paused') {
          this.#world.after(0, () => end(settle, what), process);
          return;
        }
        call.ended = true;
        call.endedAt = this.#world.now;
        this.#world.cancel(call.timeout);
        signal?.removeEventListener('abort', abort);
        process?.wake?.(`${this.#world.now} ${what}`, call);
        settle();
      };
      const call: Call = {
        name: sender,
        variant: 0,
        ...this.#described(request),
        sentAt: this.#world.now,
        origin: new Error(),
        deadline: Infinity,
        applied: false,
        parts: [],
        left: new Set(),
        received: false,
        ended: false,
        answer: (response) => end(() => resolve({ response: response as never }), call.outcome!),
        fail: (error) => end(() => reject(error), error.name),
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

  #described({
    method = 'POST',
    path = '/',
    query = {},
    hostname = '',
    headers,
    body = '',
  }: Parameters<RequestHandler['handle']>[0]): Pick<Call, 'service' | 'operation' | 'table' | 'input'> {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array);
    const [protocol = '', target] = headers['x-amz-target']?.split('.') ?? [];
    if (protocol.startsWith('DynamoDB_') && target !== undefined) {
      const input = JSON.parse(text) as object;
      return { service: 'DynamoDB', operation: target, table: tablesOf(input)[0] ?? '', input };
    }
    const request = { method, path, query, headers, body: text };
    const { authorization = '' } = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const service = [...this.#servers.keys()].find(
      (name) => hostname.split('.').includes(name) || authorization.includes(`/${name}/aws4_request`),
    );
    const operation = operationOf(request);
    if (service !== undefined) return { service, operation, table: '', input: request };
    this.unsupported ??= new Error(
      `A request calls a service that the simulation does not have: ${operation} at ${hostname}. ` +
        'Give the simulation its answers by the option `services`.',
    );
    throw this.unsupported;
  }

  #serverOf({ service }: Call): Server {
    return this.#servers.get(service)!;
  }

  isRead(call: Call): boolean {
    return this.#serverOf(call).isRead(call);
  }

  /** Whether DynamoDB would do something if it got a call. */
  writes(call: Call): boolean {
    return this.#serverOf(call).writes(call);
  }

  /** In how many ways a call can meet a fate in which it is not answered all the same. `call.variant`, in [0, 1), says which. */
  ways(fate: Fate, call: Call): number {
    const ways = this.#serverOf(call).ways(fate, call);
    return fate.startsWith('unreadable') ? ways * this.#strangers.length : ways;
  }

  /** How many of these ways, the first ones, are worth to be run in every order. */
  typicalWays(fate: Fate, call: Call): number {
    const ways = this.ways(fate, call);
    // The last one is RequestLimitExceeded.
    return fate === 'throttled' && call.service === 'DynamoDB' ? ways && ways - 1 : ways;
  }

  /** Whether DynamoDB gets to an item of a batch before others. */
  hasMore(call: Call): boolean {
    return this.#serverOf(call).hasMore?.(call) ?? false;
  }

  /** Of a batch that is unprocessed: whether only its next item is. */
  leavesOne(call: Call): boolean {
    return this.#serverOf(call).leavesOne?.(call) ?? false;
  }

  /** DynamoDB gets to the next item of a batch. @param isLeft it leaves it out */
  advance(call: Call, isLeft = false): void {
    this.#serverOf(call).advance!(call, isLeft);
  }

  /** Applies a call, unless it is refused. What comes of it nobody is told. */
  apply(call: Call): void {
    void this.#replyOf(call);
  }

  /**
   * What a call comes to: applied or not, answered or not. What is returned tells the client.
   * @param refusal what DynamoDB answers to a call that is answered
   */
  meet(call: Call, reading?: Reading, refusal?: Refusal): () => void | Promise<void> {
    const server = this.#serverOf(call);
    const tell = ({ text, ...reply }: Reply): void => {
      call.outcome = `${call.ended ? 'too late: ' : ''}${reply.statusCode} ${text}`;
      call.received = !call.ended && !call.fate!.startsWith('unreadable');
      call.answer({ ...reply, body: Buffer.from(text) });
    };
    const answer = (reply: Reply | Promise<Reply>) => () =>
      reply instanceof Promise ? reply.then(tell, call.fail) : tell(reply);
    const lose = (): void => {
      call.outcome = 'lost';
      call.fail(named('TimeoutError'));
    };
    const after = (applied: Reply | Promise<Reply>, then: () => void) => () =>
      applied instanceof Promise ? applied.then(then, call.fail) : then();
    const stranger = () => ({ headers: {}, ...this.#strangers[wayOf(call, this.#strangers.length)]! });
    switch (call.fate!) {
      case 'answered':
        return answer(refusal ? server.refuse(call, 'denied', refusal) : this.#replyOf(call, reading));
      case 'stale':
      case 'shortPage':
      case 'unprocessed':
        return answer(this.#replyOf(call));
      case 'lostAfter':
        return after(this.#replyOf(call), lose);
      case 'lostBefore':
      case 'late':
        return lose;
      // What becomes of the process is up to whoever runs it.
      case 'hungAfter':
      case 'crashedAfter':
        return after(this.#replyOf(call), () => {});
      case 'hungBefore':
      case 'crashedBefore':
      case 'paused':
        return () => {};
      case 'unreadableAfter':
        return after(this.#replyOf(call), () => tell(stranger()));
      case 'unreadableBefore':
        return answer(stranger());
      case 'failedAfter':
        return after(this.#replyOf(call), () => tell(server.refuse(call, 'failed')));
      case 'failed':
      case 'denied':
      case 'throttled':
        return answer(server.refuse(call, call.fate));
      case 'conflict':
        return answer(
          refusal || server.ways('conflict', call) > 0
            ? server.refuse(call, 'conflict', refusal)
            : this.#replyOf(call),
        );
    }
  }

  /** The answer of a service to a call that it gets. An error of the service ends the run. */
  #replyOf(call: Call, reading?: Reading): Reply | Promise<Reply> {
    const reply = this.#serverOf(call).apply(call, reading);
    if (reply instanceof Promise) reply.catch((error: unknown) => (this.unsupported ??= error as Error));
    return reply;
  }
}

function named(name: string): Error {
  return Object.assign(new Error(name), { name });
}
