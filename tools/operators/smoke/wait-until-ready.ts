import { ToolError } from '../command-line/errors.ts';
import { isoTime } from '../command-line/output.ts';
import type { Reply } from './client.ts';

/** Requests with the key, at most. */
export const requestsNeeded = 52;

/**
 * Milliseconds until a new key is effective in API Gateway, which answers 401 until then. LocalStack's test
 * test_api_key_required_for_methods, validated on AWS on 2023-07-27, waits as long.
 */
const untilKeyIsEffective = 120_000;

/** The clock and the output, passed in for tests. */
interface Waiting {
  /** Milliseconds to keep trying. */
  readonly patience: number;
  /** Milliseconds, from any fixed moment. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly report: (line: string) => void;
}

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
    const found = await send().then(problemOf, (error: unknown): Problem => [
      `No response (${failureText(error)}). Check the address, and that the service is running`,
      Infinity,
    ]);
    if (found === undefined) return;
    const [problem, longest] = found;
    const left = start + Math.min(patience, longest) - now();
    if (left <= 0) throw new ToolError('failed', `${problem}.`);
    const wait = Math.min(pause, left);
    const [next, end] = [wait, left].map((milliseconds) => `${Math.ceil(milliseconds / 1000)} s`);
    report(`${problem}. Next attempt in ${next}; giving up after another ${end}.`);
    await sleep(wait);
  }
}

/** Why the checks cannot begin, and the milliseconds to wait for the end of that. */
type Problem = readonly [what: string, longest: number];

function problemOf({ request, status, headers }: Reply): Problem | undefined {
  const answered = `${request} answered ${status}`;
  if (status === 401) return [`${answered}: this stage does not know the API key`, untilKeyIsEffective];
  if (status >= 500) return [answered, Infinity];
  if (status === 403 || status === 404) return [`${answered}, so the address may be wrong`, Infinity];
  if (status === 429) return [`${answered}. Try again in ${headers.get('retry-after')} seconds`, 0];
  const remaining = Number(headers.get('x-ratelimit-remaining') ?? Infinity);
  if (remaining >= requestsNeeded) return undefined;
  const reset = isoTime(Number(headers.get('x-ratelimit-reset')));
  const left = `The API key has ${remaining} requests left, and the smoke test needs ${requestsNeeded}`;
  return [`${left}. Try again at ${reset}`, 0];
}

/** The cause says why a connection failed; `fetch failed` alone does not. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
