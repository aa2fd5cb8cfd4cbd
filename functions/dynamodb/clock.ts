import { isClockSkewError } from '@smithy/core/retry';
import { toUnixSeconds, type UnixSeconds } from '../runtime/unix-time.ts';

/** The years in which an ID can be assigned (functions/pets/ids.ts). Another date is a fault of what is in between. */
const plausibleYears = { first: 2026, last: 2094 };

/** Milliseconds of a `Date` header (RFC 9110, section 5.6.7, the preferred format), or `undefined`. */
function parseDate(header: string | undefined): number | undefined {
  const date = new Date(header ?? Number.NaN);
  // Comparing the text excludes all other formats that JavaScript reads.
  if (Number.isNaN(date.getTime()) || date.toUTCString() !== header) return undefined;
  const year = date.getUTCFullYear();
  return year >= plausibleYears.first && year <= plausibleYears.last ? date.getTime() : undefined;
}

/** The time of this machine, corrected by the `Date` of DynamoDB's answers. One for all functions, however wrong their own. */
export class Clock {
  /** Milliseconds by which DynamoDB's clock is ahead of this machine's. */
  #offset = 0;

  /** Since the Unix epoch. */
  milliseconds(): number {
    return Date.now() + this.#offset;
  }

  seconds(): UnixSeconds {
    return toUnixSeconds(this.milliseconds());
  }

  /**
   * Takes note of an answer. Its `Date` has whole seconds and was written after the request was sent and before now, so the
   * time is moved only as far as is certain: an answer that was on its way for long, or waited in a frozen environment, does
   * not move it.
   *
   * @param header its `Date`, ignored unless it is well-formed and plausible
   * @param sentAt by this machine's clock
   */
  correct(header: string | undefined, sentAt: number): void {
    const date = parseDate(header);
    if (date === undefined) return;
    const least = date - Date.now();
    const most = date + 1_000 - sentAt;
    this.#offset = Math.min(Math.max(this.#offset, least), most);
  }
}

/** Milliseconds. A smaller error of a clock cannot cause a rejected signature. The SDK's value. */
const skewThreshold = 240_000;

/**
 * Runs work that reads the clock. If DynamoDB rejects the time of a signature and thereby corrects the clock, the work runs
 * again, because it was built on the wrong time as well.
 */
export async function atCorrectTime<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const offset = clock.milliseconds() - Date.now();
  try {
    return await work();
  } catch (error) {
    const correction = clock.milliseconds() - Date.now() - offset;
    if (!isRejectionOfTime(error) || Math.abs(correction) < skewThreshold) throw error;
    return work();
  }
}

/** Whether an error can be caused by a wrong clock. */
export function isRejectionOfTime(error: unknown): boolean {
  return error instanceof Error && isClockSkewError(error as Parameters<typeof isClockSkewError>[0]);
}
