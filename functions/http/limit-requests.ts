import type { Caller } from '../access/caller.ts';
import { admit, type LimitTable } from '../access/limiter.ts';
import { LimiterMemory } from '../access/limiter-memory.ts';
import { LimiterPatience } from './limiter-patience.ts';
import type { Decision } from '../access/limiter-decisions.ts';
import { toUnixSeconds, type UnixSeconds } from '../runtime/unix-time.ts';
import { ServiceError } from './errors.ts';
import { rateHeaders, zeroRateHeaders } from './headers.ts';
import { metrics } from './metrics.ts';
import type { Parsed } from './request.ts';
import type { Stage } from './stages.ts';
import type { Recorder } from './telemetry.ts';

export interface AdmissionOptions {
  readonly table: LimitTable;
  /** Whether the operation is deprecated. Its admitted calls are counted per key. */
  readonly deprecated: boolean;
  /**
   * Milliseconds after which a request is decided by what this execution environment remembers. When the table has not answered the
   * request before, a request waits less, or not at all.
   */
  readonly timeout: number;
}

export interface RateLimitOutcome {
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if the request is admitted. */
  readonly rejection: ServiceError | undefined;
}

/**
 * Admits or rejects a request: counts it against the limits of its caller's plan (docs/interface.md#rate-limits), and rejects a key
 * that has expired. The promise never rejects.
 */
export function admissionControl({ table, deprecated, timeout }: AdmissionOptions) {
  const memory = new LimiterMemory();
  const patience = new LimiterPatience(timeout);
  return async (caller: Caller, now: UnixSeconds, recorder: Recorder): Promise<RateLimitOutcome> => {
    const { keyHash, limits, expiresAt } = caller;
    const counted = await patience
      .ask(now, (signal) => admit(table, { keyHash, limits, now, deprecated }, signal))
      .catch((error: unknown) => {
        recorder.errors.push(error);
      });

    // The key can expire while the authorizer's result is cached. This 401 has no challenge, because API Gateway renames
    // a WWW-Authenticate header that a function sends.
    if (expiresAt !== 0 && expiresAt <= now)
      return { headers: zeroRateHeaders, rejection: new ServiceError('unauthorized') };

    if (deprecated) recorder.count(metrics.deprecated);
    const decision = counted ?? memory.decide(keyHash, limits, now);
    if (counted !== undefined) memory.remember(keyHash, counted.usage, now);
    const uncounted = counted === undefined && decision.kind === 'admitted';
    recorder.count(uncounted ? metrics.failOpen : metrics[decision.kind]);
    return { headers: rateHeaders(decision.status, now), rejection: rejectionOf(decision) };
  };
}

function rejectionOf(decision: Decision): ServiceError | undefined {
  if (decision.kind === 'admitted') return undefined;
  const code = decision.kind === 'suspended' ? 'key_suspended' : 'rate_limit_exceeded';
  return new ServiceError(code, undefined, { headers: { 'Retry-After': String(decision.retryAfter) } });
}

export interface Limited extends Parsed {
  readonly limited: Promise<RateLimitOutcome>;
}

/** The stage that begins to count the request. */
export function limitRequests(limit: ReturnType<typeof admissionControl>): Stage<Parsed, Limited> {
  return {
    before: (parsed) => {
      const limited = limit(parsed.request.caller, toUnixSeconds(Date.now()), parsed.recorder);
      return { ...parsed, limited, rateHeaders: limited.then(({ headers }) => headers) };
    },
  };
}

/**
 * Does an operation unless its request is over a limit: after the decision (`first`), so that a rejected request writes
 * nothing, or in parallel with it (`alongside`). A rejection replaces what the operation returns or throws.
 */
export async function withinLimit<T>(
  limited: Promise<RateLimitOutcome>,
  when: 'first' | 'alongside',
  operate: () => Promise<T>,
): Promise<T> {
  if (when === 'first') throwRejection(await limited);
  try {
    return await operate();
  } finally {
    throwRejection(await limited);
  }
}

function throwRejection({ rejection }: RateLimitOutcome): void {
  if (rejection !== undefined) throw rejection;
}
