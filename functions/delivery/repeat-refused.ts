/** Milliseconds between two attempts. */
const pause = 2_000;

export interface Clock {
  /** Milliseconds, of a clock that does not go back. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/**
 * Repeats a call that is refused until a time. Two refusals end by themselves, others are thrown at once:
 *
 * - IAM is eventually consistent: a permission that the same deployment wrote is not known everywhere for some seconds.
 *   https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
 * - All executions of the account are in use, or another quota is: throttling.
 */
export async function repeatRefused<T>(
  call: () => Promise<T>,
  end: number,
  { now, sleep }: Clock,
): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!endsByItself(error) || now() + pause > end) throw error;
      await sleep(pause);
    }
  }
}

function endsByItself(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(AccessDenied|TooManyRequests|Throttling|ProvisionedThroughputExceeded)/.test(error.name)
  );
}
