import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { isUnavailable, mayBeWritten } from '../dynamodb/failures.ts';
import type { Deprecation } from '../operations.ts';
import { ServiceError } from './errors.ts';
import { toJson } from './exact-json.ts';
import { deprecationHeaders, fixedHeaders, requestIdHeader, zeroRateHeaders } from './headers.ts';
import { collectionUrl, successorLink } from './links.ts';
import type { Limited } from './limit-requests.ts';
import type { Recorder } from './telemetry.ts';

type Headers = Readonly<Record<string, string>>;

/** The answer of an operation. The body, if there is one, is written as exact JSON. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Headers;
}

interface AnswerSettings {
  readonly deprecated: Deprecation | undefined;
  /** Of an operation that writes: the message of a 503, after which something may be written. */
  readonly unavailable: string | undefined;
}

/** A middleware that answers errors, and adds the headers of every answer. Those of the answer itself replace them. */
export function answerRequests({
  deprecated,
  unavailable,
}: AnswerSettings): MiddlewareObj<Partial<Limited>, APIGatewayProxyResult, unknown> {
  const dates = deprecated && deprecationHeaders(deprecated);
  // An error can precede the request and the limit.
  const commonHeaders = async ({ request, limited }: Partial<Limited>): Promise<Headers> => {
    return {
      ...fixedHeaders,
      ...(request && { [requestIdHeader]: request.requestId }),
      // An event that is not from API Gateway has no caller.
      ...(limited === undefined ? zeroRateHeaders : (await limited).headers),
      ...(request && dates && { ...dates, Link: successorLink(collectionUrl(request.url)) }),
    };
  };
  const complete = async (event: Partial<Limited>, result: APIGatewayProxyResult) => {
    const headers = { ...(await commonHeaders(event)), ...result.headers };
    return { ...result, headers };
  };
  return {
    after: async (step) => {
      step.response = await complete(step.event, step.response!);
    },
    onError: async (step) => {
      const answer = errorAnswer(toServiceError(step.error, unavailable), step.event.recorder);
      step.response = await complete(step.event, toResult(answer));
    },
  };
}

/** The answer for an error (docs/interface.md#error). A 5xx is logged with its cause, a 503 can be retried after 1 s. */
function errorAnswer(error: ServiceError, recorder: Recorder | undefined): Answer {
  if (error.status >= 500) recorder?.error(error.cause ?? error);
  const retry = error.code === 'service_unavailable' && { 'Retry-After': '1' };
  return { status: error.status, body: error.body, headers: { ...retry, ...error.headers } };
}

/** The result for API Gateway. */
export function toResult({ status, body, headers = {} }: Answer): APIGatewayProxyResult {
  if (body === undefined) return { statusCode: status, headers, body: '' };
  return {
    statusCode: status,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: toJson(body),
  };
}

/**
 * A ServiceError unchanged, 503 for a failing AWS service, 500 for anything else. Clients see no cause of these two.
 *
 * @param unavailable of an operation that writes: its failures are 503 also if something may be written
 */
function toServiceError(error: unknown, unavailable: string | undefined): ServiceError {
  if (error instanceof ServiceError) return error;
  return isUnavailable(error) || (unavailable !== undefined && mayBeWritten(error))
    ? new ServiceError('service_unavailable', unavailable, { cause: error })
    : new ServiceError('internal_error', undefined, { cause: error });
}
