/**
 * What the rate limiter has to do, in the plainest words: two fixed windows whose counts are kept for ever,
 * and a suspension. It shares no code with the service and takes its numbers from the contract alone.
 */
export interface Limits {
  readonly perMinute: number;
  readonly perDay: number;
}

interface Window {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}

export interface Expectation {
  readonly kind: 'admitted' | 'rejected' | 'suspended';
  readonly minute: Window;
  readonly day: Window;
  /** Seconds. */
  readonly retryAfter: number | undefined;
}

/** Requests a minute that a key may go on with after a 429. */
const toleratedRate = (perMinute: number) => Math.min(10_000, Math.max(270, perMinute * 2.5));
/** Seconds after the first 429 of a minute in which no rejection counts. */
const secondsUntilRejectionsCount = 10;
const suspensionSeconds = 600;

export class ReferenceLimiter {
  readonly #admittedInMinute = new Map<number, number>();
  readonly #admittedOnDay = new Map<number, number>();
  /** The first rejection of the last minute that had one, and how many counted after it. */
  #firstRejection = 0;
  #rejections = 0;
  /** Number of the latest minute and day that counted a request. A clock that lags is taken to be in those. */
  #minute = 0;
  #day = 0;
  #suspendedUntil = 0;

  /** @param now whole Unix seconds, by the clock of the function that serves the request */
  request({ perMinute, perDay }: Limits, now: number): Expectation {
    const minute = Math.max(this.#minute, Math.floor(now / 60));
    const day = Math.max(this.#day, Math.floor(now / 86_400));
    const status = () => ({
      minute: {
        limit: perMinute,
        remaining: Math.max(0, perMinute - countOf(this.#admittedInMinute, minute)),
        reset: (minute + 1) * 60,
      },
      day: {
        limit: perDay,
        remaining: Math.max(0, perDay - countOf(this.#admittedOnDay, day)),
        reset: (day + 1) * 86_400,
      },
    });
    const suspended = (): Expectation => {
      const windows = status();
      // A suspension longer than a day is shown as one day.
      const end = Math.min(this.#suspendedUntil, now + 86_400);
      const reset = windows.minute.remaining === 0 ? Math.max(end, windows.minute.reset) : end;
      const last = windows.day.remaining === 0 ? Math.max(reset, windows.day.reset) : reset;
      return {
        kind: 'suspended',
        minute: { limit: perMinute, remaining: 0, reset },
        day: windows.day,
        retryAfter: last - now,
      };
    };

    if (now < this.#suspendedUntil) return suspended();
    const before = status();
    if (before.minute.remaining > 0 && before.day.remaining > 0) {
      this.#minute = minute;
      this.#day = day;
      increment(this.#admittedInMinute, minute);
      increment(this.#admittedOnDay, day);
      return { kind: 'admitted', ...status(), retryAfter: undefined };
    }
    if (Math.floor(this.#firstRejection / 60) < Math.floor(now / 60)) {
      this.#firstRejection = now;
      this.#rejections = 0;
    }
    if (now - this.#firstRejection >= secondsUntilRejectionsCount) this.#rejections += 1;
    // In at least half a minute.
    const counted = Math.max(30, 60 - secondsUntilRejectionsCount - (this.#firstRejection % 60));
    if (this.#rejections >= (toleratedRate(perMinute) / 60) * counted) {
      this.#suspendedUntil = now + suspensionSeconds;
      return suspended();
    }
    const minuteOver = before.minute.remaining === 0 ? before.minute.reset : now;
    const dayOver = before.day.remaining === 0 ? before.day.reset : now;
    return { kind: 'rejected', ...before, retryAfter: Math.max(1, minuteOver - now, dayOver - now) };
  }
}

/**
 * The three headers of the interface: of the window with the fewest requests remaining, the minute on a tie. If both are
 * full, of the one that resets last. During a suspension the minute is full until its end.
 */
export function headersOf({ minute, day }: Expectation): Readonly<Record<string, string>> {
  const bothFull = minute.remaining === 0 && day.remaining === 0;
  const minuteInForce = bothFull ? minute.reset >= day.reset : minute.remaining <= day.remaining;
  const { limit, remaining, reset } = minuteInForce ? minute : day;
  return {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(remaining),
    'X-RateLimit-Reset': String(reset),
  };
}

function countOf(counts: ReadonlyMap<number, number>, key: number): number {
  return counts.get(key) ?? 0;
}

function increment(counts: Map<number, number>, key: number): void {
  counts.set(key, countOf(counts, key) + 1);
}
