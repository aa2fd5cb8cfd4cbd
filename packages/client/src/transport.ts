import type { Received } from './api-promise.ts';
import type { Method } from './arguments.ts';
import {
  AbortError,
  AnimalStoreError,
  ApiError,
  ConnectionError,
  InvalidAnswerError,
  TimeoutError,
  withHeaders,
} from './errors.ts';
import { parseJson } from './exact-json.ts';
import { addressHint, failureOf } from './error-answers.ts';
import { rateLimitOf, rateLimitsOf, requestIdOf } from './headers.ts';
import {
  type CallOptions,
  type FetchInit,
  logsRetries,
  readCallOptions,
  type RetryEvent,
  type Settings,
} from './options.ts';
import { retryDelay } from './retry.ts';
import { onAbort } from './signals.ts';
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
  readonly init: Pick<FetchInit, 'method' | 'headers' | 'body'>;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** Sends calls until they succeed or fail for good. */
export class Transport {
  // It is private, so that printing a store does not print the key.
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** @throws AnimalStoreError; TypeError when an option is not valid */
  async send<T>(call: Call, options: CallOptions = {}, read: Read<T>): Promise<Received<T>> {
    const { baseUrl, maxRetryDelay, onRequest, onResponse, onRetry } = this.#settings;
    const { signal, timeout, maxRetries, headers } = readCallOptions(options, this.#settings, call.name);
    const { method, body, idempotencyKey } = call;
    const url = baseUrl + call.path;
    const init = {
      method,
      // The headers are a plain object, because a `fetch` of another realm or package has another class.
      headers: Object.fromEntries(this.#headers(headers, call)),
      ...(body !== undefined && { body }),
    };
    const failure = (error: AnimalStoreError, attempts: number): AnimalStoreError =>
      Object.assign(error, {
        method,
        url,
        attempts,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      });
    for (let attempt = 1; ; attempt += 1) {
      const request = { method, url, attempt };
      if (signal?.aborted !== true) void watch('onRequest', onRequest, request);
      // A hook can abort it.
      if (signal?.aborted === true) throw failure(new AbortError(signal.reason), attempt - 1);
      const start = performance.now();
      const outcome = await this.#attempt({ url, init, timeout, signal });
      if ('response' in outcome) {
        const { status, headers: received } = outcome.response;
        void watch('onResponse', onResponse, {
          ...request,
          status,
          requestId: requestIdOf(received),
          rateLimit: rateLimitOf(received),
          rateLimits: rateLimitsOf(received),
          duration: performance.now() - start,
        });
      }
      const result = 'response' in outcome ? this.#result(outcome, read) : outcome;
      if (!(result instanceof AnimalStoreError)) return result;
      const error = failure(result, attempt);
      const delay = isSafeToRepeat(call, error)
        ? retryDelay(error, attempt, { maxRetries, maxRetryDelay }, Math.random())
        : undefined;
      if (delay === undefined) throw error;
      // Its frames are those of this client. An error that ends the call gets those of the caller.
      error.stack = `${error.name}: ${error.message}`;
      const retry = { ...request, error, delay };
      if (logsRetries()) logRetry(retry);
      void watch('onRetry', onRetry, retry);
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
      if (!(error instanceof InvalidAnswerError)) throw error;
      const { status, headers } = response;
      return withHeaders(Object.assign(error, { status, requestId: requestIdOf(headers) }), headers);
    }
  }

  async #attempt({ url, init, timeout, signal }: Attempt): Promise<Answer | AnimalStoreError> {
    const { baseUrl, fetch: ask } = this.#settings;
    const abort = new AbortController();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      abort.abort();
    }, timeout);
    const end = onAbort(signal, () => abort.abort(signal?.reason));
    try {
      // The service has no redirects, and the key is for no other address.
      const answer = await ask(url, { ...init, redirect: 'manual', signal: abort.signal });
      // That of undici has another type than the global one, but the same members.
      const response = answer as Response;
      return { response, text: await response.text() };
    } catch (cause) {
      if (signal?.aborted === true) return new AbortError(signal.reason);
      return timedOut ? new TimeoutError(baseUrl, timeout) : new ConnectionError(baseUrl, cause);
    } finally {
      clearTimeout(timer);
      end();
    }
  }
}

/** Calls a hook, which only watches: its errors are printed, and change no result. */
async function watch<Event>(name: string, hook: ((event: Event) => unknown) | undefined, event: Event) {
  try {
    await hook?.(event);
  } catch (error) {
    console.error(`animal-store-client: ${name} failed:`, error);
  }
}

function logRetry({ method, url, attempt, error, delay }: RetryEvent): void {
  const seconds = (delay / 1_000).toFixed(1);
  console.error(
    `animal-store-client: ${method} ${url}: ${error.code}. Attempt ${attempt + 1} in ${seconds} s.`,
  );
}

/** Some answers, such as 204, have no body. */
function readBody(text: string, baseUrl: string): unknown {
  try {
    return text === '' ? undefined : parseJson(text);
  } catch (cause) {
    const message =
      cause instanceof SyntaxError
        ? `The answer is not valid JSON. ${addressHint(baseUrl)}`
        : `The answer of ${text.length} characters is too large or too deeply nested to be read.`;
    throw new InvalidAnswerError(message, { cause });
  }
}

/** A request that could add something twice is repeated only when it was rejected by the rate limit. */
function isSafeToRepeat({ method, idempotencyKey }: Call, failure: AnimalStoreError): boolean {
  if (idempotencyKey !== undefined || (method !== 'POST' && method !== 'PATCH')) return true;
  return failure instanceof ApiError && failure.status === 429;
}

/** Ends early when the signal is aborted. */
function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const stop = onAbort(signal, end);
  });
}
