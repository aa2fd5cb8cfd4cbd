import type { MiddlewareObj } from '@middy/core';

/** Milliseconds of a function's time-out that are reserved for its response and log line. */
export const timeToAnswer = 300;

/** A signal that is aborted after some time. Its work must then reject, as calls of the SDK do. */
class Deadline {
  readonly #work: string;
  readonly #limit: number;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  /** @param work its name in errors, such as `The operation` */
  constructor(work: string, milliseconds: number) {
    this.#work = work;
    this.#limit = Math.max(0, Math.round(milliseconds));
    this.#timer = setTimeout(() => this.#controller.abort(), this.#limit);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** After the work, whatever its result. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** The error of the work: a TimeoutError that names the work if it failed after the deadline. */
  errorOf(error: unknown): unknown {
    if (!this.signal.aborted) return error;
    const timeout = new Error(`${this.#work} did not finish within ${this.#limit} ms`, { cause: error });
    // The name of the SDK's own time-outs, which `isTransientError` recognizes.
    return Object.assign(timeout, { name: 'TimeoutError' });
  }
}

/** @throws TimeoutError if the work fails after `milliseconds`; otherwise whatever it throws */
export async function withDeadline<T>(
  name: string,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new Deadline(name, milliseconds);
  try {
    return await work(deadline.signal);
  } catch (error) {
    throw deadline.errorOf(error);
  } finally {
    deadline.end();
  }
}

/** The input of a handler that has to end in time. */
export interface Timed {
  readonly deadline: Deadline;
}

/** A middleware that ends the handler while there is time to answer. The last one, because it does not time the others. */
export function endInTime(work: string): MiddlewareObj<Timed, unknown, unknown> {
  return {
    before: (step) => {
      const deadline = new Deadline(work, step.context.getRemainingTimeInMillis() - timeToAnswer);
      step.event = { ...step.event, deadline };
    },
    after: ({ event }) => {
      event.deadline.end();
    },
    onError: (step) => {
      const { deadline }: Partial<Timed> = step.event;
      if (deadline === undefined) return;
      deadline.end();
      step.error = deadline.errorOf(step.error);
    },
  };
}
