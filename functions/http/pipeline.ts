import middy from '@middy/core';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { atCorrectTime } from '../dynamodb/clock.ts';
import type { Connection } from '../dynamodb/connection.ts';
import { timeToAnswer, withDeadline } from '../runtime/deadline.ts';
import { variable, wholeNumber } from '../runtime/environment.ts';
import type { Deprecation } from './deprecation.ts';
import { zeroRateHeaders } from './rate-headers.ts';
import { rateLimiter } from './rate-limit.ts';
import { type ApiRequest, parseRequest } from './request.ts';
import { type Answer, commonHeaders, errorAnswer, toResult, toServiceError } from './respond.ts';
import { type Recorded, type Recorder, recordRequests } from './telemetry.ts';

export interface RequestContext {
  readonly request: ApiRequest;
  readonly recorder: Recorder;
  /** Aborted when the operation's time is over. */
  readonly signal: AbortSignal;
}

export interface OperationSettings {
  /** The name in docs/interface.md#4-operations. */
  readonly name: string;
  readonly dynamoDb: Connection;
  /** Check the rate limit first, so that a rejected request writes nothing, or while the operation reads. */
  readonly rateLimit: 'first' | 'alongside';
  readonly deprecationOf?: (request: ApiRequest) => Deprecation;
  /** Of an operation that writes: the message of a 503, after which something may be written. */
  readonly unavailableMessage?: string;
}

/** How every operation is served: record ▸ parse ▸ limit ▸ operate ▸ answer. */
export function pipeline(
  { name, dynamoDb, rateLimit, deprecationOf, unavailableMessage }: OperationSettings,
  operate: (context: RequestContext) => Promise<Answer>,
) {
  const { clock } = dynamoDb;
  const checkRateLimit = rateLimiter({
    table: { client: dynamoDb.impatientClient, tableName: variable('RATE_LIMITS_TABLE') },
    clock,
    deprecated: deprecationOf !== undefined,
    timeout: wholeNumber('LIMITER_TIMEOUT_MS'),
  });

  return (
    middy<Recorded, APIGatewayProxyResult, unknown>({ timeoutEarlyInMillis: 0 })
      // 1. Record: one log line per request, whatever happens below.
      .use(recordRequests(name, variable('METRICS_NAMESPACE'), clock))
      // Only for events that are not from API Gateway: they have no caller.
      .onError((step) => {
        const answer = errorAnswer(toServiceError(step.error), step.event.recorder);
        step.response = toResult(answer, commonHeaders(undefined, zeroRateHeaders));
      })
      .handler(async ({ event, recorder }, lambda) => {
        // 2. Parse.
        const request = parseRequest(event);
        recorder.identify(request.requestId, request.caller);

        // 3. Limit. The promise never rejects, so it can be awaited later.
        const limited = checkRateLimit(request.caller, recorder);
        const throwIfRejected = async (): Promise<void> => {
          const { rejection } = await limited;
          if (rejection !== undefined) throw rejection;
        };

        // 4. Operate.
        let answer: Answer;
        try {
          if (rateLimit === 'first') await throwIfRejected();
          const time = lambda.getRemainingTimeInMillis() - timeToAnswer;
          answer = await withDeadline('The operation', time, (signal) =>
            atCorrectTime(clock, () => operate({ request, recorder, signal })),
          );
          await throwIfRejected();
        } catch (error) {
          // A rejection takes precedence over other errors.
          const { rejection } = await limited;
          answer = errorAnswer(rejection ?? toServiceError(error, unavailableMessage), recorder);
        }

        // 5. Answer.
        const { headers } = await limited;
        return toResult(answer, commonHeaders(request.requestId, headers, deprecationOf?.(request)));
      })
  );
}
