/**
 * The error catalogue: every `code` with its HTTP status and its default message (interface, sections 2 and 7).
 * Functions and gateway responses both read it.
 */
export const errorCatalogue = {
  invalid_request: { status: 400, message: 'The request is not valid.' },
  unauthorized: {
    status: 401,
    message: 'The API key is missing or invalid. Send it as "Authorization: Bearer <API_KEY>".',
  },
  pet_not_found: { status: 404, message: 'There is no animal with this id.' },
  route_not_found: { status: 404, message: 'There is no such path.' },
  method_not_allowed: { status: 405, message: 'This path does not support the method of the request.' },
  payload_too_large: { status: 413, message: 'The request body is larger than 64 KiB.' },
  unsupported_media_type: {
    status: 415,
    message: 'The request body must be JSON in UTF-8, sent with "Content-Type: application/json".',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'This Idempotency-Key was already used with another request body.',
  },
  rate_limit_exceeded: {
    status: 429,
    message:
      'The rate limit of this API key is exceeded. Retry after the time given in Retry-After (seconds).',
  },
  key_suspended: {
    status: 429,
    message:
      'This API key is suspended: it kept sending requests after its rate limit was exceeded, or the operator of the ' +
      'service suspended it. Retry after the time given in Retry-After (seconds).',
  },
  internal_error: {
    status: 500,
    message: 'The service failed to answer. The fault is ours and has been recorded.',
  },
  service_unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. Retry after a while.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The `Error` resource of the interface, section 2. Exactly these three fields. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
}

/** The body for a code, with the catalogue's message unless another one is given. */
export function errorBody(code: ErrorCode, message: string = errorCatalogue[code].message): ErrorBody {
  return { code, message, status: errorCatalogue[code].status };
}

/**
 * An answer other than success, thrown by an operation and answered by the pipeline. Its message is shown to the client;
 * `options.cause` is only logged.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ErrorCode,
    message?: string,
    options: { cause?: unknown; headers?: Record<string, string> } = {},
  ) {
    super(message ?? errorCatalogue[code].message, options);
    this.code = code;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorCatalogue[this.code].status;
  }

  get body(): ErrorBody {
    return errorBody(this.code, this.message);
  }
}
