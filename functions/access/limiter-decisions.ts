import * as z from 'zod/mini';
import { type Limits, secondsPerDay, secondsPerMinute, windowStart } from './plans.ts';
import { storedCount } from './stored-count.ts';

// The decisions of the rate limiter (docs/interface.md#rate-limits), without I/O. All times are Unix seconds.

/** Seconds until a suspended key works again. */
const suspensionSeconds = 600;

/**
 * Seconds after the first rejection of a minute in which rejections are not counted, because their requests may have been
 * sent before a 429 arrived. The slowest 429 takes 3 s. A request that was sent just before it arrived waits up to 3 s
 * for the authorizer and the limiter. The rest is for connections that are slow to open and requests that queue in a client.
 * Clients that obey `Retry-After` come back at the start of a window: their jitter, 5 s in docs/api.md and 8 s in
 * packages/client, stays within it.
 */
export const suspensionGrace = 10;

/** Least seconds of a minute in which rejections are counted, so that a few of them at its end do not suspend a key. */
const shortestCount = 30;

/** Requests a minute that a key may go on with after a 429. */
export const toleratedRates = {
  /** Times its limit, so that clients which obey `Retry-After` may offer twice of it. */
  factor: 2.5,
  /** 4.5 a second, or few requests would suspend a small key. */
  least: 270,
  /** As many as can be counted while DynamoDB throttles a flood: each is a second write to one item. */
  most: 10_000,
} as const;

export function toleratedRate({ perMinute }: Limits): number {
  const { factor, least, most } = toleratedRates;
  return Math.min(most, Math.max(least, factor * perMinute));
}

/** Rejections of one minute that suspend a key: `toleratedRate`, for the part of the minute in which they are counted. */
export function suspensionThreshold(rejectedSince: number, limits: Limits): number {
  const end = windowStart(rejectedSince, secondsPerMinute) + secondsPerMinute;
  const seconds = Math.max(shortestCount, end - rejectedSince - suspensionGrace);
  return Math.ceil((toleratedRate(limits) * seconds) / secondsPerMinute);
}

/** Largest `Retry-After` of a suspended key, in seconds: an operator can end a long suspension early. */
const maxRetryAfter = secondsPerDay;

/** An attribute of the item of a key. */
export const storedNumber = z._default(storedCount, 0);

/** The item of a key in the table. */
export const storedUsage = z.object({
  /** Start of the minute that `minuteCount` belongs to. */
  minute: storedNumber,
  minuteCount: storedNumber,
  /** Start of the day that `dayCount` belongs to. */
  day: storedNumber,
  dayCount: storedNumber,
  /** The first rejection of the last minute that had one. */
  rejectedSince: storedNumber,
  /** Rejections of that minute after `suspensionGrace`. */
  rejections: storedNumber,
  /** End of the suspension. In the past if the key is not suspended. */
  suspendedUntil: storedNumber,
});
/** The stored usage of a key. */
export type Usage = Readonly<z.output<typeof storedUsage>>;
/** The usage of a key that was never used. */
export const unused: Usage = z.parse(storedUsage, {});

/** One window after the current request. */
interface WindowStatus {
  readonly name: 'minute' | 'day';
  readonly limit: number;
  readonly remaining: number;
  /** When the window resets. */
  readonly reset: number;
  /** Length of the window in seconds. */
  readonly length: number;
}

/** Both windows of a key after the current request. `inForce` is the one that `X-RateLimit-*` and `Retry-After` show. */
export interface RateLimitStatus {
  readonly minute: WindowStatus;
  readonly day: WindowStatus;
  readonly inForce: WindowStatus['name'];
}

/** `retryAfter`: seconds until the window in force resets, at least 1. `usage`: after the request. */
export type Decision = { readonly status: RateLimitStatus; readonly usage: Usage } & (
  { readonly kind: 'admitted' } | { readonly kind: 'rejected' | 'suspended'; readonly retryAfter: number }
);

/** How a request changes the usage. limiter.ts has a write for each kind except `suspended` and `reject`, which change nothing. */
export interface Transition {
  readonly kind:
    'count' | 'startMinute' | 'startDay' | 'startRejecting' | 'reject' | 'countRejection' | 'suspended';
  /** The windows in which the request is counted. */
  readonly windows: { readonly minute: number; readonly day: number };
  /** When the suspension ends, if the rejection suspends the key. */
  readonly suspendedUntil?: number;
}

/**
 * Seconds by which the clocks of functions may differ. A stored window that starts later was written by a wrong clock. It
 * does not count, or the key would be rejected until then.
 */
export const clockTolerance = 60;

/** The windows that contain `now`. */
export function windowsAt(now: number): Transition['windows'] {
  return { minute: windowStart(now, secondsPerMinute), day: windowStart(now, secondsPerDay) };
}

export function decide(stored: Usage, limits: Limits, now: number): Transition {
  const usage = withoutFutureWindows(stored, now);
  // Windows only move forward: a function whose clock is slow counts in the later window that another one started.
  const current = windowsAt(now);
  const windows = { minute: Math.max(usage.minute, current.minute), day: Math.max(usage.day, current.day) };
  if (usage.suspendedUntil > now) return { kind: 'suspended', windows };
  if (windows.day > usage.day) return { kind: 'startDay', windows };
  const dayFull = usage.dayCount >= limits.perDay;
  if (!dayFull && windows.minute > usage.minute) return { kind: 'startMinute', windows };
  if (!dayFull && usage.minuteCount < limits.perMinute) return { kind: 'count', windows };
  if (usage.rejectedSince < current.minute) return { kind: 'startRejecting', windows };
  if (now < usage.rejectedSince + suspensionGrace) return { kind: 'reject', windows };
  const isLast = usage.rejections + 1 >= suspensionThreshold(usage.rejectedSince, limits);
  return { kind: 'countRejection', windows, ...(isLast && { suspendedUntil: now + suspensionSeconds }) };
}

function withoutFutureWindows(usage: Usage, now: number): Usage {
  const latest = now + clockTolerance;
  return {
    ...usage,
    ...(usage.minute > latest && { minute: 0, minuteCount: 0 }),
    ...(usage.day > latest && { day: 0, dayCount: 0 }),
    ...(usage.rejectedSince > latest && { rejectedSince: 0 }),
  };
}

/** Whether a transition rejects the request because a window is full. */
export function isRejection({ kind }: Transition): boolean {
  return kind === 'startRejecting' || kind === 'reject' || kind === 'countRejection';
}

/** @param usage after the transition */
export function decisionAfter(transition: Transition, usage: Usage, limits: Limits, now: number): Decision {
  const status = statusOf(currentWindows(usage, now), limits);
  const rejectedAs = (kind: 'rejected' | 'suspended', shown: RateLimitStatus): Decision => {
    return { kind, status: shown, usage, retryAfter: shown[shown.inForce].reset - now };
  };
  if (usage.suspendedUntil > now) return rejectedAs('suspended', suspendedStatus(status, usage, now));
  return isRejection(transition) ? rejectedAs('rejected', status) : { kind: 'admitted', status, usage };
}

/** The decision on a request that cannot be written. One that is admitted is not counted in its status. */
export function decideUncounted(stored: Usage, limits: Limits, now: number): Decision {
  const usage = currentWindows(stored, now);
  return decisionAfter(decide(usage, limits, now), usage, limits, now);
}

/** The status is shown as if the minute were full until the end of the suspension. A window that is full can end later. */
function suspendedStatus({ minute, day }: RateLimitStatus, usage: Usage, now: number): RateLimitStatus {
  const end = Math.min(usage.suspendedUntil, now + maxRetryAfter);
  const reset = minute.remaining === 0 ? Math.max(end, minute.reset) : end;
  const suspended = { ...minute, remaining: 0, reset };
  return { minute: suspended, day, inForce: windowInForce(suspended, day) };
}

/** While a key is suspended, its windows are not written, so they can have ended. */
export function currentWindows(stored: Usage, now: number): Usage {
  const usage = withoutFutureWindows(stored, now);
  const { minute, day } = windowsAt(now);
  return {
    ...usage,
    ...(minute > usage.minute && { minute, minuteCount: 0 }),
    ...(day > usage.day && { day, dayCount: 0 }),
  };
}

function statusOf(usage: Usage, { perMinute, perDay }: Limits): RateLimitStatus {
  const minute = windowStatus('minute', perMinute, usage.minuteCount, usage.minute, secondsPerMinute);
  const day = windowStatus('day', perDay, usage.dayCount, usage.day, secondsPerDay);
  return { minute, day, inForce: windowInForce(minute, day) };
}

function windowStatus(
  name: WindowStatus['name'],
  limit: number,
  count: number,
  start: number,
  length: number,
): WindowStatus {
  // The plan can change within a window, so the count can exceed the limit.
  return { name, limit, remaining: Math.max(0, limit - count), reset: start + length, length };
}

/** The window with fewer requests remaining. If both are full, the last to reset: an earlier retry would be rejected. */
function windowInForce(minute: WindowStatus, day: WindowStatus): WindowStatus['name'] {
  if (minute.remaining === 0 && day.remaining === 0) return day.reset > minute.reset ? 'day' : 'minute';
  return day.remaining < minute.remaining ? 'day' : 'minute';
}
