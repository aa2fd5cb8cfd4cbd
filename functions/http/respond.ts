import { isServerError, isThrottlingError, isTransientError } from '@smithy/core/retry';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { type Deprecation, deprecationHeaders } from './deprecation.ts';
import { ServiceError } from './errors.ts';
import { toJson } from './exact-json.ts';
import type { ExchangeState, Middleware } from './exchange.ts';
import { noAllowance } from './rate-headers.ts';
import { type ApiRequest, parseRequest } from './request.ts';

/** What an operation answers. The body is written as exact JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function toResult({ status, body, headers }: Answer): APIGatewayProxyResult {
  return { statusCode: status, headers: { ...headers }, body: toJson(body) };
}

/** Seconds after which a client may try again when the service is unavailable. */
const retryAfterUnavailable = 1;

/**
 * Reads the request, and makes a response of whatever comes back: with the headers that every answer bears, and in the
 * `Error` shape for whatever was thrown. A ServiceError is shown as it is, a failing AWS service as 503 and anything
 * else as 500; of the latter two the client learns no more than that.
 *
 * @param deprecationOf for a deprecated operation: what to tell about it
 */
export function respond(deprecationOf?: (request: ApiRequest) => Deprecation): Middleware {
  const commonHeaders = ({ exchange, rateHeaders }: ExchangeState): Record<string, string> => ({
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...(exchange && { 'X-Request-Id': exchange.request.requestId }),
    ...(rateHeaders ?? noAllowance),
    ...(exchange && deprecationOf && deprecationHeaders(deprecationOf(exchange.request))),
  });
  const complete = (result: APIGatewayProxyResult, state: ExchangeState): APIGatewayProxyResult => ({
    ...result,
    headers: { ...commonHeaders(state), ...result.headers },
  });

  return {
    before: (request) => {
      request.event = { request: parseRequest(request.event), recorder: request.internal.recorder };
      request.internal.exchange = request.event;
    },
    after: (request) => {
      if (request.response) request.response = complete(request.response, request.internal);
    },
    onError: (request) => {
      const error = toServiceError(request.error);
      if (error.status >= 500) request.internal.recorder.fault(error.cause ?? error);
      const retry = error.code === 'service_unavailable' && { 'Retry-After': String(retryAfterUnavailable) };
      request.response = complete(
        toResult({ status: error.status, body: error.body, headers: { ...retry, ...error.headers } }),
        request.internal,
      );
    },
  };
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isError(error) && isUnavailable(error)) {
    return new ServiceError('service_unavailable', undefined, { cause: error });
  }
  return new ServiceError('internal_error', undefined, { cause: error });
}

/** Whether the same request may well succeed later: the SDK's own judgement of what is worth a retry. */
function isUnavailable(error: SdkError): boolean {
  return isThrottlingError(error) || isTransientError(error) || isServerError(error);
}

type SdkError = Parameters<typeof isTransientError>[0];

/** What the SDK's judgements read beyond an Error's own fields is optional. */
function isError(error: unknown): error is SdkError {
  return error instanceof Error;
}
