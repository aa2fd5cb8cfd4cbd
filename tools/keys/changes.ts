import * as z from 'zod/mini';
import { storedCount } from '../../functions/access/stored-count.ts';

/** What was done (a past participle such as `created`), when (Unix seconds) and by whom. */
export const auditLine = z.object({
  at: storedCount,
  by: z.string(),
  did: z.string(),
  detail: z.optional(z.string()),
});
export type AuditLine = z.infer<typeof auditLine>;

/** A change that was made, with the key that it is about. */
export type ReportedChange = AuditLine & { readonly keyId: string; readonly stage: string };

/** How the tool reports progress, and what tests replace. */
export interface Hooks {
  readonly onChange?: (change: ReportedChange) => void;
  /** Called when something takes longer, and for each malformed record. */
  readonly notify?: (message: string) => void;
  /** Called after each step of a change. Tests stop here as a crash would. */
  readonly afterStep?: (step: string) => void | Promise<void>;
  /** Milliseconds since the Unix epoch. */
  readonly clock?: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}
