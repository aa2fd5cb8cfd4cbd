import type { Check } from './check.ts';
import type { Client } from './client.ts';

export interface CheckResult {
  readonly name: string;
  readonly milliseconds: number;
  /** Why the check failed; `undefined` when it held. */
  readonly failure: string | undefined;
}

/** Runs the checks one after another: a service under test should not be blamed for a burst. */
export async function runChecks(checks: readonly Check[], client: Client): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const startedAt = performance.now();
    const failure = await check.run(client).then(() => undefined, describeFailure);
    results.push({ name: check.name, milliseconds: performance.now() - startedAt, failure });
  }
  return results;
}

/** The cause tells why a connection failed; `fetch failed` alone does not. */
export function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
