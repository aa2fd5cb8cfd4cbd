import type { APIGatewayProxyResult } from 'aws-lambda';
import { isUnavailable, mayBeWritten } from '../dynamodb/failures.ts';
import type { AnswerSettings } from '../operations.ts';
import { ServiceError } from './errors.ts';
import { toJson } from './exact-json.ts';
import { deprecationHeaders, fixedHeaders, requestIdHeader, zeroRateHeaders } from './headers.ts';
import { collectionUrl, successorLink } from './links.ts';
import type { Stage } from './stages.ts';
import type { Recorded } from './telemetry.ts';

type Headers = Readonly<Record<string, string>>;

/** The answer of an operation. The body, if there is one, is written as exact JSON. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Headers;
}

export interface Answering extends Recorded {
  /** The rate limit headers of the answer. */
  readonly rateHeaders: Promise<Headers>;
}

/** What an answer says of its request. An error can precede it. */
interface Answered {
  readonly request: { readonly requestId: string; readonly url: string };
}

/** The stage that answers errors, and adds the headers of every answer. Those of the answer itself replace them. */
export function answerRequests({ deprecated, unavailable }: AnswerSettings = {}): Stage<
  Recorded,
  Answering,
  Answered
> {
  const dates = deprecated && deprecationHeaders(deprecated);
  type Found = Answering & Partial<Answered>;
  const complete = async ({ request, rateHeaders }: Found, result: APIGatewayProxyResult) => {
    const headers: Headers = {
      ...fixedHeaders,
      ...(request && { [requestIdHeader]: request.requestId }),
      ...(await rateHeaders),
      ...(request && dates && { ...dates, Link: successorLink(collectionUrl(request.url)) }),
      ...result.headers,
    };
    return { ...result, headers };
  };
  return {
    // An event that is not from API Gateway has no caller.
    before: (recorded) => ({ ...recorded, rateHeaders: Promise.resolve(zeroRateHeaders) }),
    after: complete,
    onError: (found, thrown) => {
      const error = toServiceError(thrown, unavailable);
      if (error.status >= 500) found.recorder.errors.push(error.cause ?? error);
      return complete(found, toResult(answerOf(error)));
    },
  };
}

/** The answer for an error (docs/interface.md#error). A 503 can be retried after 1 s. */
function answerOf({ code, status, body, headers }: ServiceError): Answer {
  const retry = code === 'service_unavailable' && { 'Retry-After': '1' };
  return { status, body, headers: { ...retry, ...headers } };
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
 * A ServiceError unchanged, 503 for a failing AWS service, 500 for anything else. Clients see no cause of these two. The
 * failures of an operation that writes are 503 also if something may be written.
 *
 * @param unavailable of an operation that writes
 */
function toServiceError(error: unknown, unavailable: string | undefined): ServiceError {
  if (error instanceof ServiceError) return error;
  return isUnavailable(error) || (unavailable !== undefined && mayBeWritten(error))
    ? new ServiceError('service_unavailable', unavailable, { cause: error })
    : new ServiceError('internal_error', undefined, { cause: error });
}
