import { Agent, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { HttpResponse } from './response.ts';

/** `fetch` and the global agent go through the proxy of HTTP_PROXY, also to this machine. */
const direct = new Agent({ keepAlive: true });

/** Sends a request to this machine, never through a proxy. @throws Error, also when there is no answer in time */
export function requestLocally(
  url: string,
  timeoutMs: number,
  { method = 'GET', headers = {}, body }: LocalRequest = {},
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
  const signal = AbortSignal.timeout(timeoutMs);
  const sent = request(url, { agent: direct, method, headers: { ...headers }, signal }, (response) => {
    const { statusCode: status = 0, rawHeaders } = response;
    const pairs = rawHeaders.flatMap((name, index) =>
      index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? ''] as const] : [],
    );
    buffer(response).then((content) => resolve({ status, headers: pairs, body: content }), reject);
  });
  sent.on('error', (error) =>
    reject(signal.aborted ? new Error(`no answer within ${timeoutMs / 1000} s`) : error),
  );
  sent.end(body);
  return promise;
}

interface LocalRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}
