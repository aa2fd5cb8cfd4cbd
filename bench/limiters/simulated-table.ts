import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { type HttpRequest, HttpResponse } from '@smithy/core/protocols';
import type { NodeHttpHandler } from '@smithy/node-http-handler';
import type { HttpHandlerOptions } from '@smithy/types';
import * as z from 'zod';
import { MemoryTables } from '../../test/support/memory-tables.ts';

/** What happens to one attempt of a call. */
export interface Fate {
  /** Milliseconds until the answer. The call takes effect after half of it. */
  readonly latency: number;
  /** `throttled`: DynamoDB refuses it. `lost`: it has no effect and no answer. */
  readonly kind: 'answered' | 'throttled' | 'lost';
}

const item = z.record(z.string(), z.any());
const call = z.looseObject({
  Key: item.optional(),
  Item: item.optional(),
  ExpressionAttributeValues: item.optional(),
  ReturnValuesOnConditionCheckFailure: z.string().optional(),
});

/** Milliseconds after which a client gives an attempt up: that of the deployed functions, for all limiters. */
const requestTimeout = 750;

/**
 * DynamoDB behind the HTTP handler of SDK clients, on the clock of this process, which a simulation sets. The clients
 * sign, retry and wait as they do on Lambda.
 */
export class SimulatedTable {
  readonly #tables = new MemoryTables();
  readonly #fateOf: () => Fate;
  /** Attempts that arrived, and the capacity units that they consumed. */
  calls = 0;
  writeUnits = 0;
  readUnits = 0;

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
    const late = kind === 'lost' || latency > requestTimeout;
    if (kind === 'lost') await sleep(requestTimeout);
    else {
      await sleep(latency / 2);
      const answer = kind === 'throttled' ? throttled : this.#apply(operation, body);
      await sleep((late ? requestTimeout : latency) - latency / 2);
      if (!late) return respond(answer);
    }
    throw Object.assign(new Error(`No answer within ${requestTimeout} ms`), { name: 'TimeoutError' });
  }

  #apply(operation: string, body: string): Answer {
    if (operation === 'GetItem') this.readUnits += 1;
    // A write whose condition fails consumes as much.
    else this.writeUnits += 1;
    const input = call.parse(JSON.parse(body));
    const { Key, Item, ExpressionAttributeValues: values } = input;
    const parsed = {
      ...input,
      ...(Key && { Key: unmarshall(Key) }),
      ...(Item && { Item: unmarshall(Item) }),
      ...(values && { ExpressionAttributeValues: unmarshall(values) }),
    };
    try {
      const output = this.#tables.send(commandOf(operation, parsed));
      const marshalled = Object.entries(output).map(([name, value]) => [name, marshall(value)]);
      return { status: 200, body: Object.fromEntries(marshalled) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const shown = input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && error.Item;
      return failure(error.name, shown ? { Item: error.Item } : {});
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

function commandOf(operation: string, input: object) {
  if (operation === 'UpdateItem') return new UpdateCommand(input as UpdateCommand['input']);
  if (operation === 'PutItem') return new PutCommand(input as PutCommand['input']);
  if (operation === 'GetItem') return new GetCommand(input as GetCommand['input']);
  throw new Error(`The simulated table does not know ${operation}.`);
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
