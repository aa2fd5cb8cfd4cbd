import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { storedCount } from '../../../functions/access/stored-count.ts';
import { ToolError } from './errors.ts';
import { isoTime } from './output.ts';
import { mayBeDone } from './retry.ts';

/** How every command changes a stored record: it reads, decides, writes on a condition, repeats, and says what it did. */

/** What was done (a past participle such as `created`), when (Unix seconds) and by whom. */
export const auditLine = z.object({
  at: storedCount,
  by: z.string(),
  did: z.string(),
  detail: z.optional(z.string()),
});
export type AuditLine = z.infer<typeof auditLine>;

/** A change that was made, with the ID of what was changed. */
export type ReportedChange = AuditLine & {
  readonly stage: string;
  readonly about: { readonly keyId: string } | { readonly petId: string } | { readonly file: string };
};

export function auditJson({ at, by, did, detail }: AuditLine) {
  return { at: isoTime(at), by, did, detail: detail ?? null };
}

export function changeJson(change: ReportedChange) {
  return { audit: { ...auditJson(change), ...change.about, stage: change.stage } };
}

export function changeText({ at, by, did, detail = '', about, stage }: ReportedChange): string {
  const [id] = Object.values(about);
  return `${isoTime(at)}  ${by}  ${id} in ${stage}: ${did} ${detail}`.trimEnd();
}

/** The record was changed after it was read, or does not exist any more. Nothing was written. */
export class StaleRecordError extends ToolError {}

/** The answer of the write that decides was lost, and what it wrote cannot be read. */
export class OutcomeUnknownError extends ToolError {}

interface Write {
  /** The ID of the record, for messages. */
  readonly id: string;
  /** Sends the write, whose condition fails if the record was changed since it was read. */
  readonly send: () => Promise<unknown>;
  /** Whether the record is as the write leaves it. */
  readonly isMade: () => Promise<boolean>;
  /** What to do after "show" if it is unknown whether the change was made. */
  readonly ifUnknown?: string | undefined;
  /** How to find what the command leaves if it ends with an unknown outcome. */
  readonly leftOver?: string;
}

/**
 * Writes a record. If the answer was lost, what is stored decides.
 *
 * @throws StaleRecordError, OutcomeUnknownError
 */
export async function commit({
  id,
  send,
  isMade,
  ifUnknown = 'If it does not show the change, run the same command again.',
  leftOver = '',
}: Write): Promise<void> {
  try {
    await send();
  } catch (error) {
    const made =
      mayBeDone(error) &&
      (await isMade().catch((cause: unknown) => unknown(id, `${ifUnknown} ${leftOver}`, cause)));
    if (made) return;
    if (!isOvertaken(error)) throw error;
    const message = `${id} was changed or removed by someone else. Look at it and try again.`;
    throw new StaleRecordError('refused', message, { cause: error });
  }
}

function unknown(id: string, advice: string, cause: unknown): never {
  const message = `Outcome unknown: the answer was lost, and ${id} cannot be read. Run "show ${id}". ${advice}`;
  throw new OutcomeUnknownError('unknown', message.trim(), { cause });
}

function isOvertaken(error: unknown): boolean {
  if (error instanceof ConditionalCheckFailedException) return true;
  const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
  return reasons.some(({ Code: code = '' }) => /^(ConditionalCheckFailed|TransactionConflict)$/.test(code));
}

/** Reads a record, decides and writes; begins again, a few times, if someone else was faster. */
export async function untilCurrent<T>(attempt: () => Promise<T>, attempts = 5): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof StaleRecordError) || attempts === 1) throw error;
    return untilCurrent(attempt, attempts - 1);
  }
}
