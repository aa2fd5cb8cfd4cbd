import middy from '@middy/core';
import type { APIGatewayProxyResult } from 'aws-lambda';
import { atCorrectTime } from '../dynamodb/clock.ts';
import type { Connection } from '../dynamodb/connection.ts';
import { endInTime } from '../runtime/deadline.ts';
import { variable, wholeNumber } from '../runtime/environment.ts';
import { limitRequests, rateLimiter } from './limit-requests.ts';
import { type ApiRequest, parseRequests } from './request.ts';
import { type Answer, answerRequests, type AnswerSettings, toResult } from './respond.ts';
import { type Recorder, recordRequests } from './telemetry.ts';

export interface RequestContext {
  readonly request: ApiRequest;
  readonly recorder: Recorder;
  /** Aborted when the operation's time is over. */
  readonly signal: AbortSignal;
}

/** A write is limited first, so that a rejected request writes nothing. A read and its limit run in parallel. */
type Access =
  | { readonly access: 'read' }
  | {
      readonly access: 'write';
      /** The message of a 503, after which something may be written. */
      readonly unavailableMessage: string;
    };

export type OperationSettings = Access &
  Pick<AnswerSettings, 'deprecationOf'> & {
    /** The name in docs/interface.md#4-operations. */
    readonly name: string;
    readonly dynamoDb: Connection;
  };

/** How every operation is served: record ▸ answer ▸ parse ▸ limit ▸ end in time ▸ operate. */
export function pipeline(
  { name, dynamoDb, deprecationOf, ...settings }: OperationSettings,
  operate: (context: RequestContext) => Promise<Answer>,
) {
  const { clock } = dynamoDb;
  const writes = settings.access === 'write';
  const unavailableMessage = writes ? settings.unavailableMessage : undefined;
  const limit = rateLimiter({
    table: { client: dynamoDb.impatientClient, tableName: variable('RATE_LIMITS_TABLE') },
    clock,
    deprecated: deprecationOf !== undefined,
    timeout: wholeNumber('LIMITER_TIMEOUT_MS'),
  });

  return (
    middy<unknown, APIGatewayProxyResult, unknown>({ timeoutEarlyInMillis: 0 })
      // `before` runs from top to bottom, `after` and `onError` from bottom to top.
      .use(recordRequests(name, variable('METRICS_NAMESPACE'), clock))
      .use(answerRequests({ deprecationOf, unavailableMessage }))
      .use(parseRequests())
      .use(limitRequests(limit, writes ? 'first' : 'alongside'))
      .use(endInTime('The operation'))
      .handler(async ({ request, recorder, deadline: { signal } }) =>
        toResult(await atCorrectTime(clock, () => operate({ request, recorder, signal }))),
      )
  );
}
