import { ToolError } from '../command-line/errors.ts';
import { isoTime } from '../command-line/output.ts';
import { type Check, SkippedCheck } from './checks.ts';
import type { Client, Reply } from './client.ts';

type Outcome = { readonly kind: 'passed' } | { readonly kind: 'skipped' | 'failed'; readonly why: string };

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
interface Waiting {
  /** Milliseconds to keep trying. */
  readonly patience: number;
  /** Milliseconds, from any fixed moment. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly report: (line: string) => void;
}

/** Requests with the key, at most. */
export const requestsNeeded = 52;

/** Milliseconds until a new key is effective in API Gateway, which answers 401 until then. */
const untilKeyIsEffective = 15_000;

/**
 * Sends a request again until the stage serves it. After a deployment, API Gateway's new deployment and the function's
 * alias take seconds to become effective: until then a call gets a connection error, 403, 404 or 5xx.
 *
 * @throws ToolError if the stage does not serve it in time, or the key has too few requests left
 */
export async function waitUntilReady(
  send: () => Promise<Reply>,
  { patience, now, sleep, report }: Waiting,
): Promise<void> {
  const start = now();
  for (let pause = 1_000; ; pause = Math.min(2 * pause, 10_000)) {
    const { problem, longest } = await send().then(problemOf, (error: unknown) => ({
      problem: `No response (${describeFailure(error)}). Check the address, and that the service is running`,
      longest: Infinity,
    }));
    if (problem === undefined) return;
    const left = start + Math.min(patience, longest) - now();
    if (left <= 0) throw new ToolError('failed', `${problem}.`);
    const wait = Math.min(pause, left);
    const [next, end] = [wait, left].map((milliseconds) => `${Math.ceil(milliseconds / 1000)} s`);
    report(`${problem}. Next attempt in ${next}; giving up after another ${end}.`);
    await sleep(wait);
  }
}

interface Problem {
  readonly problem?: string;
  /** Milliseconds to wait for its end. */
  readonly longest: number;
}

function problemOf({ request, status, headers }: Reply): Problem {
  const answered = `${request} answered ${status}`;
  if (status === 401)
    return { problem: `${answered}: this stage does not know the API key`, longest: untilKeyIsEffective };
  if (status >= 500) return { problem: answered, longest: Infinity };
  if ([403, 404].includes(status))
    return { problem: `${answered}, so the address may be wrong`, longest: Infinity };
  if (status === 429)
    return { problem: `${answered}. Try again in ${headers.get('retry-after')} seconds`, longest: 0 };
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? Infinity);
  if (remaining >= requestsNeeded) return { longest: 0 };
  const left = `The API key has ${remaining} requests left, and the smoke test needs ${requestsNeeded}`;
  const reset = isoTime(Number(headers.get('x-ratelimit-reset')));
  return { problem: `${left}. Try again at ${reset}`, longest: 0 };
}

/** The cause says why a connection failed; `fetch failed` alone does not. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
