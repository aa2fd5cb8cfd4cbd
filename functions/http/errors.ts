/** Bytes. A larger body gets `payload_too_large`. */
export const maxBodyBytes = 64 * 1024;
export const maxBodyInWords = `${maxBodyBytes / 1024} KiB`;

/** Every `code` with its HTTP status and default message (docs/api.md#handle-errors), also for gateway responses. */
export const errorCatalogue = {
  invalid_request: { status: 400, message: 'The request is invalid.' },
  unauthorized: {
    status: 401,
    message: 'The API key is missing or invalid. Send it as "Authorization: Bearer <API_KEY>".',
  },
  pet_not_found: { status: 404, message: 'No animal has this ID.' },
  route_not_found: { status: 404, message: 'This path does not exist.' },
  method_not_allowed: {
    status: 405,
    message: 'This path does not support this method. See the Allow header.',
  },
  payload_too_large: { status: 413, message: `The request body must not be larger than ${maxBodyInWords}.` },
  unsupported_media_type: {
    status: 415,
    message:
      'The request body must be JSON in UTF-8, sent with "Content-Type: application/json". ' +
      'If it is compressed, send "Content-Encoding: gzip" or "Content-Encoding: deflate".',
  },
  idempotency_key_reused: {
    status: 422,
    message:
      'This Idempotency-Key was already used with another request body. Use a new key for a new animal.',
  },
  rate_limit_exceeded: {
    status: 429,
    message: 'The rate limit of this API key is exceeded. Retry after the number of seconds in Retry-After.',
  },
  key_suspended: {
    status: 429,
    message:
      'This API key is suspended, because it kept exceeding its rate limit or because an operator suspended it. ' +
      'Retry after the number of seconds in Retry-After.',
  },
  internal_error: {
    status: 500,
    message: 'An internal error occurred. If it persists, report the X-Request-Id to the operator.',
  },
  service_unavailable: {
    status: 503,
    message: 'The service is temporarily unavailable. Retry after the number of seconds in Retry-After.',
  },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The errors that API Gateway answers itself, whatever the operation. */
export const gatewayErrors = [
  'invalid_request',
  'unauthorized',
  'route_not_found',
  'unsupported_media_type',
  'rate_limit_exceeded',
  'internal_error',
  'service_unavailable',
] as const satisfies readonly ErrorCode[];

/** docs/interface.md#error: exactly these three fields. */
export function errorBody(code: ErrorCode, message: string = errorCatalogue[code].message) {
  return { code, message, status: errorCatalogue[code].status };
}

/** An error that the pipeline returns to the client. The client sees the message; `options.cause` is only logged. */
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

  get body(): ReturnType<typeof errorBody> {
    return errorBody(this.code, this.message);
  }
}
