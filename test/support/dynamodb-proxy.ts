import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { inject } from 'vitest';
import { loseAnswer, passBack, sendOn } from './forwarder.ts';

/**
 * The result of a call. `pass`: the database answers. `lose`: it does, but the connection breaks before the answer
 * arrives. `hang`: no answer ever comes. Otherwise this error, with `more` in its body, or this answer.
 */
export type Fate =
  | 'pass'
  | 'lose'
  | 'hang'
  | { readonly status: number; readonly type: string; readonly more?: object }
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** A proxy for the database that records calls, and can delay them or make them fail. */
export class DynamoDbProxy {
  /** The operations called so far, such as `UpdateItem`, in the order in which they arrived. */
  readonly calls: string[] = [];
  /** Calls that hang, and that their client has given up. */
  abandoned = 0;
  /** Decides each call. May wait before it does. @param table undefined for a transaction */
  fate: (operation: string, table: string | undefined) => Fate | Promise<Fate> = () => 'pass';
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor() {
    this.#server = createServer((incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
    });
  }

  static async start(): Promise<DynamoDbProxy> {
    const proxy = new DynamoDbProxy();
    await new Promise<void>((done) => proxy.#server.listen(0, '127.0.0.1', done));
    return proxy;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets what was called and passes everything on. */
  reset(): void {
    this.calls.length = 0;
    this.abandoned = 0;
    this.fate = () => 'pass';
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const operation = String(incoming.headers['x-amz-target']).split('.').at(-1) ?? '';
    this.calls.push(operation);
    const body = await buffer(incoming);
    const { TableName: table } = JSON.parse(body.toString()) as { readonly TableName?: string };
    const fate = await this.fate(operation, table);
    if (fate === 'hang') {
      outgoing.on('close', () => (this.abandoned += 1));
      return;
    }
    if (typeof fate === 'object') {
      outgoing.writeHead(fate.status, {
        'Content-Type': 'application/x-amz-json-1.0',
        ...('headers' in fate && fate.headers),
      });
      if ('body' in fate) return void outgoing.end(fate.body);
      outgoing.end(
        JSON.stringify({
          __type: `com.amazonaws.dynamodb.v20120810#${fate.type}`,
          message: 'No.',
          ...fate.more,
        }),
      );
      return;
    }
    const answer = await sendOn(inject('dynamodbEndpoint'), incoming, body, this.#agent);
    (fate === 'lose' ? loseAnswer : passBack)(answer, outgoing);
  }
}
