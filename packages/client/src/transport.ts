import { AnimalStoreError, ApiError, ConnectionError, TimeoutError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import { readRetryAfter, retryDelay, type RetrySettings } from './retry.ts';
import { version } from './version.ts';

/** What every method takes as its last argument. */
export interface CallOptions {
  /** Ends the call, waiting for another attempt included. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt; replaces the store's `timeout`. */
  readonly timeout?: number | undefined;
}

export interface Call {
  readonly method: 'GET' | 'POST';
  /** Below the base address, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly headers: Headers;
  readonly text: string;
}

export interface TransportSettings extends RetrySettings {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Milliseconds for one attempt. */
  readonly timeout: number;
  readonly fetch: typeof fetch;
  readonly sleep?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
  readonly random?: () => number;
}

/** Sends calls until they succeed or fail for good. Every call must be safe to repeat. */
export class Transport {
  // Private, so that printing a store does not print the key.
  readonly #settings: Required<TransportSettings>;

  constructor(settings: TransportSettings) {
    this.#settings = { sleep, random: Math.random, ...settings };
  }

  /** @throws AnimalStoreError; the reason of an aborted signal */
  async send(call: Call, { signal, timeout = this.#settings.timeout }: CallOptions = {}): Promise<Answer> {
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const outcome = await this.#attempt(call, timeout, signal);
      if (!(outcome instanceof AnimalStoreError)) return outcome;
      const delay = retryDelay(outcome, attempt, this.#settings, this.#settings.random());
      if (delay === undefined) throw outcome;
      await this.#settings.sleep(delay, signal);
    }
  }

  async #attempt(
    { method, path, headers, body }: Call,
    timeout: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer | AnimalStoreError> {
    const { baseUrl, apiKey, fetch: ask } = this.#settings;
    const abort = new AbortController();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      abort.abort();
    }, timeout);
    const onAbort = (): void => abort.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    try {
      const response = await ask(baseUrl + path, {
        method,
        headers: {
          ...headers,
          Accept: 'application/json',
          Authorization: `Bearer ${apiKey}`,
          'User-Agent': `animal-store-client/${version}`,
        },
        ...(body !== undefined && { body }),
        // The service has no redirects, and the key is for no other address.
        redirect: 'error',
        signal: abort.signal,
      });
      const text = await response.text();
      return response.ok ? { headers: response.headers, text } : toApiError(response, text);
    } catch (cause) {
      signal?.throwIfAborted();
      return timedOut ? new TimeoutError(timeout) : new ConnectionError(cause);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

function toApiError({ status, headers }: Response, text: string): ApiError {
  const { code, message } = readErrorBody(text);
  return new ApiError(code ?? 'unknown_error', message ?? `The service answered with status ${status}.`, {
    status,
    requestId: headers.get('X-Request-Id') ?? undefined,
    retryAfter: readRetryAfter(headers.get('Retry-After'), Date.now()),
  });
}

function readErrorBody(text: string): { readonly code?: string; readonly message?: string } {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    return {};
  }
  if (typeof body !== 'object' || body === null || !('code' in body) || !('message' in body)) return {};
  const { code, message } = body;
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : {};
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      // As fetch does: the reason is whatever the caller gave.
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
