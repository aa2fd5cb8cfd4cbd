import { withDeadline } from '../runtime/deadline.ts';
import type { UnixSeconds } from '../runtime/unix-time.ts';

/** Requests in a row without an answer, after which only one request in `pause` seconds asks. */
const unansweredRequests = 3;

/** Seconds. A recovery is noticed after this time, if there are requests. */
const pause = 4;

/**
 * How long requests wait for the table of limits. If it does not answer, and each request waited for the whole time-out, they would
 * use up the executions of the account. So after a request without an answer, the next ones wait for a quarter of the time-out, and
 * after a few, most do not ask the table at all.
 */
export class LimiterPatience {
  readonly #timeout: number;
  #unanswered = 0;
  #askedAt = 0;

  /** @param timeout milliseconds that a request waits while the table answers */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /**
   * @param call to the table, which rejects after the signal
   * @returns undefined if the table is not asked
   * @throws TimeoutError without an answer in time; otherwise whatever `call` throws
   */
  async ask<T>(now: UnixSeconds, call: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    // A clock that is set back does not prolong the pause.
    const isPause = now >= this.#askedAt && now < this.#askedAt + pause;
    if (this.#unanswered >= unansweredRequests && isPause) return undefined;
    this.#askedAt = now;
    const wait = this.#unanswered === 0 ? this.#timeout : this.#timeout / 4;
    const startedAt = performance.now();
    try {
      const answer = await withDeadline('The rate limiter', wait, call);
      this.#unanswered = 0;
      return answer;
    } catch (error) {
      // Errors that come at once hold nobody. The kind of error does not tell them apart: the SDK names a broken connection like a
      // time-out, and gives up before the deadline when its retries are used up.
      const isLate = performance.now() - startedAt >= wait / 2;
      this.#unanswered = isLate ? this.#unanswered + 1 : 0;
      throw error;
    }
  }
}
