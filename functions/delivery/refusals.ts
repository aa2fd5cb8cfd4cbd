/** How long a call is repeated that IAM refuses, and how long it waits in between. Milliseconds. */
const patience = 30_000;
const pause = 2_000;

export interface Time {
  /** Milliseconds, of a clock that does not go back. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
}

/**
 * Repeats a call that is refused for want of a permission: IAM is eventually consistent, and a permission that the same
 * deployment wrote is not known everywhere for some seconds. Other errors, and a refusal after half a minute, are thrown.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
 */
export async function repeatRefused<T>(call: () => Promise<T>, { now, sleep }: Time): Promise<T> {
  const end = now() + patience;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isRefused = error instanceof Error && error.name.startsWith('AccessDenied');
      if (!isRefused || now() + pause > end) throw error;
      await sleep(pause);
    }
  }
}
