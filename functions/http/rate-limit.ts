import { freshStanding, type Verdict } from '../access/limits.ts';
import { admit, type Admission, type LimitTable } from '../access/limiter.ts';
import { ServiceError } from './errors.ts';
import { type Metric, metrics } from './metrics.ts';
import type { Middleware } from './exchange.ts';
import { rateHeaders } from './rate-headers.ts';

export interface RateLimitOptions {
  readonly table: LimitTable;
  /**
   * `before`: decide first, so that a rejected request changes nothing. `alongside`: decide while the operation
   * reads, so that the limit costs a read no round trip.
   */
  readonly order: 'before' | 'alongside';
  readonly deprecated: boolean;
  /** How long the limiter may take before requests go through uncounted, in milliseconds. */
  readonly timeout: number;
}

/**
 * What the first call of an execution environment gets at least, in milliseconds: it opens the connection, which alone
 * can take longer than the time-out. A burst meets many new environments at once, and must be counted all the same.
 */
const firstCallTimeout = 1_000;

/** What the limiter says, or that it could not say anything. */
type Outcome = Verdict | { readonly kind: 'uncounted'; readonly cause: unknown };

/** Enforces the limits of the caller's plan (interface, section 8) and tells every answer where the key stands. */
export function rateLimit({ table, order, deprecated, timeout }: RateLimitOptions): Middleware {
  let firstCall = true;

  return {
    before: async ({ event: { request }, internal }) => {
      const { keyHash, limits, expiresAt } = request.caller;
      const now = Math.floor(Date.now() / 1000);
      // The authorizer's answer is cached, so it can outlive a key that is about to expire. This 401 bears no challenge:
      // API Gateway renames a WWW-Authenticate that comes from a function.
      if (expiresAt !== 0 && expiresAt <= now) throw new ServiceError('unauthorized');

      const deadline = firstCall ? Math.max(timeout, firstCallTimeout) : timeout;
      firstCall = false;
      internal.refusal = ask(table, { keyHash, limits, now, deprecated }, deadline).then((outcome) => {
        const standing = outcome.kind === 'uncounted' ? freshStanding(limits, now) : outcome.standing;
        internal.rateHeaders = rateHeaders(standing, now);
        internal.recorder.count(countedAs[outcome.kind]);
        if (deprecated) internal.recorder.count(metrics.deprecated);
        if (outcome.kind === 'uncounted') internal.recorder.fault(outcome.cause);
        return refusalOf(outcome);
      });
      if (order === 'before') throwIfAny(await internal.refusal);
    },
    after: async ({ internal }) => throwIfAny(await internal.refusal),
    onError: async (request) => {
      // A rejected request is told so, whatever else was wrong with it.
      request.error = (await request.internal.refusal) ?? request.error;
    },
  };
}

const countedAs = {
  admitted: metrics.admitted,
  rejected: metrics.rejected,
  suspended: metrics.suspended,
  uncounted: metrics.failOpen,
} as const satisfies Record<Outcome['kind'], Metric>;

function refusalOf(outcome: Outcome): ServiceError | undefined {
  if (outcome.kind === 'admitted' || outcome.kind === 'uncounted') return undefined;
  const code = outcome.kind === 'suspended' ? 'key_suspended' : 'rate_limit_exceeded';
  return new ServiceError(code, undefined, { headers: { 'Retry-After': String(outcome.retryAfter) } });
}

function throwIfAny(error: ServiceError | undefined): void {
  if (error !== undefined) throw error;
}

/** Never rejects: when the table cannot be reached in time, the gateway's usage plan is limit enough. */
async function ask(table: LimitTable, admission: Admission, timeout: number): Promise<Outcome> {
  const abort = new AbortController();
  const timer = setTimeout(() => {
    abort.abort(new Error(`The rate limiter did not answer within ${timeout} ms`));
  }, timeout);
  try {
    return await admit(table, admission, abort.signal);
  } catch (cause) {
    return { kind: 'uncounted', cause };
  } finally {
    clearTimeout(timer);
  }
}
