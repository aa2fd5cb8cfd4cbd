import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { inject } from 'vitest';
import { selfSignedCertificate } from './certificate.ts';
import { passBack, sendOn } from './forwarder.ts';
import { signatureFault } from './signature.ts';
import { awsVariables } from './variables.ts';

/** The result of a call that does not reach the database: an answer, or a broken connection. */
export type Failure = 'reset' | { readonly status: number; readonly body: string };

export interface Attempt {
  readonly operation: string;
  readonly attempt: string;
}

/** The database over TLS, for requests with a valid signature only. It checks neither itself. */
export class DynamoDbOverTls {
  /** The attempts that arrived, in order. */
  readonly attempts: Attempt[] = [];
  /** The errors in the signatures of the attempts. */
  readonly signatureFaults: string[] = [];
  readonly certificate: string;
  readonly #faults = new Map<string, Failure[]>();
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor() {
    const { key, certificate } = selfSignedCertificate('localhost');
    this.certificate = certificate;
    this.#server = createServer({ key, cert: certificate }, (incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
    });
  }

  static async start(): Promise<DynamoDbOverTls> {
    const dynamoDb = new DynamoDbOverTls();
    await new Promise<void>((done) => dynamoDb.#server.listen(0, 'localhost', done));
    return dynamoDb;
  }

  get endpoint(): string {
    return `https://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next attempts of this operation get these failures, one each. */
  fail(operation: string, ...faults: readonly Failure[]): void {
    this.#faults.set(operation, [...faults]);
  }

  /** Clears attempts and failures. */
  reset(): void {
    this.attempts.length = 0;
    this.signatureFaults.length = 0;
    this.#faults.clear();
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { headers } = incoming;
    const operation = String(headers['x-amz-target']).split('.').at(-1) ?? '';
    this.attempts.push({
      operation,
      attempt: String(headers['amz-sdk-request']),
    });
    const body = await buffer(incoming);
    const { AWS_REGION: region, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = awsVariables(this.endpoint);
    const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
    const signature = signatureFault(incoming, body, credentials, region, 'dynamodb');
    if (signature !== undefined) this.signatureFaults.push(signature);

    const fault = this.#faults.get(operation)?.shift();
    if (fault === 'reset') return void incoming.socket.destroy();
    if (fault !== undefined) {
      outgoing.writeHead(fault.status, { 'Content-Type': 'application/x-amz-json-1.0' }).end(fault.body);
      return;
    }
    passBack(await sendOn(inject('dynamodbEndpoint'), incoming, body, this.#agent), outgoing);
  }
}
