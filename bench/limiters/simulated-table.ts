import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import type { NodeHttpHandler } from '@smithy/node-http-handler';
import type { HttpHandlerOptions } from '@smithy/types';
import { MemoryTables, type Operation, Refusal } from '../../test/support/memory-tables.ts';

/** What happens to one attempt of a call. */
export interface Fate {
  /** Milliseconds until the answer. The call takes effect after half of it. */
  readonly latency: number;
  /** `throttled`: DynamoDB refuses it. `lost`: it has no effect and no answer. */
  readonly kind: 'answered' | 'throttled' | 'lost';
}

/** Milliseconds after which a client gives an attempt up: that of the deployed functions, for all limiters. */
const requestTimeout = 750;

/**
 * DynamoDB behind the HTTP handler of SDK clients, on the clock of this process, which a simulation sets. The clients
 * sign, retry and wait as they do on Lambda.
 */
export class SimulatedTable {
  readonly #tables = new MemoryTables();
  readonly #fateOf: () => Fate;
  /** Attempts that arrived. */
  calls = 0;

  constructor(fateOf: () => Fate) {
    this.#fateOf = fateOf;
  }

  /** For the option `requestHandler` of SDK clients. */
  get handler(): NodeHttpHandler {
    const handle = async ({ headers, body }: HttpRequest, { abortSignal }: HttpHandlerOptions = {}) => {
      const operation = headers['x-amz-target']?.split('.').at(-1) ?? '';
      const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
      return { response: await Promise.race([this.#answer(operation, text), aborted(abortSignal)]) };
    };
    const unused = { destroy: () => {}, updateHttpClientConfig: () => {}, httpHandlerConfigs: () => ({}) };
    return { ...unused, handle, metadata: { handlerProtocol: 'http/1.1' } } as unknown as NodeHttpHandler;
  }

  async #answer(operation: string, body: string): Promise<HttpResponse> {
    this.calls += 1;
    const { latency, kind } = this.#fateOf();
    if (kind === 'lost') {
      await sleep(requestTimeout);
      throw Object.assign(new Error(`No answer within ${requestTimeout} ms`), { name: 'TimeoutError' });
    }
    await sleep(latency / 2);
    const answer = kind === 'throttled' ? throttled : this.#apply(operation, body);
    await sleep(latency / 2);
    return respond(answer);
  }

  #apply(operation: string, body: string): Answer {
    try {
      return { status: 200, body: this.#tables.call(operation as Operation, JSON.parse(body) as never) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return failure(error.type, error.members);
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

function failure(name: string, details: object = {}): Answer {
  return { status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, ...details } };
}

const throttled = failure('ThrottlingException');

function respond({ status, body }: Answer): HttpResponse {
  return new HttpResponse({
    statusCode: status,
    headers: { 'content-type': 'application/x-amz-json-1.0', date: new Date().toUTCString() },
    body: Buffer.from(JSON.stringify(body)),
  });
}

function aborted(signal: HttpHandlerOptions['abortSignal']): Promise<never> {
  return new Promise((_, reject) => {
    if (!(signal instanceof AbortSignal)) return;
    const abort = () => reject(Object.assign(new Error('Aborted'), { name: 'AbortError' }));
    signal.addEventListener('abort', abort, { once: true });
  });
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds));
}
