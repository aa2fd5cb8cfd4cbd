import type { Check } from './checks.ts';
import type { Client, Reply } from './client.ts';

export interface CheckResult {
  readonly name: string;
  readonly milliseconds: number;
  /** Why the check failed; `undefined` when it held. */
  readonly failure: string | undefined;
}

/** Runs the checks one after another, so that a burst does not exceed the limit per minute. */
export async function runChecks(checks: readonly Check[], client: Client): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const { name, run } of checks) {
    const startedAt = performance.now();
    const failure = await run(client).then(() => undefined, describeFailure);
    results.push({ name, milliseconds: performance.now() - startedAt, failure });
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

/** `not-ready`: it answers, but not as a stage that serves the key. */
export type Readiness =
  { readonly kind: 'ready' } | { readonly kind: 'not-ready' | 'unreachable'; readonly why: string };

/**
 * Sends a request again until the stage serves it. After a deployment, API Gateway's new deployment, the function's alias
 * and a new key each take seconds to become effective: until then a call gets a connection error, 401, 403, 404 or 5xx.
 */
export async function waitUntilReady(
  send: () => Promise<Reply>,
  { patience, now, sleep, report }: Waiting,
): Promise<Readiness> {
  const deadline = now() + patience;
  for (let pause = 1_000; ; pause = Math.min(2 * pause, 10_000)) {
    const outcome = await send().then(
      ({ request, status }): Readiness =>
        status < 500 && ![401, 403, 404].includes(status)
          ? { kind: 'ready' }
          : { kind: 'not-ready', why: `${request} answered ${status}` },
      (error): Readiness => ({ kind: 'unreachable', why: describeFailure(error) }),
    );
    const left = deadline - now();
    if (outcome.kind === 'ready' || left <= 0) return outcome;
    const wait = Math.min(pause, left);
    const [next, end] = [wait, left].map((milliseconds) => `${Math.ceil(milliseconds / 1000)} s`);
    report(`Not ready yet: ${outcome.why}. Next attempt in ${next}; giving up after another ${end}.`);
    await sleep(wait);
  }
}

/** The cause says why a connection failed; `fetch failed` alone does not. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
