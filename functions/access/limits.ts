import type { Limits } from './plans.ts';
import { secondsPerDay, secondsPerMinute, windowStart } from './windows.ts';

/**
 * The decisions of the rate limiter (interface, section 8), without I/O: two fixed windows, the UTC minute
 * and the UTC day, and a suspension for keys that keep sending after a 429. All times are Unix seconds.
 */

/** Rejections within one minute that suspend a key, and for how long. */
export const suspensionThreshold = 100;
export const suspensionSeconds = 600;

/** What a suspended client is told to wait at most: an operator may end a suspension long before it runs out. */
const longestWait = secondsPerDay;

/** What is stored of a key's use. A key that was never used has all zeros. */
export interface Usage {
  /** Start of the minute that `minuteCount` and `rejections` belong to. */
  readonly minute: number;
  readonly minuteCount: number;
  readonly rejections: number;
  /** Start of the day that `dayCount` belongs to. */
  readonly day: number;
  readonly dayCount: number;
  /** Until when the key is suspended; in the past when it is not. */
  readonly suspendedUntil: number;
}

export const unused: Usage = {
  minute: 0,
  minuteCount: 0,
  rejections: 0,
  day: 0,
  dayCount: 0,
  suspendedUntil: 0,
};

/** Where a key stands in one window, after the request at hand. */
export interface WindowStanding {
  readonly name: 'minute' | 'day';
  readonly limit: number;
  readonly remaining: number;
  /** When the window resets. */
  readonly reset: number;
  /** Length of the window in seconds. */
  readonly length: number;
}

export interface Standing {
  readonly minute: WindowStanding;
  readonly day: WindowStanding;
}

export type Verdict =
  | { readonly kind: 'admitted'; readonly standing: Standing }
  | { readonly kind: 'rejected' | 'suspended'; readonly standing: Standing; readonly retryAfter: number };

/** What a request does to the stored usage: the one thing that has to be written, if any. */
export type Step =
  /** Count the request in the windows that are stored. */
  | { readonly kind: 'count'; readonly windows: Windows }
  /** Start the minute, and the day too where that has passed, with this request as the first. */
  | { readonly kind: 'restart'; readonly windows: Windows; readonly newDay: boolean }
  /** Count a rejection in the minute that is stored. */
  | { readonly kind: 'reject'; readonly windows: Windows }
  /** Start the minute with a rejection: the day is full. */
  | { readonly kind: 'restart-rejecting'; readonly windows: Windows }
  /** Nothing is written: requests during a suspension do not lengthen it. */
  | { readonly kind: 'suspended' };

/** Whether a step turns the request away because a window is full. */
export function isRejection({ kind }: Step): boolean {
  return kind === 'reject' || kind === 'restart-rejecting';
}

export interface Windows {
  readonly minute: number;
  readonly day: number;
}

/** The windows that hold `now`. */
export function windowsAt(now: number): Windows {
  return { minute: windowStart(now, secondsPerMinute), day: windowStart(now, secondsPerDay) };
}

/** Decides what a request at `now` does to a key with this usage. */
export function decide(usage: Usage, limits: Limits, now: number): Step {
  if (usage.suspendedUntil > now) return { kind: 'suspended' };
  // Windows only ever move on: a function whose clock lags counts in the later window that another opened.
  const current = windowsAt(now);
  const windows = { minute: Math.max(usage.minute, current.minute), day: Math.max(usage.day, current.day) };
  const newMinute = windows.minute > usage.minute;
  const newDay = windows.day > usage.day;
  const dayFull = !newDay && usage.dayCount >= limits.perDay;
  const minuteFull = !newMinute && usage.minuteCount >= limits.perMinute;
  if (dayFull) return { kind: newMinute ? 'restart-rejecting' : 'reject', windows };
  if (minuteFull) return { kind: 'reject', windows };
  return newMinute || newDay ? { kind: 'restart', windows, newDay } : { kind: 'count', windows };
}

/** The usage after a step. The limiter writes the same change with an UpdateExpression. */
export function apply(usage: Usage, step: Step, now: number): Usage {
  switch (step.kind) {
    case 'count':
      return { ...usage, minuteCount: usage.minuteCount + 1, dayCount: usage.dayCount + 1 };
    case 'restart':
      return {
        ...usage,
        ...step.windows,
        minuteCount: 1,
        rejections: 0,
        dayCount: step.newDay ? 1 : usage.dayCount + 1,
      };
    case 'reject':
      return suspendIfDue({ ...usage, rejections: usage.rejections + 1 }, now);
    case 'restart-rejecting':
      return suspendIfDue({ ...usage, ...step.windows, minuteCount: 0, rejections: 1 }, now);
    case 'suspended':
      return usage;
  }
}

/** Whether the rejections counted so far suspend the key. */
export function suspensionDue(usage: Usage, now: number): boolean {
  return usage.rejections >= suspensionThreshold && usage.suspendedUntil <= now;
}

function suspendIfDue(usage: Usage, now: number): Usage {
  return suspensionDue(usage, now) ? { ...usage, suspendedUntil: now + suspensionSeconds } : usage;
}

/** What the client is told after a step that left the key with this usage. */
export function verdictOf(step: Step, usage: Usage, limits: Limits, now: number): Verdict {
  const standing = standingOf(movedOn(usage, now), limits);
  if (usage.suspendedUntil > now) {
    const reset = Math.min(usage.suspendedUntil, now + longestWait);
    const minute = { ...standing.minute, remaining: 0, reset };
    return { kind: 'suspended', standing: { ...standing, minute }, retryAfter: reset - now };
  }
  if (step.kind === 'count' || step.kind === 'restart') return { kind: 'admitted', standing };
  // Where both windows are full, a retry after the first of them resets would only be rejected again.
  const full = [standing.minute, standing.day].filter(({ remaining }) => remaining === 0);
  const reset = Math.max(...full.map((window) => window.reset));
  return { kind: 'rejected', standing, retryAfter: Math.max(1, reset - now) };
}

/** Where a key stands when nothing of the present windows is used. */
export function freshStanding(limits: Limits, now: number): Standing {
  return standingOf(movedOn(unused, now), limits);
}

/** The window that will stop the client first: fewest requests remaining, the minute on a tie. */
export function tightest({ minute, day }: Standing): WindowStanding {
  return day.remaining < minute.remaining ? day : minute;
}

/** The usage with windows that have passed started again: while a key is suspended, nobody stores that. */
function movedOn(usage: Usage, now: number): Usage {
  const { minute, day } = windowsAt(now);
  return {
    ...usage,
    ...(minute > usage.minute && { minute, minuteCount: 0 }),
    ...(day > usage.day && { day, dayCount: 0 }),
  };
}

function standingOf(usage: Usage, limits: Limits): Standing {
  return {
    minute: {
      name: 'minute',
      limit: limits.perMinute,
      // A plan can be lowered within a window: what is used up already is then more than the limit.
      remaining: Math.max(0, limits.perMinute - usage.minuteCount),
      reset: usage.minute + secondsPerMinute,
      length: secondsPerMinute,
    },
    day: {
      name: 'day',
      limit: limits.perDay,
      remaining: Math.max(0, limits.perDay - usage.dayCount),
      reset: usage.day + secondsPerDay,
      length: secondsPerDay,
    },
  };
}
