/** Milliseconds of a function's time-out that are reserved for its response and log line. */
export const timeToAnswer = 300;

/**
 * Does work with a signal that is aborted after some time. The work must then reject, as calls of the SDK do.
 *
 * @param name of the work in errors, such as `The operation`
 * @throws TimeoutError if the work fails after `milliseconds`; otherwise whatever it throws
 */
export async function withDeadline<T>(
  name: string,
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = Math.max(0, Math.round(milliseconds));
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limit);
  try {
    return await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    const timeout = new Error(`${name} did not finish within ${limit} ms`, { cause: error });
    // The SDK's own time-outs have this name, which `isTransientError` recognizes.
    throw Object.assign(timeout, { name: 'TimeoutError' });
  } finally {
    clearTimeout(timer);
  }
}
