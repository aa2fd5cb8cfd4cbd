import type { Received } from './api-promise.ts';
import type { Method } from './arguments.ts';
import { AnimalStoreError, ApiError, ConnectionError, InvalidAnswerError, TimeoutError } from './errors.ts';
import { parseJson } from './exact-json.ts';
import { addressHint, failureOf } from './failures.ts';
import { rateLimitOf, requestIdOf } from './headers.ts';
import { type CallOptions, readCallOptions, type Settings } from './options.ts';
import { retryDelay } from './retry.ts';
import { version } from './version.ts';

export interface Call {
  /** The method of this client, for messages. */
  readonly name: string;
  readonly method: Method;
  /** Below the base address, with the query. */
  readonly path: string;
  /** Makes a creation safe to repeat. */
  readonly idempotencyKey?: string | undefined;
  /** JSON. */
  readonly body?: string | undefined;
}

/** What a call returns, made of the body and the headers of a success. The body is `undefined` if there is none. */
type Read<T> = (body: unknown, headers: Headers) => T;

interface Answer {
  readonly response: Response;
  readonly text: string;
}

interface Attempt {
  readonly url: string;
  readonly init: RequestInit;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** Sends calls until they succeed or fail for good. */
export class Transport {
  // Private, so that printing a store does not print the key.
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** @throws AnimalStoreError; TypeError when an option is not valid; the reason of an aborted signal */
  async send<T>(call: Call, options: CallOptions = {}, read: Read<T>): Promise<Received<T>> {
    const { baseUrl, maxRetryDelay, onRequest, onResponse, onRetry } = this.#settings;
    const { signal, timeout, maxRetries, headers } = readCallOptions(options, this.#settings, call.name);
    const { method, body, idempotencyKey } = call;
    const url = baseUrl + call.path;
    const init = {
      method,
      headers: this.#headers(headers, call),
      ...(body !== undefined && { body }),
    };
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      onRequest?.({ method, url, attempt });
      // A hook can abort it.
      signal?.throwIfAborted();
      const start = performance.now();
      const outcome = await this.#attempt({ url, init, timeout, signal });
      if ('response' in outcome) {
        const { status, headers: received } = outcome.response;
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
      }
      const result = 'response' in outcome ? this.#result(outcome, read) : outcome;
      if (!(result instanceof AnimalStoreError)) return result;
      const details = {
        method,
        url,
        attempts: attempt,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      };
      const failure = Object.assign(result, details);
      const delay = isSafeToRepeat(call, failure)
        ? retryDelay(failure, attempt, { maxRetries, maxRetryDelay }, Math.random())
        : undefined;
      if (delay === undefined) throw failure;
      onRetry?.({ method, url, attempt, error: failure, delay });
      await sleep(delay, signal);
    }
  }

  /** A later source replaces the headers of an earlier one. */
  #headers(ofCaller: Headers, { body, idempotencyKey }: Call): Headers {
    const headers = new Headers({
      Accept: 'application/json',
      'User-Agent': `animal-store-client/${version}`,
    });
    for (const source of [this.#settings.headers, ofCaller]) {
      for (const [name, value] of source) headers.set(name, value);
    }
    if (body !== undefined) headers.set('Content-Type', 'application/json');
    if (idempotencyKey !== undefined) headers.set('Idempotency-Key', idempotencyKey);
    headers.set('Authorization', `Bearer ${this.#settings.apiKey}`);
    return headers;
  }

  #result<T>({ response, text }: Answer, read: Read<T>): Received<T> | AnimalStoreError {
    const { baseUrl } = this.#settings;
    if (!response.ok) return failureOf(response, text, baseUrl);
    try {
      return { data: read(readBody(text, baseUrl), response.headers), response };
    } catch (error) {
      if (error instanceof AnimalStoreError) return error;
      throw error;
    }
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

/** Some answers, such as 204, have no body. */
function readBody(text: string, baseUrl: string): unknown {
  try {
    return text === '' ? undefined : parseJson(text);
  } catch (cause) {
    throw new InvalidAnswerError(`The answer is not valid JSON. ${addressHint(baseUrl)}`, { cause });
  }
}

/** A request that could add something twice is repeated only when it was rejected by the rate limit. */
function isSafeToRepeat({ method, idempotencyKey }: Call, failure: AnimalStoreError): boolean {
  if (idempotencyKey !== undefined || (method !== 'POST' && method !== 'PATCH')) return true;
  return failure instanceof ApiError && failure.status === 429;
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
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
