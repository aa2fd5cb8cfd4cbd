import { AnimalStoreError } from './errors.ts';

export interface CallSite {
  readonly stack?: unknown;
}

/** Node.js, Bun and Deno have it. It keeps the frames and formats them only when the stack is read. */
const { captureStackTrace } = Error as {
  captureStackTrace?: (target: object, below: object) => void;
};

/** The stack above a function that runs now. An error that is thrown after an `await` no longer has it. */
export function callSite(below: object): CallSite {
  const site: CallSite = {};
  captureStackTrace?.(site, below);
  return site;
}

/** What a generator yields. Its errors show where the loop is. */
export function traced<T>(items: AsyncGenerator<T, void, undefined>): AsyncGenerator<T, void, undefined> {
  const site = callSite(traced);
  return (async function* () {
    try {
      yield* items;
    } catch (error) {
      throw withCallSite(error, site);
    }
  })();
}

/** An error of this client gets the frames of its caller in place of the client's own. */
export function withCallSite(error: unknown, { stack }: CallSite): unknown {
  if (error instanceof AnimalStoreError && typeof stack === 'string') {
    const frames = /\n +at [^]*/.exec(stack);
    if (frames !== null) error.stack = `${error.name}: ${error.message}${frames[0]}`;
  }
  return error;
}
