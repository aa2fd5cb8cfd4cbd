import { type Check, SkippedCheck } from './checks.ts';
import type { Client, Reply } from './client.ts';

type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'skipped'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

export interface CheckResult {
  readonly name: string;
  readonly milliseconds: number;
  readonly outcome: Outcome;
}

/** Runs the checks one after another, so that a burst does not exceed the limit per minute. */
export async function runChecks(checks: readonly Check[], client: Client): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, run } of checks) {
    const startedAt = performance.now();
    const outcome = await run(client).then(
      (): Outcome => ({ kind: 'passed' }),
      (error): Outcome =>
        error instanceof SkippedCheck
          ? { kind: 'skipped', why: error.message }
          : { kind: 'failed', why: describeFailure(error) },
    );
    results.push({ name, milliseconds: performance.now() - startedAt, outcome });
  }
  return results;
}

/** The clock and the output, passed in for tests. */
export interface Waiting {
  /** Milliseconds to keep trying. */
  readonly patience: number;
  /** Milliseconds, from any fixed moment. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly report: (line: string) => void;
}

/**
 * `rejected`: the stage does not accept the key. `used-up`: the key has too few requests left for now. `not-ready`: it answers, but not as a stage that
 * serves requests.
 */
export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'rejected' | 'used-up' | 'not-ready' | 'unreachable'; readonly why: string };

/** Requests with the key, at most. */
export const requestsNeeded = 59;

/** Milliseconds until a new key is effective in API Gateway, which answers 401 until then. */
const untilKeyIsEffective = 15_000;

/**
 * Sends a request again until the stage serves it. After a deployment, API Gateway's new deployment and the function's
 * alias take seconds to become effective: until then a call gets a connection error, 403, 404 or 5xx.
 */
export async function waitUntilReady(
  send: () => Promise<Reply>,
  { patience, now, sleep, report }: Waiting,
): Promise<Readiness> {
  const start = now();
  for (let pause = 1_000; ; pause = Math.min(2 * pause, 10_000)) {
    const reply = await send().catch((error: unknown) => describeFailure(error));
    const outcome: Readiness =
      typeof reply === 'string' ? { kind: 'unreachable', why: reply } : readinessOf(reply);
    const isUnauthorized = typeof reply !== 'string' && reply.status === 401;
    const isFinal = outcome.kind === 'ready' || outcome.kind === 'used-up';
    const left = start + (isUnauthorized ? Math.min(patience, untilKeyIsEffective) : patience) - now();
    if (isFinal || left <= 0) return outcome;
    const wait = Math.min(pause, left);
    const [next, end] = [wait, left].map((milliseconds) => `${Math.ceil(milliseconds / 1000)} s`);
    report(`Not ready yet: ${outcome.why}. Next attempt in ${next}; giving up after another ${end}.`);
    await sleep(wait);
  }
}

function readinessOf({ request, status, headers }: Reply): Readiness {
  const why = `${request} answered ${status}`;
  if (status === 401) return { kind: 'rejected', why: `${why}: this stage does not know the API key` };
  if (status === 429) {
    const after = headers.get('retry-after');
    return {
      kind: 'used-up',
      why: `it has no requests left. Try again in ${after ?? 'some'} seconds`,
    };
  }
  if (status >= 500 || [403, 404].includes(status)) return { kind: 'not-ready', why };
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? Infinity);
  if (remaining >= requestsNeeded) return { kind: 'ready' };
  const { window, seconds } = fullestWindow(headers);
  return {
    kind: 'used-up',
    why: `it has ${remaining} requests left in this ${window}, and the smoke test needs ${requestsNeeded}. Try again in ${seconds} seconds`,
  };
}

/** Of the `RateLimit` header, the window with the fewest requests left, and when it ends. */
function fullestWindow(headers: Headers): { readonly window: string; readonly seconds: string } {
  const windows = [...(headers.get('ratelimit') ?? '').matchAll(/"(\w+)";r=(\d+);t=(\d+)/g)];
  const [first] = windows.toSorted(([, , a], [, , b]) => Number(a) - Number(b));
  return { window: first?.[1] ?? 'window', seconds: first?.[3] ?? 'some' };
}

/** The cause says why a connection failed; `fetch failed` alone does not. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
