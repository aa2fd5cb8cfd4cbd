import type { Method } from './arguments.ts';
import { needsCors } from './browser.ts';
import { requestIdOf } from './headers.ts';

/** The error codes of the service at the time of this release. It can add others. */
export const knownErrorCodes = [
  'invalid_request',
  'unauthorized',
  'pet_not_found',
  'route_not_found',
  'method_not_allowed',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_key_reused',
  'rate_limit_exceeded',
  'key_suspended',
  'internal_error',
  'service_unavailable',
] as const;

export type ErrorCode =
  | (typeof knownErrorCodes)[number]
  /** An error status without the service's error body, as from a proxy on the way. */
  | 'unknown_error'
  | 'unexpected_redirect'
  | 'connection_failed'
  | 'timeout'
  | 'aborted'
  | 'invalid_answer'
  // An open set that editors still complete.
  | (string & {});

/** What every failed call throws, except for invalid arguments (`TypeError`). */
export class AnimalStoreError extends Error {
  override readonly name: string = 'AnimalStoreError';
  readonly code: ErrorCode;
  /** The method of the request. */
  declare method?: Method;
  /** The URL of the request, with its query. */
  declare url?: string;
  /** How often the request was sent. */
  declare attempts?: number;
  /** The key of a creation that failed or was aborted: repeat the creation with it, and it adds one animal at most. */
  declare idempotencyKey?: string;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** What Node.js, Bun and test runners print: the fields on one line, and of an error that is the cause what it says. */
  [Symbol.for('nodejs.util.inspect.custom')](
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    const { name: _name, ...fields } = this;
    // instanceof will not do: test runners have a second `Error`.
    const { cause } = this as { readonly cause?: Error | null };
    const said = cause?.stack === undefined ? cause : `${cause.name}: ${cause.message}`;
    const printed = { ...fields, ...(said !== undefined && { cause: said }) };
    return `${this.stack} ${inspect(printed, { ...options, compact: true, breakLength: Infinity })}`;
  }
}

/** An error that carries the headers of its answer. They are not printed with it, because an answer has dozens. */
export function withHeaders<E extends AnimalStoreError>(error: E, headers: Headers): E {
  return Object.defineProperty(error, 'headers', { value: headers, configurable: true });
}

/** The service answered with an error status. The common statuses have classes of their own. */
export class ApiError extends AnimalStoreError {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** The headers of the answer. */
  declare readonly headers: Headers;
  /** Identifies the request: quote it when you report a problem. */
  readonly requestId: string | undefined;
  /** Milliseconds that the service asks to wait before another attempt. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, { status, headers, retryAfter }: ApiErrorDetails) {
    super(code, message);
    this.status = status;
    withHeaders(this, headers);
    this.requestId = requestIdOf(headers);
    this.retryAfter = retryAfter;
  }
}

export type ApiErrorDetails = Pick<ApiError, 'status' | 'headers' | 'retryAfter'>;

/** 400: the request is not valid. The message names every invalid field. */
export class BadRequestError extends ApiError {
  override readonly name = 'BadRequestError';
}

/** 401: the API key is missing, mistyped, expired or revoked, or of another stage. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** 403: not an answer of the service. The base address is wrong, or a proxy or firewall refused the request. */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}

/** 404: `pet_not_found`, or `route_not_found` when the base address is wrong. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 422: the idempotency key was used with another animal. */
export class UnprocessableEntityError extends ApiError {
  override readonly name = 'UnprocessableEntityError';
}

/** 429: `rate_limit_exceeded` or `key_suspended`. `retryAfter` says how long to wait. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** 500, and those above without a class: an error in the service. Report it with `requestId`. */
export class InternalServerError extends ApiError {
  override readonly name = 'InternalServerError';
}

/** 502, 503 and 504: no answer of the service at the moment. After a creation the animal may exist. */
export class ServiceUnavailableError extends ApiError {
  override readonly name = 'ServiceUnavailableError';
}

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  422: UnprocessableEntityError,
  429: RateLimitError,
  502: ServiceUnavailableError,
  503: ServiceUnavailableError,
  504: ServiceUnavailableError,
};

/** An error of the class for its status. */
export function toApiError(code: ErrorCode, message: string, details: ApiErrorDetails): ApiError {
  const { status } = details;
  const StatusError = classes[status] ?? (status >= 500 ? InternalServerError : ApiError);
  return new StatusError(code, message, details);
}

const corsHint =
  'The service sends no CORS headers, so browsers refuse its answers: call it from your own server.';

/** No complete answer arrived. After a creation the animal may exist. */
export class ConnectionError extends AnimalStoreError {
  override readonly name = 'ConnectionError';

  constructor(baseUrl: string, cause: unknown) {
    const reason = reasonOf(cause);
    const sentence = `No complete answer arrived from ${baseUrl}${reason && ` (${reason})`}.`;
    // Browsers do not say that this is the reason.
    super('connection_failed', needsCors(baseUrl) ? `${sentence} ${corsHint}` : sentence, { cause });
  }
}

/** An attempt took longer than `timeout`. After a creation the animal may exist. */
export class TimeoutError extends AnimalStoreError {
  override readonly name = 'TimeoutError';

  constructor(baseUrl: string, timeout: number) {
    super('timeout', `No complete answer arrived from ${baseUrl} within ${timeout} ms.`);
  }
}

/** The `signal` of the call was aborted; its reason is the `cause`. After a creation the animal may exist. */
export class AbortError extends AnimalStoreError {
  override readonly name = 'AbortError';

  constructor(cause: unknown) {
    const reason = reasonOf(cause);
    super('aborted', `The call was aborted by its signal${reason && ` (${reason})`}.`, { cause });
  }
}

/** The service answered with success, but not with what the interface describes. */
export class InvalidAnswerError extends AnimalStoreError {
  override readonly name = 'InvalidAnswerError';
  declare readonly status: number;
  /** The headers of the answer. */
  declare readonly headers: Headers;
  /** Identifies the request: quote it when you report a problem. */
  declare readonly requestId: string | undefined;

  constructor(message: string, options?: { cause?: unknown }) {
    super('invalid_answer', message, options);
  }
}

/**
 * What the runtime says of a failed connection, such as `connect ECONNREFUSED 127.0.0.1:3000`. `fetch` hides it in the
 * cause of its error, or in the errors of an `AggregateError` when the host has several addresses.
 */
function reasonOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return '';
  // instanceof will not do: test runners have a second `Error`.
  const { message, code, cause, errors } = thrown as Partial<
    Record<'message' | 'code' | 'cause' | 'errors', unknown>
  >;
  const inner = (Array.isArray(errors) ? errors : [cause]).map(reasonOf).filter((reason) => reason !== '');
  if (inner.length > 0) return inner.join(', ');
  const text = typeof message === 'string' ? message : '';
  return typeof code === 'string' && !text.includes(code) ? `${code} ${text}`.trim() : text;
}
