import * as z from 'zod';
import { storedCount } from '../../../functions/access/stored-count.ts';
import { isoTime } from './output.ts';

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
