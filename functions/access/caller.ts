import * as z from 'zod/mini';
import { type Limits, type Plan, planNames, secondsPerDay, secondsPerMinute, windowStart } from './plans.ts';

/** Whom a request is from: a key that is valid, and what it may do. */
export interface Caller {
  readonly keyHash: string;
  readonly keyId: string;
  readonly plan: Plan;
  readonly limits: Limits;
  /** Unix seconds, 0 for never. */
  readonly expiresAt: number;
}

/** What the authorizer passes to the functions and the gateway responses. */
export type CallerContext = Readonly<Record<string, string | number>>;

/**
 * The authorizer's context for a key at `now` (Unix seconds). `throttleReset` and `dayReset` are for gateway responses,
 * whose templates cannot compute. The former is in the future for as long as the result is cached.
 */
export function toCallerContext(
  { keyHash, keyId, plan, limits, expiresAt }: Caller,
  now: number,
  cacheSeconds: number,
): CallerContext {
  return {
    keyHash,
    keyId,
    plan,
    perMinute: limits.perMinute,
    perDay: limits.perDay,
    expiresAt,
    throttleReset: windowStart(now + cacheSeconds, secondsPerMinute) + secondsPerMinute,
    dayReset: windowStart(now, secondsPerDay) + secondsPerDay,
  };
}

// API Gateway passes every value on as a string.
const count = z.pipe(
  z.string().check(z.regex(/^\d{1,15}$/)),
  z.transform((digits) => Number(digits)),
);

/** The caller of an operation, parsed from `event.requestContext.authorizer`. */
export const caller = z.pipe(
  z.object({
    keyHash: z.string(),
    keyId: z.string(),
    plan: z.enum(planNames),
    perMinute: count,
    perDay: count,
    expiresAt: count,
  }),
  z.transform(({ perMinute, perDay, ...rest }): Caller => ({ ...rest, limits: { perMinute, perDay } })),
);
