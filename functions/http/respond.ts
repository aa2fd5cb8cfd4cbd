import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';
import { ServiceError } from './errors.ts';
import { toJson } from './exact-json.ts';
import type { Recorder } from './telemetry.ts';

type Headers = Readonly<Record<string, string>>;

/** What an operation answers. The body is written as exact JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Headers;
}

/** `Retry-After` of a 503, in seconds. */
const retryAfterUnavailable = 1;

/** The answer for an error, in the `Error` shape (interface, section 2). A 5xx is logged with its cause. */
export function errorAnswer(error: ServiceError, recorder: Recorder): Answer {
  if (error.status >= 500) recorder.error(error.cause ?? error);
  const retry = error.code === 'service_unavailable' && { 'Retry-After': String(retryAfterUnavailable) };
  return { status: error.status, body: error.body, headers: { ...retry, ...error.headers } };
}

/** The headers that every answer carries. */
export function commonHeaders(
  requestId: string | undefined,
  rateLimitHeaders: Headers,
  deprecation?: Deprecation,
): Headers {
  return {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...(requestId !== undefined && { 'X-Request-Id': requestId }),
    ...rateLimitHeaders,
    ...(deprecation && deprecationHeaders(deprecation)),
  };
}

/** The answer as API Gateway takes it. Its own headers go before the common ones. */
export function toResult({ status, body, headers }: Answer, common: Headers): APIGatewayProxyResult {
  return { statusCode: status, headers: { ...common, ...headers }, body: toJson(body) };
}

/**
 * The error to answer with. A ServiceError is answered as it is, a failing AWS service as 503 and anything else as 500.
 * The client learns nothing more about the latter two.
 */
export function toServiceError(error: unknown, unavailableMessage?: string): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isError(error) && isWorthRetrying(error)) {
    return new ServiceError('service_unavailable', unavailableMessage, { cause: error });
  }
  return new ServiceError('internal_error', undefined, { cause: error });
}

/** Whether the same request may succeed later, as the SDK's own retries judge it. */
function isWorthRetrying(error: SdkError): boolean {
  return isThrottlingError(error) || isTransientError(error) || isServerError(error);
}

type SdkError = Parameters<typeof isTransientError>[0];

/** What the SDK's functions read beyond an Error's own fields is optional. */
function isError(error: unknown): error is SdkError {
  return error instanceof Error;
}
