import type { Reply } from './client.ts';
import { describeFailure } from './run.ts';

/** The clock and the output, passed in for tests. */
export interface Waiting {
  /** Milliseconds to keep trying. */
  readonly patience: number;
  /** Milliseconds, from any fixed moment. */
  readonly now: () => number;
  readonly sleep: (milliseconds: number) => Promise<unknown>;
  readonly report: (line: string) => void;
}

export type Readiness =
  | { readonly kind: 'ready' }
  /** It answers, but not as a stage that serves the key. */
  | { readonly kind: 'not-ready'; readonly why: string }
  | { readonly kind: 'unreachable'; readonly why: string };

const longestPause = 10_000;

/**
 * Sends a request again until the stage serves it. After a deployment, API Gateway's new deployment, the function's alias
 * and a new key each take seconds to become effective: until then a call gets a connection error, 401, 403, 404 or 5xx.
 */
export async function waitUntilReady(
  send: () => Promise<Reply>,
  { patience, now, sleep, report }: Waiting,
): Promise<Readiness> {
  const deadline = now() + patience;
  for (let pause = 1_000; ; pause = Math.min(2 * pause, longestPause)) {
    const outcome = await send().then(judge, unreachable);
    const left = deadline - now();
    if (outcome.kind === 'ready' || left <= 0) return outcome;
    const wait = Math.min(pause, left);
    report(
      `Not ready yet: ${outcome.why}. Next attempt in ${seconds(wait)}; giving up after another ${seconds(left)}.`,
    );
    await sleep(wait);
  }
}

function judge({ request, status }: Reply): Readiness {
  const ready = status < 500 && ![401, 403, 404].includes(status);
  return ready ? { kind: 'ready' } : { kind: 'not-ready', why: `${request} answered ${status}` };
}

function unreachable(error: unknown): Readiness {
  return { kind: 'unreachable', why: describeFailure(error) };
}

function seconds(milliseconds: number): string {
  return `${Math.ceil(milliseconds / 1000)} s`;
}
