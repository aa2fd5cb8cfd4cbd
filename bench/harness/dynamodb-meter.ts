import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, json } from 'node:stream/consumers';
import * as z from 'zod';

/** One call, and what it consumed. */
export interface Metered {
  readonly operation: string;
  readonly table: string;
  /** Capacity units, table and indexes together. */
  readonly units: number;
}

const asked = z.looseObject({ TableName: z.string() });
const consumed = z.object({ ConsumedCapacity: z.object({ CapacityUnits: z.number() }).optional() });

/** Stands in front of DynamoDB Local and asks it what every call consumes. */
export class DynamoDbMeter {
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #calls: Metered[] = [];

  private constructor(endpoint: string) {
    this.#server = createServer((incoming, outgoing) => {
      this.#serve(endpoint, incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
    });
  }

  static async start(endpoint: string): Promise<DynamoDbMeter> {
    const meter = new DynamoDbMeter(endpoint);
    await new Promise<void>((done) => void meter.#server.listen(0, '127.0.0.1', done));
    return meter;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The calls since the last reading. */
  read(): Metered[] {
    return this.#calls.splice(0);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #serve(endpoint: string, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers } = incoming;
    const operation = String(headers['x-amz-target']).split('.').at(-1)!;
    const input = asked.parse(await json(incoming));
    const body = JSON.stringify({ ...input, ReturnConsumedCapacity: 'INDEXES' });
    const onward = request(endpoint, {
      method: 'POST',
      agent: this.#agent,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    });
    onward.on('error', (error) => outgoing.destroy(error));
    onward.on('response', (answer) => {
      void buffer(answer).then((bytes) => {
        const { ConsumedCapacity: capacity } = consumed.parse(JSON.parse(bytes.toString()));
        this.#calls.push({ operation, table: input.TableName, units: capacity?.CapacityUnits ?? Number.NaN });
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(bytes);
      });
    });
    onward.end(body);
  }
}
