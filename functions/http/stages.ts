import middy from '@middy/core';
import type { APIGatewayProxyResult, Context } from 'aws-lambda';

type Result = APIGatewayProxyResult;

/**
 * A stage of the pipeline: it makes what the stages below it find (`Made`) from what those above it have made (`Given`).
 *
 * @typeParam Below what stages below it can have added when an answer or an error comes back
 */
export interface Stage<Given, Made, Below = unknown> {
  readonly before: (given: Given) => Made;
  readonly after?: (made: Made & Partial<Below>, result: Result) => Result | Promise<Result>;
  /** @param result that of a stage below it, if one has answered the error */
  readonly onError?: (
    made: Made & Partial<Below>,
    error: unknown,
    result: Result | undefined,
  ) => Result | undefined | Promise<Result>;
}

/** Stages on middy. A stage that is left out, or that stands in another's place, does not compile. */
export class Stages<Found> {
  readonly #middy = middy<unknown, Result, unknown>({ timeoutEarlyInMillis: 0 });

  private constructor() {}

  static ofEvent(): Stages<unknown> {
    return new Stages();
  }

  /** `before` runs from top to bottom, `after` and `onError` from bottom to top. */
  use<Made, Below>({ before, after, onError }: Stage<Found, Made, Below>): Stages<Made> {
    // Only this place says what middy's event is: what the stages so far have made of it.
    type Step = { event: unknown; response: Result | null | undefined; error: unknown };
    this.#middy.use({
      before: (step: Step) => {
        step.event = before(step.event as Found);
      },
      ...(after && {
        after: async (step: Step) => {
          step.response = await after(step.event as Made & Partial<Below>, step.response!);
        },
      }),
      ...(onError && {
        onError: async (step: Step) => {
          const { event, error, response } = step;
          step.response = await onError(event as Made & Partial<Below>, error, response ?? undefined);
        },
      }),
    });
    return this as unknown as Stages<Made>;
  }

  handler(operate: (found: Found, context: Context) => Promise<Result>) {
    return this.#middy.handler((event, context) => operate(event as Found, context));
  }
}
