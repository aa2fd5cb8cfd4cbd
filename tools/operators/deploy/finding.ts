import { printable } from '../command-line/output.ts';

/** What a check of a deployment found. `stop`: the deployment would fail, or lose something. */
export interface Finding {
  readonly kind: 'ok' | 'warning' | 'stop';
  readonly text: string;
}

export const ok = (text: string): Finding => ({ kind: 'ok', text });
export const warning = (text: string): Finding => ({ kind: 'warning', text });
export const stop = (text: string): Finding => ({ kind: 'stop', text });

/** The finding about an answer of AWS. One that AWS did not give stops nothing. */
export function judge<T>(
  what: string,
  answer: PromiseSettledResult<T>,
  check: (answer: T) => Finding,
): Finding {
  return answer.status === 'fulfilled'
    ? check(answer.value)
    : warning(`${what} could not be checked: ${messageOf(answer.reason)}`);
}

/** The message of an error in one line. */
export function messageOf(error: unknown): string {
  return String(error instanceof Error ? error.message || error.name : error).replaceAll(/\s+/g, ' ');
}

/** A finding as one line. */
export function lineOf({ kind, text }: Finding): string {
  return printable(`${kind}: ${text}`);
}

/** Prints findings. @returns whether to go on */
export function report(findings: readonly Finding[]): boolean {
  for (const finding of findings) (finding.kind === 'stop' ? console.error : console.log)(lineOf(finding));
  return findings.every(({ kind }) => kind !== 'stop');
}
