import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { inject } from 'vitest';
import { selfSignedCertificate } from './certificate.ts';
import { loseAnswer, passBack, sendOn } from './forwarder.ts';
import { signatureFault } from './signature.ts';
import { awsVariables } from './variables.ts';

/**
 * The result of a call. `pass`: the database answers. `lose`: it does, but the connection breaks before the answer
 * arrives. `reset`: the connection breaks before it. `hang`: no answer ever comes. Otherwise this error, with `more` in its body, or this answer.
 */
export type ProxyFate =
  | 'pass'
  | 'lose'
  | 'reset'
  | 'hang'
  | { readonly status: number; readonly type: string }
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** A proxy for the database that records calls, and can delay them or make them fail. */
export class DynamoDbProxy {
  /** The operations called so far, such as `UpdateItem`, in the order in which they arrived. */
  readonly calls: string[] = [];
  /** The same calls, as the SDK numbers its attempts: `UpdateItem attempt=1; max=4`. */
  readonly attempts: string[] = [];
  /** What is wrong with the signatures of calls. The database checks none. */
  readonly signatureFaults: string[] = [];
  /** Calls that hang, and that their client has given up. */
  abandoned = 0;
  /** Decides each call. May wait before it does. @param table undefined for a transaction */
  fate: (operation: string, table: string | undefined) => ProxyFate | Promise<ProxyFate> = () => 'pass';
  /** The certificate in PEM, if the proxy is behind TLS. */
  readonly certificate: string | undefined;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(tls: { readonly key: string; readonly certificate: string } | undefined) {
    this.certificate = tls?.certificate;
    const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
      this.#serve(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
    };
    this.#server = tls
      ? createTlsServer({ key: tls.key, cert: tls.certificate }, listener)
      : createServer(listener);
  }

  static async start({ tls = false } = {}): Promise<DynamoDbProxy> {
    const proxy = new DynamoDbProxy(tls ? selfSignedCertificate('localhost') : undefined);
    await new Promise<void>((done) => proxy.#server.listen(0, tls ? 'localhost' : '127.0.0.1', done));
    return proxy;
  }

  get endpoint(): string {
    const { port } = this.#server.address() as AddressInfo;
    return this.certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  }

  /** Forgets what was called and passes everything on. */
  reset(): void {
    this.calls.length = 0;
    this.attempts.length = 0;
    this.signatureFaults.length = 0;
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
    this.attempts.push(`${operation} ${String(incoming.headers['amz-sdk-request'])}`);
    const body = await buffer(incoming);
    const { AWS_REGION: region, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = awsVariables(this.endpoint);
    const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
    const fault = signatureFault(incoming, body, credentials, region, 'dynamodb');
    if (fault !== undefined) this.signatureFaults.push(fault);
    const { TableName: table } = JSON.parse(body.toString()) as { readonly TableName?: string };
    const fate = await this.fate(operation, table);
    if (fate === 'hang') {
      outgoing.on('close', () => (this.abandoned += 1));
      return;
    }
    if (fate === 'reset') return void incoming.socket.destroy();
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
        }),
      );
      return;
    }
    const answer = await sendOn(inject('dynamodbEndpoint'), incoming, body, this.#agent);
    (fate === 'lose' ? loseAnswer : passBack)(answer, outgoing);
  }
}
