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

/** `unknown_error` when an answer has no readable error body, as from a proxy on the way. */
export type ErrorCode =
  | (typeof knownErrorCodes)[number]
  | 'unknown_error'
  | 'connection_failed'
  | 'timeout'
  | 'invalid_answer'
  // An open set that editors still complete.
  | (string & {});

/** What every failed call throws, except for invalid arguments and aborted calls. */
export class AnimalStoreError extends Error {
  override readonly name: string = 'AnimalStoreError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** The service answered with an error status. */
export class ApiError extends AnimalStoreError {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Identifies the request: quote it when you report a problem. */
  readonly requestId: string | undefined;
  /** Milliseconds that the service asks to wait before another attempt. */
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details: Pick<ApiError, 'status' | 'requestId' | 'retryAfter'>,
  ) {
    super(code, message);
    this.status = details.status;
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
  }
}

/** No complete answer arrived. After a creation the animal may exist. */
export class ConnectionError extends AnimalStoreError {
  override readonly name = 'ConnectionError';

  constructor(cause: unknown) {
    super('connection_failed', 'No complete answer arrived from the service.', { cause });
  }
}

/** An attempt took longer than `timeout`. After a creation the animal may exist. */
export class TimeoutError extends AnimalStoreError {
  override readonly name = 'TimeoutError';

  constructor(timeout: number) {
    super('timeout', `No complete answer arrived within ${timeout} ms.`);
  }
}

/** The service answered with success, but not with what the interface describes. */
export class InvalidAnswerError extends AnimalStoreError {
  override readonly name = 'InvalidAnswerError';

  constructor(message: string, options?: { cause?: unknown }) {
    super('invalid_answer', message, options);
  }
}
