import * as z from 'zod/mini';
import { secondsPerDay, secondsPerMinute, windowStart } from './plans.ts';

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
    /** Its limits are beside it. During a canary, a newer authorizer can pass a plan that this version does not know. */
    plan: z.string(),
    perMinute: count,
    perDay: count,
    /** Unix seconds, 0 for never. */
    expiresAt: count,
  }),
  z.transform(({ perMinute, perDay, ...rest }) => ({ ...rest, limits: { perMinute, perDay } })),
);

/** Whom a request is from: a key that is valid, and what it may do. */
export type Caller = Readonly<z.output<typeof caller>>;

/** What the authorizer passes to the functions and the gateway responses. */
export type CallerContext = Readonly<Record<string, string | number>>;

/**
 * The authorizer's context for a key at `now` (Unix seconds). `throttleReset` and `dayReset` are for gateway responses,
 * whose templates cannot compute. The former is in the future for as long as the result is cached.
 */
export function toCallerContext(
  { limits, ...identity }: Caller,
  now: number,
  cacheSeconds: number,
): CallerContext {
  return {
    ...identity,
    ...limits,
    throttleReset: windowStart(now + cacheSeconds, secondsPerMinute) + secondsPerMinute,
    dayReset: windowStart(now, secondsPerDay) + secondsPerDay,
  };
}
