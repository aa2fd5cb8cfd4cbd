import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { inject } from 'vitest';
import { awsVariables } from './aws-variables.ts';
import { selfSignedCertificate } from './certificate.ts';
import { signatureFault } from './signature.ts';

/** What becomes of a call instead of reaching DynamoDB Local: an answer, or a connection that breaks. */
export type Fault = 'reset' | { readonly status: number; readonly body: string };

export interface Attempt {
  readonly operation: string;
  readonly attempt: string;
}

/**
 * DynamoDB Local as DynamoDB shows itself: over TLS, and only for requests that are rightly signed. Neither of which
 * DynamoDB Local cares about.
 */
export class DynamoDbOverTls {
  /** What arrived, in the order in which it did. */
  readonly attempts: Attempt[] = [];
  /** What is wrong with the signatures of what arrived. */
  readonly signatureFaults: string[] = [];
  readonly certificate: string;
  readonly #faults = new Map<string, Fault[]>();
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

  /** The next attempts of this operation meet with these, one each. */
  fail(operation: string, ...faults: readonly Fault[]): void {
    this.#faults.set(operation, [...faults]);
  }

  /** Forgets what arrived and what was to fail. */
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
    const { headers, method, url } = incoming;
    const operation = String(headers['x-amz-target']).split('.').at(-1) ?? '';
    this.attempts.push({
      operation,
      attempt: String(headers['amz-sdk-request']),
    });
    const body = await buffer(incoming);
    const { AWS_REGION: region, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = awsVariables(this.endpoint);
    const credentials = { accessKeyId: AWS_ACCESS_KEY_ID!, secretAccessKey: AWS_SECRET_ACCESS_KEY! };
    const signature = signatureFault(incoming, body, credentials, region!, 'dynamodb');
    if (signature !== undefined) this.signatureFaults.push(signature);

    const fault = this.#faults.get(operation)?.shift();
    if (fault === 'reset') return void incoming.socket.destroy();
    if (fault !== undefined) {
      outgoing.writeHead(fault.status, { 'Content-Type': 'application/x-amz-json-1.0' }).end(fault.body);
      return;
    }
    const onward = request(new URL(url ?? '/', inject('dynamodbEndpoint')), {
      method,
      headers,
      agent: this.#agent,
    });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', (error) => outgoing.destroy(error));
    onward.end(body);
  }
}
