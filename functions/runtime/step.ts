import type { MiddlewareObj, Request } from '@middy/core';

type Hook<Event, Result> = (request: Request<Event, Result, unknown>) => void | Promise<void>;

/** A middleware of middy that finds `Before` in the event, and leaves `After`. */
export interface Step<Before, After extends Before, Result = unknown> {
  readonly before?: Hook<Before, Result>;
  readonly after?: Hook<After, Result>;
  /** The step before which the error occurred may be this one, or an earlier one. */
  readonly onError?: Hook<Partial<After>, Result>;
  /** Never set: by it, the compiler compares `After` of a step with `Before` of the next one. */
  readonly order?: (event: Before) => After;
}

/** The middlewares from the outermost to the innermost. Compiles only if each finds what earlier ones leave. */
export function inOrder<Result, A, B extends A, C extends B, D extends C, E extends D>(
  ...steps: readonly [
    Step<unknown, A, Result>,
    Step<A, B, Result>,
    Step<B, C, Result>,
    Step<C, D, Result>,
    Step<D, E, Result>,
  ]
) {
  return steps as unknown as MiddlewareObj<E, Result, unknown>[];
}
