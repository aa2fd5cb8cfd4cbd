import { inject, vi } from 'vitest';
import type { CallerContext } from '../../functions/access/caller.ts';
import type { Limits } from '../../functions/access/plans.ts';
import { operations } from '../../functions/operations.ts';
import { type HttpRequest, newCaller, proxyEvent, routeOf } from './events.ts';
import { lambdaContext, type Reply, reply } from './lambda.ts';
import { createTables, type Tables } from './create-tables.ts';
import { functionVariables } from './variables.ts';

type Handler = (event: never, context: ReturnType<typeof lambdaContext>) => Promise<unknown>;

export interface Call extends Pick<HttpRequest, 'query' | 'headers' | 'body'> {
  readonly method?: string;
  /** Below the stage, as the client sends it. */
  readonly path: string;
  readonly caller?: CallerContext;
  /** Until Lambda ends the function. */
  readonly remainingMs?: number;
}

export interface ServiceOptions {
  /** Of DynamoDB, for the functions. Tables are always created in the database of the tests. */
  readonly endpoint?: string;
  /** Variables that differ from what the stack would set. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Limits that no test reaches. */
const ample: Limits = { perMinute: 60_000, perDay: 1_000_000 };

/** Captures the log of the functions, which they write to standard output: one line for each request. */
export function captureLog(): string[] {
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    lines.push(String(chunk));
    return true;
  });
  return lines;
}

/**
 * The functions of the API with their own tables, called as API Gateway calls them. Each service loads the modules of the
 * functions again, as a new execution environment does.
 */
export class Service {
  readonly tables: Tables;
  readonly authorizer: Handler;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #unmatched: Handler;
  readonly #caller = newCaller('enterprise', ample);

  private constructor(
    tables: Tables,
    handlers: ReadonlyMap<string, Handler>,
    unmatched: Handler,
    authorizer: Handler,
  ) {
    this.tables = tables;
    this.#handlers = handlers;
    this.#unmatched = unmatched;
    this.authorizer = authorizer;
  }

  static async start({
    endpoint = inject('dynamodbEndpoint'),
    variables = {},
  }: ServiceOptions = {}): Promise<Service> {
    const tables = await createTables();
    const environment = { ...functionVariables(endpoint, tables), ...variables };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    vi.resetModules();
    const handlers = new Map<string, Handler>();
    for (const { method, path, entry } of operations) handlers.set(`${method} ${path}`, await load(entry));
    return new Service(tables, handlers, await load('unmatched-route'), await load('authorizer'));
  }

  /** The key of each call without its own. */
  get caller(): CallerContext {
    return this.#caller;
  }

  /** Sends a request through the function that API Gateway would choose. */
  async call({ method = 'GET', path, caller = this.#caller, remainingMs, ...rest }: Call): Promise<Reply> {
    const route = routeOf(path);
    const handler = this.#handlers.get(`${method} ${route.resource}`) ?? this.#unmatched;
    const event = proxyEvent({ method, path, caller, ...route, ...rest });
    const answer = reply(await handler(event as never, lambdaContext(remainingMs)));
    if (answer.headers['X-Request-Id'] !== event.requestContext.requestId) {
      throw new Error('The answer does not carry the ID of its request');
    }
    return answer;
  }

  get(path: string, caller?: CallerContext): Promise<Reply> {
    const [below = '', search = ''] = path.split('?');
    return this.call({ path: below, query: [...new URLSearchParams(search)], ...(caller && { caller }) });
  }

  /**
   * @param body text or bytes as they are, anything else as JSON
   * @param idempotencyKeys a header `Idempotency-Key` for each
   */
  post(body: unknown, caller?: CallerContext, ...idempotencyKeys: readonly string[]): Promise<Reply> {
    return this.call({
      method: 'POST',
      path: '/pets',
      headers: [
        ['Content-Type', 'application/json'],
        ...idempotencyKeys.map((key) => ['Idempotency-Key', key] as const),
      ],
      body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      ...(caller && { caller }),
    });
  }
}

async function load(entry: string): Promise<Handler> {
  const module = (await import(`../../functions/${entry}.ts`)) as { handler: Handler };
  return module.handler;
}
