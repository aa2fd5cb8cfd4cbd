import type { CallerContext } from '../gateway/authorizer.ts';

/** One answered request. */
export interface RequestRecord {
  /** When it arrived, in milliseconds since the Unix epoch. */
  readonly time: number;
  readonly method: string;
  /** As sent, with the stage, without the query. */
  readonly path: string;
  /** As sent, without the question mark; may be empty. */
  readonly query: string;
  readonly status: number;
  readonly durationMs: number;
  /** The value of the answer's `x-amzn-RequestId`. */
  readonly requestId: string;
  /** Logical ID of the route's function. Undefined without a route. */
  readonly functionId?: string | undefined;
  /** The authorizer's context with `principalId`. Undefined when it was not invoked or failed. */
  readonly authorizer?: CallerContext | undefined;
  /** The type of the gateway response, such as `UNAUTHORIZED`. Undefined when a function answered. */
  readonly errorType?: string | undefined;
  /** Type and message of the error of a function or authorizer, or what does not exist. Undefined without one. */
  readonly functionError?: string | undefined;
}
