import type { APIGatewayProxyResult } from 'aws-lambda';
import { isUnavailable, mayBeWritten } from '../dynamodb/failures.ts';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';
import { ServiceError } from './errors.ts';
import { toJson } from './exact-json.ts';
import type { Recorder } from './telemetry.ts';

type Headers = Readonly<Record<string, string>>;

/** The answer of an operation. The body is written as exact JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Headers;
}

/** The answer for an error (docs/interface.md#error). A 5xx is logged with its cause, a 503 can be retried after 1 s. */
export function errorAnswer(error: ServiceError, recorder: Recorder): Answer {
  if (error.status >= 500) recorder.error(error.cause ?? error);
  const retry = error.code === 'service_unavailable' && { 'Retry-After': '1' };
  return { status: error.status, body: error.body, headers: { ...retry, ...error.headers } };
}

/** The headers of every answer. */
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

/** The result for API Gateway. The answer's headers replace the common ones. */
export function toResult({ status, body, headers }: Answer, common: Headers): APIGatewayProxyResult {
  return { statusCode: status, headers: { ...common, ...headers }, body: toJson(body) };
}

/**
 * A ServiceError unchanged, 503 for a failing AWS service, 500 for anything else. Clients see no cause of these two.
 *
 * @param unavailableMessage of an operation that writes: its failures are 503 also if something may be written
 */
export function toServiceError(error: unknown, unavailableMessage?: string): ServiceError {
  if (error instanceof ServiceError) return error;
  return isUnavailable(error) || (unavailableMessage !== undefined && mayBeWritten(error))
    ? new ServiceError('service_unavailable', unavailableMessage, { cause: error })
    : new ServiceError('internal_error', undefined, { cause: error });
}
