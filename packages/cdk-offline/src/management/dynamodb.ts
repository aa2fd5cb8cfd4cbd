import { Agent, request as httpRequest } from 'node:http';
import type { HttpResponse } from '../http-message.ts';
import { jsonError, type ManagementRequest } from './responses.ts';

/** Hands calls on to DynamoDB Local, so that one endpoint is enough for a tool. */
export class DynamoDbForwarder {
  readonly #endpoint: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(endpoint: string) {
    this.#endpoint = endpoint;
  }

  answer({ method, headers, body }: ManagementRequest): Promise<HttpResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
    const forwarded = httpRequest(this.#endpoint, { method, headers, agent: this.#agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const copied = Object.entries(response.headers).filter(([name]) => !hopByHop.has(name));
        resolve({
          status: response.statusCode ?? 502,
          headers: copied.map(([name, value]) => [name, String(value)]),
          body: Buffer.concat(chunks),
        });
      });
    });
    forwarded.on('error', (error) =>
      resolve(jsonError(503, 'ServiceUnavailable', `DynamoDB does not answer: ${error.message}`)),
    );
    forwarded.end(body);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** RFC 9110, section 7.6.1; the length is set anew. */
const hopByHop = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);
