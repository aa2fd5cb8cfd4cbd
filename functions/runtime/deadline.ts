/** Milliseconds of a function's time-out that are reserved for its response and log line. */
export const timeToAnswer = 300;

/**
 * Runs work with a signal that is aborted after `milliseconds`. The work must then reject, as calls of the SDK do.
 * @throws TimeoutError, which names `what`, if the work fails after the deadline; otherwise whatever it throws
 */
export async function withDeadline<T>(
  what: string,
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
    const timeout = new Error(`${what} did not finish within ${limit} ms`, { cause: error });
    // The name of the SDK's own time-outs, which `isTransientError` recognizes.
    throw Object.assign(timeout, { name: 'TimeoutError' });
  } finally {
    clearTimeout(timer);
  }
}
