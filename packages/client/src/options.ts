import {
  checkFunction,
  checkMilliseconds,
  checkObject,
  checkWholeNumber,
  type Method,
  readHeaders,
  rejectUnknown,
} from './arguments.ts';
import { isBrowser } from './browser.ts';
import type { AnimalStoreError } from './errors.ts';
import type { RateLimit, RateLimits } from './headers.ts';

export interface AnimalStoreOptions {
  /** Default: the environment variable `ANIMAL_STORE_API_KEY`. */
  readonly apiKey?: string | undefined;
  /**
   * The base URL with the version segment, such as `https://api.example.com/v1`. Default: the environment variable
   * `ANIMAL_STORE_BASE_URL`.
   */
  readonly baseUrl?: string | URL | undefined;
  /** Milliseconds for one attempt. Default 30,000. */
  readonly timeout?: number | undefined;
  /** Attempts after the first. Default 5. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds. When the service asks for a longer wait, the call fails at once. Default 60,000. */
  readonly maxRetryDelay?: number | undefined;
  /** Headers that are sent with every request. */
  readonly defaultHeaders?: Readonly<Record<string, string>> | undefined;
  /**
   * Creates a store in a browser, where everybody who sees the page sees the key, and where the service cannot be called
   * without a proxy, because it has no CORS. Default `false`.
   */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
  /** Replaces the global `fetch`, for instance to use a proxy. That of undici fits, too. */
  readonly fetch?: Fetch | undefined;
  /** Called before each attempt. The errors of a hook are printed, and change no result. */
  readonly onRequest?: ((event: RequestEvent) => unknown) | undefined;
  /** Called when an attempt was answered, whatever the status. */
  readonly onResponse?: ((event: ResponseEvent) => unknown) | undefined;
  /** Called before the wait for another attempt. */
  readonly onRetry?: ((event: RetryEvent) => unknown) | undefined;
}

/** The part of `fetch` that this client uses, so that those of runtimes, packages and tests fit. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

export interface FetchInit {
  method: Method;
  headers: Record<string, string>;
  body?: string;
  redirect: 'manual';
  signal: AbortSignal;
}

export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly type: string;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** What every method takes as its last argument. */
export interface CallOptions {
  /** Ends the call, waiting for another attempt included, with an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt; replaces the store's `timeout`. */
  readonly timeout?: number | undefined;
  /** Attempts after the first; replaces the store's `maxRetries`. */
  readonly maxRetries?: number | undefined;
  /** Sent with the request, in addition to the store's `defaultHeaders`, which they replace by name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface RequestEvent {
  readonly method: Method;
  readonly url: string;
  /** The number of this attempt: 1 is the first. */
  readonly attempt: number;
}

export interface ResponseEvent extends RequestEvent {
  readonly status: number;
  readonly requestId: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly rateLimits: RateLimits | undefined;
  /** Milliseconds from the request to the end of the answer. */
  readonly duration: number;
}

export interface RetryEvent extends RequestEvent {
  /** Why the attempt failed. */
  readonly error: AnimalStoreError;
  /** Whole milliseconds until the next attempt. */
  readonly delay: number;
}

export type Settings = ReturnType<typeof readOptions>;

/**
 * The options with their defaults.
 *
 * @throws TypeError that names an option that is missing, unknown or invalid
 */
export function readOptions(options: AnimalStoreOptions) {
  checkObject(options, 'options');
  const {
    apiKey = environment('ANIMAL_STORE_API_KEY'),
    baseUrl = environment('ANIMAL_STORE_BASE_URL'),
    timeout = 30_000,
    maxRetries = 5,
    maxRetryDelay = 60_000,
    defaultHeaders = {},
    dangerouslyAllowBrowser = false,
    // It is looked up at each call, so that a later replacement of the global one counts.
    fetch = (url, init) => globalThis.fetch(url, init),
    onRequest,
    onResponse,
    onRetry,
    ...unknown
  } = options;
  rejectUnknown(unknown, 'AnimalStore');
  if (!dangerouslyAllowBrowser && isBrowser()) {
    throw new TypeError(
      'AnimalStore does not run in a browser: everybody who sees the page sees the API key, and the service has no CORS. ' +
        'Call the service from your own server, or pass dangerouslyAllowBrowser: true if you know better.',
    );
  }
  checkAttempts(timeout, maxRetries);
  checkMilliseconds(maxRetryDelay, 'maxRetryDelay', 0);
  checkFunction(fetch, 'fetch');
  for (const [name, hook] of Object.entries({ onRequest, onResponse, onRetry })) checkFunction(hook, name);
  return {
    apiKey: readApiKey(apiKey),
    baseUrl: readBaseUrl(baseUrl),
    timeout,
    maxRetries,
    maxRetryDelay,
    headers: readHeaders(defaultHeaders, 'defaultHeaders'),
    fetch,
    onRequest,
    onResponse,
    onRetry,
  };
}

/**
 * The options of a call, with the store's where they are not given.
 *
 * @throws TypeError that names an option that is unknown or invalid
 */
export function readCallOptions(options: CallOptions, settings: Settings, method: string) {
  checkObject(options, 'options');
  const {
    signal,
    timeout = settings.timeout,
    maxRetries = settings.maxRetries,
    headers = {},
    ...unknown
  } = options;
  rejectUnknown(unknown, method);
  checkAttempts(timeout, maxRetries);
  return { signal, timeout, maxRetries, headers: readHeaders(headers, 'headers') };
}

function checkAttempts(timeout: number, maxRetries: number): void {
  checkMilliseconds(timeout, 'timeout', 1);
  checkWholeNumber(maxRetries, 'maxRetries', 0, 1_000);
}

/** What JavaScript passes for a variable of the environment that is not set or empty. */
function isAbsent(given: unknown): given is null | undefined | '' {
  return given === undefined || given === null || given === '';
}

function readApiKey(given: string | undefined): string {
  if (isAbsent(given)) throw new TypeError('apiKey is missing. Pass it, or set ANIMAL_STORE_API_KEY.');
  // The message must not repeat the key, as that of an invalid header would.
  if (typeof given !== 'string' || !/^[!-~]+$/.test(given))
    throw new TypeError('apiKey must be printable ASCII without spaces.');
  return given;
}

/** Reads the base URL, without a slash at the end. */
function readBaseUrl(given: string | URL | undefined): string {
  if (isAbsent(given)) throw new TypeError('baseUrl is missing. Pass it, or set ANIMAL_STORE_BASE_URL.');
  const text = String(given);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const rest = url && url.username + url.password + url.search + url.hash;
  if (url === undefined || !/^https?:$/.test(url.protocol) || rest !== '') {
    throw new TypeError(
      'baseUrl must be an http or https URL without user, query and fragment, such as https://api.example.com/v1.',
    );
  }
  return url.href.replace(/\/+$/, '');
}

/** Whether each wait for another attempt is printed. Deno does not allow every program to read the environment. */
export function logsRetries(): boolean {
  try {
    return environment('ANIMAL_STORE_LOG') === 'retries';
  } catch {
    return false;
  }
}

/** A variable of the environment, where the runtime has one. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name]?.trim() || undefined;
}
