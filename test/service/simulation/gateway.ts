import type { Call } from 'dynamodb-interleavings';
import { type Network, Random, type World as SimulatedWorld } from 'dynamodb-interleavings/simulation';
import type { CallerContext } from '../../../functions/access/caller.ts';
import {
  type FunctionEntry,
  type Operation,
  operations,
  unmatchedRoute,
} from '../../../functions/operations.ts';
import { proxyEvent, routeOf } from '../../support/events.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { type Reply, reply } from '../../support/lambda.ts';
import { namesOfTables } from '../../support/variables.ts';
import { current, type Handler, type Version } from './environments.ts';

/** The time-outs that lib/compute/functions.ts sets, in milliseconds. */
const timeouts = { operation: 3_000, authorizer: 2_000 };
const cacheSeconds = 60;

export interface Sent {
  readonly method: Operation['method'];
  readonly path: string;
  readonly query?: readonly (readonly [string, string])[];
  /** API Gateway passes bytes as base64. */
  readonly body?: string | Buffer;
  readonly contentType?: string;
  readonly idempotencyKey?: string;
  /** Further headers, as they are spelled. */
  readonly headers?: readonly (readonly [string, string])[];
  /** The API key. */
  readonly token: string;
}

/** A run of a function for a request. */
export interface Invocation {
  /** The number of the request. */
  readonly request: number;
  readonly entry: FunctionEntry;
  readonly environment: Environment;
  readonly startedAt: number;
  /** How many writes all tables had got before. */
  readonly writesBefore: number;
  endedAt: number;
  readonly calls: Call[];
  readonly log: string[];
  /** Calls that nobody waits for when the function answers. */
  leftOver: number;
  outcome: { readonly returned: unknown } | { readonly thrown: unknown } | 'timedOut';
}

/** A request, and everything that is known of it. */
export interface Exchange {
  /** 1 for the first request of a simulation. */
  readonly number: number;
  readonly sent: Sent;
  readonly startedAt: number;
  endedAt: number;
  authorizer: Invocation | undefined;
  operation: Invocation | undefined;
  /** The status and code of an answer of API Gateway itself, or the answer of the function. */
  answer: Reply | { readonly status: 401 | 403 | 503; readonly headers?: undefined };
}

/** An execution environment. */
interface Environment {
  /** A name such as `create-pet 2`, or `create-pet 2 of v1.0.0`. */
  readonly name: string;
  /** Among those of its function: the one that was started first is used first. */
  readonly number: number;
  readonly handler: Handler;
  /** The invocation that it serves, or served last. */
  invocation?: Invocation;
}

interface Cached {
  readonly result: unknown;
  readonly until: number;
}

export interface SimulatedGatewayOptions {
  /** What the authorizer has returned. */
  readonly authorized?: Readonly<Record<string, CallerContext>>;
  readonly world: SimulatedWorld;
  readonly network: Network;
  /** Default: test */
  readonly stage?: string;
  /** Whether API Gateway has a key with this value in a usage plan. Default: it has */
  readonly hasGatewayKey?: (value: string) => boolean;
  /** What a new environment has, by its name. */
  readonly machine: (environment: string) => {
    readonly random: () => number;
    /** The version of its functions. Default: the work tree's */
    readonly version?: Version | undefined;
  };
  /**
   * The version that serves an invocation, such as `of list-pets for request 7`, while traffic shifts. Lambda chooses it for each one.
   * Default: that of any environment
   */
  readonly versionFor?: (invocation: string) => Version;
}

/** API Gateway and Lambda: routes, the authorizer and its cache, and execution environments that serve one request at a time. */
export class SimulatedGateway {
  readonly exchanges: Exchange[] = [];
  readonly #options: SimulatedGatewayOptions;
  /** The environments that wait, by function and version. */
  readonly #idle = new Map<string, Environment[]>();
  readonly #started = new Map<FunctionEntry, number>();
  readonly #cache = new Map<string, Cached>();

  constructor(options: SimulatedGatewayOptions) {
    this.#options = options;
    for (const [token, context] of Object.entries(options.authorized ?? {}))
      this.#cache.set(token, {
        result: {
          policyDocument: { Statement: [{ Effect: 'Allow', Resource: `${api}/*` }] },
          context,
          usageIdentifierKey: context.keyHash,
        },
        until: Infinity,
      });
  }

  /** Empties the cache, as an operator's command does that ends what keys may do. */
  flushAuthorizerCache(): void {
    this.#cache.clear();
  }

  /** Lambda ends environments that wait. */
  endIdle(): void {
    this.#idle.clear();
  }

  /** @param number if it is not the next one */
  async send(sent: Sent, number = this.exchanges.length + 1): Promise<Exchange> {
    const { world } = this.#options;
    const exchange: Exchange = {
      number,
      sent,
      startedAt: world.now,
      endedAt: Infinity,
      authorizer: undefined,
      operation: undefined,
      answer: { status: 503 },
    };
    this.exchanges.push(exchange);
    exchange.answer = await this.#serve(exchange);
    exchange.endedAt = world.now;
    return exchange;
  }

  async #serve(exchange: Exchange): Promise<Exchange['answer']> {
    const {
      method,
      path,
      query = [],
      body = null,
      contentType = 'application/json',
      idempotencyKey,
      headers = [],
    } = exchange.sent;
    const result = await this.#authorize(exchange);
    if (result === undefined) return { status: 503 };
    const { policyDocument, context, usageIdentifierKey } = result as {
      policyDocument: { Statement: [Statement] };
      context: CallerContext;
      usageIdentifierKey: string;
    };
    const [statement] = policyDocument.Statement;
    if (statement.Effect !== 'Allow') return { status: 401 };
    if (!isOf(statement.Resource, `${api}/${method}${path}`)) return { status: 403 };
    if (this.#options.hasGatewayKey?.(usageIdentifierKey) === false) return { status: 401 };

    const route = routeOf(path);
    const entry =
      operations.find((each) => each.method === method && each.path === route.resource)?.entry ??
      unmatchedRoute;
    const event = proxyEvent({
      method,
      path,
      ...route,
      query,
      body,
      caller: context,
      headers: [
        ...(body === null ? [] : [['Content-Type', contentType] as const]),
        ...(idempotencyKey === undefined ? [] : [['Idempotency-Key', idempotencyKey] as const]),
        ...headers,
      ],
    });
    const operation = await this.#invoke(exchange, entry, event, timeouts.operation);
    const { outcome } = operation;
    if (outcome === 'timedOut' || 'thrown' in outcome) return { status: 503 };
    const answer = reply(outcome.returned);
    if (answer.headers['X-Request-Id'] !== event.requestContext.requestId)
      throw new Error('The answer does not have the ID of its request');
    return answer;
  }

  /** What the authorizer returns, or has returned in the last 60 seconds. Undefined if it fails. */
  async #authorize(exchange: Exchange): Promise<unknown> {
    const { world, network } = this.#options;
    const { method, path, token } = exchange.sent;
    // Commands empty it.
    network.tables.footprint.add('apigateway cache', 'read');
    let cached = this.#cache.get(token);
    if (cached === undefined || cached.until <= world.now) {
      const methodArn = `${api}/${method}${path}`;
      const authorizer = await this.#invoke(
        exchange,
        'authorizer',
        { type: 'TOKEN', authorizationToken: `Bearer ${token}`, methodArn },
        timeouts.authorizer,
      );
      const { outcome } = authorizer;
      if (outcome === 'timedOut' || 'thrown' in outcome) return undefined;
      cached = { result: outcome.returned, until: world.now + cacheSeconds * 1000 };
      this.#cache.set(token, cached);
    }
    return cached.result;
  }

  async #invoke(
    exchange: Exchange,
    entry: FunctionEntry,
    event: unknown,
    timeout: number,
  ): Promise<Invocation> {
    const { world, network } = this.#options;
    // Who gets which depends on those that have been given back, in whatever order.
    network.tables.footprint.add('idle environments', 'write');
    const version = this.#options.versionFor?.(`of ${entry} for request ${exchange.number}`);
    const pool = `${entry} ${version?.commit ?? ''}`;
    const environment = this.#idle.get(pool)?.pop() ?? this.#start(entry, version);
    const invocation: Invocation = {
      request: exchange.number,
      entry,
      environment,
      startedAt: world.now,
      writesBefore: network.tables.writeCount,
      endedAt: Infinity,
      calls: [],
      log: [],
      leftOver: 0,
      outcome: 'timedOut',
    };
    environment.invocation = invocation;
    exchange[entry === 'authorizer' ? 'authorizer' : 'operation'] = invocation;
    const end = world.now + timeout;
    const { promise: ended, resolve: endNow } = Promise.withResolvers<'timedOut'>();
    const timer = world.after(timeout, () => endNow('timedOut'));
    const context = { getRemainingTimeInMillis: () => end - world.now };
    invocation.outcome = await Promise.race([
      ended,
      environment.handler(event, context).then(
        (returned) => ({ returned }),
        (thrown: unknown) => ({ thrown }),
      ),
    ]);
    world.cancel(timer);
    invocation.endedAt = world.now;
    invocation.leftOver = invocation.calls.filter(({ ended: isEnded }) => !isEnded).length;
    network.tables.footprint.add('idle environments', 'mark');
    if (invocation.outcome !== 'timedOut') {
      const idle = [...(this.#idle.get(pool) ?? []), environment];
      this.#idle.set(
        pool,
        idle.toSorted((a, b) => b.number - a.number),
      );
    }
    return invocation;
  }

  #start(entry: FunctionEntry, wanted: Version | undefined): Environment {
    const { world, network, machine } = this.#options;
    const count = (this.#started.get(entry) ?? 0) + 1;
    this.#started.set(entry, count);
    const { random, version: own = current } = machine(`${entry} ${count}`);
    const chosen = wanted ?? own;
    // A new function has no other version.
    const version = chosen.entries.has(entry) ? chosen : current;
    const name = `${entry} ${count}${version.commit === undefined ? '' : ` of ${version.commit}`}`;
    const onCall = (call: Call) => {
      const { calls, request } = environment.invocation!;
      calls.push(call);
      call.name = `${request}${entry === 'authorizer' ? 'a' : '.'}${calls.length}`;
    };
    const { handler } = version.bundle.start(entry, {
      world,
      clockOffset: 0,
      random,
      // IDs of animals collide in some simulations, UUIDs never do.
      randomOfCrypto: Random.of(count, entry).next,
      variables: { ...variables, ...(this.#options.stage && { STAGE: this.#options.stage }) },
      log: (line) => void environment.invocation?.log.push(line),
      requestHandler: network.handlerFor(name, onCall, Infinity),
    });
    const environment: Environment = { name, number: count, handler: handler as Handler };
    return environment;
  }
}

interface Statement {
  readonly Effect: string;
  readonly Resource: string;
}

const api = 'arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/v1';

/** Whether the resource of a policy, in which `*` is any text, includes an ARN. */
function isOf(resource: string, arn: string): boolean {
  const parts = resource.split('*').map((part) => part.replaceAll(/[.$+?()[\]{}|\\^]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(arn);
}

/** The environment variables that lib/compute/functions.ts sets. */
const variables = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
  STAGE: 'test',
  DYNAMODB_CONNECTION_TIMEOUT_MS: '500',
  DYNAMODB_REQUEST_TIMEOUT_MS: '750',
  ...namesOfTables(titleCase),
  AUTHORIZER_CACHE_SECONDS: String(cacheSeconds),
  LIMITER_TIMEOUT_MS: '1000',
  METRICS_NAMESPACE: 'Test',
};
