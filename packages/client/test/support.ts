import { AnimalStore, type AnimalStoreOptions } from '../src/index.ts';

export const baseUrl = 'https://store.test/v1';
export const apiKey = 'as_test_secret';
export const rex = '{"id":9007199254740991,"name":"Rex","categoryId":7,"status":"available"}';

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
  readonly signal: AbortSignal;
}

export type Step = (sent: Sent) => Response | Promise<Response>;

export const respond =
  (status: number, body: string, headers: Record<string, string> = {}): Step =>
  () =>
    new Response(body, { status, headers });

/** An error of the service. */
export const error = (status: number, code: string, headers: Record<string, string> = {}): Step =>
  respond(status, JSON.stringify({ code, message: 'm', status }), { 'X-Request-Id': 'r-1', ...headers });

export const lost: Step = () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('read'), { code: 'ECONNRESET' }) });
};

export const never: Step = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
  });

/** A store whose service answers in these steps. */
export function scripted(steps: readonly Step[], options: AnimalStoreOptions = {}) {
  const sent: Sent[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const { url, method, headers, signal } = request;
    const call = { url, method, headers, signal: init?.signal ?? signal, body: await request.text() };
    sent.push(call);
    const step = steps[sent.length - 1];
    if (step === undefined) throw new Error('more requests than expected');
    return step(call);
  };
  return { sent, store: new AnimalStore({ baseUrl, apiKey, fetch, ...options }) };
}
