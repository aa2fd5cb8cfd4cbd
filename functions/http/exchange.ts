import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyResult, Context } from 'aws-lambda';
import type { ServiceError } from './errors.ts';
import type { ApiRequest } from './request.ts';
import type { Recorder } from './telemetry.ts';

/** What travels through the pipeline: a parsed request, and the recorder of what happens to it. */
export interface Exchange {
  readonly request: ApiRequest;
  readonly recorder: Recorder;
}

/** What the steps of the pipeline know of the exchange at hand. Absent until the step that sets it has run. */
export interface ExchangeState extends Record<string, unknown> {
  recorder: Recorder;
  exchange?: Exchange;
  /** The refusal of the rate limiter, or `undefined` when the request is admitted. Never rejects. */
  refusal?: Promise<ServiceError | undefined>;
  /** Headers that tell where the caller's allowance stands. */
  rateHeaders?: Readonly<Record<string, string>>;
}

export type Middleware = MiddlewareObj<Exchange, APIGatewayProxyResult, unknown, Context, ExchangeState>;
