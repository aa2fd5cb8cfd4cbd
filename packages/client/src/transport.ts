import { type AnimalStoreError, ConnectionError, TimeoutError } from './errors.ts';
import { failureOf } from './failures.ts';
import { rateLimitOf, requestIdOf } from './headers.ts';
import { type CallOptions, readCallOptions, type Settings } from './options.ts';
import { retryDelay } from './retry.ts';
import { version } from './version.ts';

export interface Call {
  /** The method of this client, for messages. */
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Below the base address, with the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Answer {
  readonly response: Response;
  readonly text: string;
}

interface Attempt {
  readonly url: string;
  readonly init: RequestInit;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** Sends calls until they succeed or fail for good. Every call must be safe to repeat. */
export class Transport {
  // Private, so that printing a store does not print the key.
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** @throws AnimalStoreError; TypeError when an option is not valid; the reason of an aborted signal */
  async send(call: Call, options: CallOptions = {}): Promise<Answer> {
    const { baseUrl, maxRetryDelay, onRequest, onResponse, onRetry } = this.#settings;
    const { signal, timeout, maxRetries, headers } = readCallOptions(options, this.#settings, call.name);
    const { method, body } = call;
    const url = baseUrl + call.path;
    const init = {
      method,
      headers: this.#headers(headers, call.headers),
      ...(body !== undefined && { body }),
    };
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      onRequest?.({ method, url, attempt });
      const start = performance.now();
      const outcome = await this.#attempt({ url, init, timeout, signal });
      let failure: AnimalStoreError;
      if ('response' in outcome) {
        const { response, text } = outcome;
        const { status, headers: received } = response;
        const [requestId, rateLimit] = [requestIdOf(received), rateLimitOf(received)];
        onResponse?.({
          method,
          url,
          attempt,
          status,
          requestId,
          rateLimit,
          duration: performance.now() - start,
        });
        if (response.ok) return outcome;
        failure = failureOf(response, text, baseUrl);
      } else {
        failure = outcome;
      }
      const delay = retryDelay(failure, attempt, { maxRetries, maxRetryDelay }, Math.random());
      if (delay === undefined) throw failure;
      onRetry?.({ method, url, attempt, error: failure, delay });
      await sleep(delay, signal);
    }
  }

  /** A later source replaces the headers of an earlier one. */
  #headers(ofCaller: Headers, ofCall: Readonly<Record<string, string>> = {}): Headers {
    const headers = new Headers({
      Accept: 'application/json',
      'User-Agent': `animal-store-client/${version}`,
    });
    for (const source of [this.#settings.headers, ofCaller, new Headers(ofCall)]) {
      for (const [name, value] of source) headers.set(name, value);
    }
    headers.set('Authorization', `Bearer ${this.#settings.apiKey}`);
    return headers;
  }

  async #attempt({ url, init, timeout, signal }: Attempt): Promise<Answer | ConnectionError | TimeoutError> {
    const { baseUrl, fetch: ask } = this.#settings;
    const abort = new AbortController();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      abort.abort();
    }, timeout);
    const onAbort = (): void => abort.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    try {
      // The service has no redirects, and the key is for no other address.
      const response = await ask(url, { ...init, redirect: 'manual', signal: abort.signal });
      return { response, text: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      return timedOut ? new TimeoutError(baseUrl, timeout) : new ConnectionError(baseUrl, cause);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }
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
