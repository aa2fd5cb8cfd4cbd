import * as z from 'zod/mini';
import { type Connection, connectionEnvironment } from '../dynamodb/connection.ts';
import { isWriteOperation, operationName, operations, type RequestEntry } from '../operations.ts';
import { timeToAnswer, withDeadline } from '../runtime/deadline.ts';
import { nonEmptyText, wholeNumber } from '../runtime/environment.ts';
import { tableVariables } from '../tables.ts';
import { admissionControl, limitRequests, withinLimit } from './limit-requests.ts';
import { type ApiRequest, parseRequests } from './request.ts';
import { type Answer, answerRequests, toResult } from './respond.ts';
import { Stages } from './stages.ts';
import { type Recorder, recordRequests } from './telemetry.ts';

/** The environment variables of every function that serves requests. */
export const requestEnvironment = z.extend(connectionEnvironment, {
  [tableVariables.rateLimits]: nonEmptyText,
  LIMITER_TIMEOUT_MS: wholeNumber,
  METRICS_NAMESPACE: nonEmptyText,
});

interface PipelineSettings {
  readonly environment: Pick<
    z.output<typeof requestEnvironment>,
    'RATE_LIMITS_TABLE' | 'LIMITER_TIMEOUT_MS' | 'METRICS_NAMESPACE'
  >;
  readonly dynamoDb: Connection;
}

export interface RequestContext {
  readonly request: ApiRequest;
  readonly recorder: Recorder;
  /** Aborted when the operation's time is over. */
  readonly signal: AbortSignal;
}

/**
 * How every operation is served: record ▸ answer ▸ parse ▸ limit ▸ operate. A write is limited first, so that a
 * rejected request writes nothing. A read and its limit run in parallel.
 */
export function pipeline(
  entry: RequestEntry,
  { environment, dynamoDb }: PipelineSettings,
  operate: (context: RequestContext) => Promise<Answer>,
) {
  const operation = operations.find((each) => each.entry === entry);
  const isWrite = operation !== undefined && isWriteOperation(operation);
  const limit = admissionControl({
    table: { client: dynamoDb.impatientClient, tableName: environment.RATE_LIMITS_TABLE },
    deprecated: operation?.deprecated !== undefined,
    timeout: environment.LIMITER_TIMEOUT_MS,
  });

  return Stages.ofEvent()
    .use(recordRequests(operationName(entry), environment.METRICS_NAMESPACE))
    .use(answerRequests(operation))
    .use(parseRequests())
    .use(limitRequests(limit))
    .handler(({ request, recorder, limited }, context) =>
      withinLimit(limited, isWrite ? 'first' : 'alongside', () =>
        withDeadline('The operation', context.getRemainingTimeInMillis() - timeToAnswer, async (signal) =>
          toResult(await operate({ request, recorder, signal })),
        ),
      ),
    );
}
