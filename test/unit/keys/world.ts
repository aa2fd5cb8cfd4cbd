import { AsyncLocalStorage } from 'node:async_hooks';
import { type AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { Item } from 'dynamodb-interleavings';
import { cancelled, Refusal } from 'dynamodb-interleavings/simulation';
import { afterAll, beforeAll, vi } from 'vitest';
import { decideKey, type KeyDecision } from '../../../functions/access/key-records.ts';
import { hashOfKey } from '../../../functions/access/keys.ts';
import type { Decision } from '../../../functions/access/limiter-decisions.ts';
import { admit } from '../../../functions/access/limiter.ts';
import { planNames } from '../../../functions/access/plans.ts';
import {
  answerApiGateway,
  answerCloudFormation,
  type ApiKeySnapshot,
  ApiKeyStore,
  type HttpResponse,
  jsonAnswer,
  jsonError,
} from 'cdk-offline/management';
import { documentClient } from '../../../tools/operators/command-line/stack.ts';
import { runKeys } from '../../../tools/operators/keys/cli.ts';
import type { AdministeredKey } from '../../../tools/operators/keys/records.ts';
import { type Run, type RunOptions, startInProcess } from '../../support/run-in-process.ts';
import { serviceTables } from '../../support/table-shapes.ts';
import { at } from '../../support/times.ts';

/**
 * What happens to a call. Executed: `passed`, `lost` (no answer arrives), `replaced` (a page of a proxy arrives) and `last` (lost,
 * and every later call is denied). Not executed: `stuck` (no connection stands, now and at every repetition), `killed` (the process
 * ends before it), `refused` as one of too many, `denied`, and `not found`.
 */
export type Fate =
  'passed' | 'lost' | 'replaced' | 'last' | 'stuck' | 'killed' | 'refused' | 'denied' | 'not found';

/** A call that waits for its fate. */
interface Call {
  /** `POST /apikeys`, `TransactWriteItems` or `cloudformation` */
  readonly operation: string;
  readonly request: Request;
  readonly answer: (response: object) => void;
  readonly fail: (error: Error) => void;
}

/** As the SDK sends it. */
interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A run of the key tool. */
export interface Process {
  readonly name: string;
  readonly args: readonly string[];
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Calls that have met their fates. */
  readonly calls: (readonly [operation: string, fate: Fate])[];
  pending: Call | undefined;
  /** The operation whose calls do not get through. */
  stuck: string | undefined;
  run: Run | undefined;
  /** Resolves when it has made a call or has ended. */
  moved: PromiseWithResolvers<void>;
}

/** What is stored, to begin with it again. */
export interface State {
  readonly gateway: ApiKeySnapshot;
  readonly items: readonly (readonly [table: string, item: Item])[];
  /** Keys that somebody has seen. */
  readonly shown: readonly string[];
  /** By hash. */
  readonly granted: readonly (readonly [string, KeyDecision])[];
}
export const nothing: State = { gateway: { keys: [], bindings: [] }, items: [], shown: [], granted: [] };

const place = { apiId: 'api', stage: 'v1' };
const outputs = {
  RestApiId: place.apiId,
  ApiKeysTableName: 'ApiKeys',
  RateLimitsTableName: 'RateLimits',
  ...Object.fromEntries(
    planNames.map((name) => [`UsagePlanId${name[0]!.toUpperCase()}${name.slice(1)}`, name]),
  ),
};
const stack = { name: 'AnimalStore-local', id: 'local', createdAt: 0 };
const local = {
  endpoint: 'http://127.0.0.1:1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local', sessionToken: 'local' },
};
const proxyPage: HttpResponse = {
  status: 200,
  headers: [['Content-Type', 'text/html']],
  body: Buffer.from('<html><body>Sign in<br></body></html>'),
};
const senders = new AsyncLocalStorage<(request: Request) => Promise<unknown>>();

/** Calls of the SDK in this process go to the world that makes them, in which it is always the same time. Until `afterAll`. */
export function useWorlds(now: number): void {
  const { prototype } = NodeHttpHandler;
  const handle = Object.getOwnPropertyDescriptor(prototype, 'handle')!;
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    prototype.handle = ((request: Request) => senders.getStore()!(request)) as never;
    // The SDK throws for each setting that it does not find.
    Error.stackTraceLimit = 0;
    vi.useFakeTimers({ toFake: ['Date'], now });
  });
  afterAll(() => {
    Object.defineProperty(prototype, 'handle', handle);
    Error.stackTraceLimit = stackTraceLimit;
    vi.useRealTimers();
  });
}

/** An account of AWS in memory: API Gateway is that of cdk-offline. The commands in it make one call at a time. */
export class World {
  readonly processes: Process[] = [];
  readonly tables = serviceTables(Date.now);
  /** Of the deployed stack. */
  outputs: Readonly<Record<string, string>> = outputs;
  readonly gateway: ApiKeyStore;
  /** What the authorizer has cached, by hash. */
  readonly granted: Map<string, KeyDecision>;
  readonly #shown: readonly string[];
  readonly #options: readonly string[];

  /** @param options of every command */
  constructor({ gateway, items, shown, granted }: State, options: readonly string[] = ['--json']) {
    this.#options = options;
    this.gateway = new ApiKeyStore(gateway);
    const unlimited = { description: undefined, throttle: undefined, quota: undefined, apiStages: [place] };
    this.gateway.setPlans(planNames.map((name) => ({ id: name, name, ...unlimited })));
    for (const [table, item] of items) this.tables.put(table, item);
    this.granted = new Map(granted);
    this.#shown = shown;
  }

  get state(): State {
    const itemsOf = (table: string) => this.#items(table).map((item) => [table, item as Item] as const);
    return {
      gateway: this.gateway.snapshot(),
      items: ['ApiKeys', 'RateLimits'].flatMap(itemsOf),
      shown: this.shown,
      granted: [...this.granted],
    };
  }

  get records(): readonly AdministeredKey[] {
    return this.#items('ApiKeys').map((item) => unmarshall(item) as AdministeredKey);
  }

  /** Every key that was ever printed. */
  get shown(): string[] {
    return [...this.#shown, ...this.processes.flatMap(({ stdout }) => keysIn(stdout()))];
  }

  /** Unix seconds, 0 if it is not suspended. */
  suspensionOf({ keyHash }: Pick<AdministeredKey, 'keyHash'>): number {
    const usage = this.#items('RateLimits').find((item) => item['keyHash']?.S === keyHash);
    return Number(usage?.['suspendedUntil']?.N ?? 0);
  }

  /** Changes what is stored, without the tool. */
  put(table: 'ApiKeys' | 'RateLimits', item: object): void {
    this.tables.put(table, marshall(item, { removeUndefinedValues: true }) as Item);
  }

  #items(table: string): Record<string, AttributeValue>[] {
    const last = this.tables.versions(table).map((versions) => versions.at(-1)?.item);
    return last.filter((item) => item !== undefined) as Record<string, AttributeValue>[];
  }

  /** Starts a command. It stops before its first call. */
  async start(args: readonly string[], options: RunOptions = {}): Promise<Process> {
    const name = `${'ABCDEFGH'[this.processes.length]} (${args.join(' ')})`;
    const state = { calls: [], pending: undefined, stuck: undefined, run: undefined };
    const send = (request: Request) => this.#send(process, request);
    const { stdout, stderr, ended } = senders.run(send, () =>
      startInProcess(runKeys, [...args, '--stage', 'local', ...this.#options], { local, ...options }),
    );
    const process: Process = { name, args, stdout, stderr, moved: Promise.withResolvers(), ...state };
    this.processes.push(process);
    void ended.then((exitCode) => {
      process.run = { exitCode, stdout: stdout(), stderr: stderr() };
      process.moved.resolve();
    });
    await process.moved.promise;
    return process;
  }

  /** Lets a call meet its fate, and the command go on to its next call or to its end. */
  async meet(process: Process, fate: Fate): Promise<void> {
    const { operation, request, answer, fail } = process.pending!;
    process.calls.push([operation, fate]);
    process.pending = undefined;
    if (fate === 'killed') return;
    if (fate === 'stuck') process.stuck = operation;
    process.moved = Promise.withResolvers();
    const isExecuted = !['stuck', 'refused', 'denied', 'not found'].includes(fate);
    const response = isExecuted ? await this.#execute(operation, request) : refusal(fate, operation);
    if (fate === 'lost' || fate === 'last' || fate === 'stuck') fail(reset());
    else answer(responseOf(fate === 'replaced' ? proxyPage : response));
    await process.moved.promise;
  }

  /** Runs a command to its end, without others. */
  async run(args: readonly string[], options?: RunOptions): Promise<Run> {
    const process = await this.start(args, options);
    while (process.pending !== undefined) await this.meet(process, 'passed');
    return process.run!;
  }

  /** The status that the service answers a request with a key with. */
  call(key: string): 200 | 401 | 429 {
    const keyHash = hashOfKey(key);
    const now = Date.now();
    const record = this.records.find((each) => each.keyHash === keyHash);
    const decision = this.granted.get(keyHash) ?? decideKey(record, now / 1000);
    if (decision.kind === 'denied') return 401;
    this.granted.set(keyHash, decision);
    if (this.gateway.meter(decision.gatewayValue, place, now).outcome === 'invalid') return 401;
    return this.suspensionOf({ keyHash }) > now / 1000 ? 429 : 200;
  }

  /** What the service answers a request with a key with: the limiter's decision, after the authorizer's. */
  async answer(key: string): Promise<'unauthorized' | Decision['kind']> {
    if (this.call(key) === 401) return 'unauthorized';
    const keyHash = hashOfKey(key);
    const decision = this.granted.get(keyHash)!;
    const client = documentClient(new DynamoDBClient({ ...local, region: 'us-east-1' }));
    const { limits } = (decision as Extract<KeyDecision, { kind: 'granted' }>).caller;
    const request = { keyHash, limits, now: at(Date.now() / 1000) };
    return (
      await senders.run(
        (sent) => this.#respond(sent),
        () => admit({ client, tableName: 'RateLimits' }, request),
      )
    ).kind;
  }

  async #respond(request: Request): Promise<object> {
    return responseOf(await this.#execute(operationOf(request), request));
  }

  #send(process: Process, request: Request): Promise<unknown> {
    const operation = operationOf(request);
    if (process.stuck === operation) return Promise.reject(reset());
    if (process.calls.at(-1)?.[1] === 'last')
      return Promise.resolve(responseOf(refusal('denied', operation)));
    // What nobody changes.
    if (operation === 'cloudformation') return this.#respond(request);
    if (process.pending !== undefined) throw new Error(`${process.name} makes two calls at a time`);
    return new Promise((answer, fail) => {
      process.pending = { operation, request, answer, fail };
      process.moved.resolve();
    });
  }

  #execute(
    operation: string,
    { method, path, query, headers, body = '' }: Request,
  ): HttpResponse | Promise<HttpResponse> {
    if (headers['x-amz-target'] !== undefined)
      return answerDynamoDb(() => this.tables.call(operation, JSON.parse(String(body)) as object));
    const given = { method, path, headers, query: new URLSearchParams(query), body: Buffer.from(body) };
    if (operation === 'cloudformation')
      return answerCloudFormation({ ...stack, outputs: this.outputs }, given);
    this.#note(operation, String(body));
    const state = {
      keys: this.gateway,
      restApiId: place.apiId,
      stage: place.stage,
      flushAuthorizerCache: () => this.granted.clear(),
      save: async () => {},
    };
    return answerApiGateway(state, given);
  }

  /** What a call of API Gateway reads and writes, for the reduction. */
  #note(operation: string, body: string): void {
    const { footprint } = this.tables;
    const { keyId = '', value = '' } = (body === '' ? {} : JSON.parse(body)) as Readonly<
      Record<string, string>
    >;
    const [method, path = ''] = operation.split(' ');
    const isOfOne = method !== 'GET' || /keys\/\w+$/.test(path);
    if (!isOfOne) return footprint.add('gateway', 'read');
    const one = path.endsWith('/authorizers') ? 'cache' : value || keyId || path.split('/').at(-1)!;
    footprint.add(`gateway ${one}`, method === 'GET' ? 'read' : 'write');
    if (method !== 'GET') footprint.add('gateway', 'mark');
  }
}

export const isRead = (operation: string) => /^(GET |Query|GetItem|BatchGetItem)/.test(operation);

/** The keys in what a run printed. */
export function keysIn(text: string): string[] {
  return text.match(/as_local_[0-9A-Za-z]{36}/g) ?? [];
}

function responseOf({ status, headers, body }: HttpResponse) {
  const lowerCase = headers.map(([name, value]) => [name.toLowerCase(), value]);
  return {
    response: { statusCode: status, headers: Object.fromEntries(lowerCase), body },
  };
}

/** The connection breaks. */
const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

function answerDynamoDb(call: () => object) {
  try {
    return jsonAnswer(200, call());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { type, message, members } = error;
    return jsonAnswer(400, { __type: `com.amazonaws.dynamodb.v20120810#${type}`, message, ...members });
  }
}

function operationOf({ method, path, headers }: Request): string {
  const target = headers['x-amz-target']?.split('.')[1];
  return (
    target ??
    (headers['authorization']?.includes('/apigateway/') === true ? `${method} ${path}` : 'cloudformation')
  );
}

function refusal(fate: Fate, operation: string) {
  const isGateway = operation.includes('/');
  if (fate === 'not found')
    return jsonError(404, 'NotFoundException', 'Invalid API Key identifier specified');
  if (fate === 'denied') return jsonError(isGateway ? 403 : 400, 'AccessDeniedException', 'Not authorized');
  if (isGateway && isRead(operation)) return jsonError(429, 'TooManyRequestsException', 'Too Many Requests');
  if (isGateway) return jsonError(409, 'ConflictException', busy);
  const isTransaction = operation === 'TransactWriteItems';
  return answerDynamoDb(() => {
    throw isTransaction
      ? cancelled([{ Code: 'TransactionConflict' }])
      : new Refusal('ThrottlingException', 'Rate exceeded');
  });
}
const busy = 'Unable to complete operation due to concurrent modification. Please try again later.';
