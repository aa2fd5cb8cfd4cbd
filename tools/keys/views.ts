import { windowsAt } from '../../functions/access/limits.ts';
import type { AuditLine, ReportedChange } from './changes.ts';
import { grouped, isoTime, table } from './format.ts';
import type { Output } from './output.ts';
import { type AdministeredKey, isValid, limitsInForce } from './records.ts';
import type { KeyUse } from './use.ts';

/** The states of a key. They follow from the record, the use and the time, so there is no index of them. */
export const keyStatuses = ['active', 'suspended', 'expired', 'revoked'] as const;

/** One of `keyStatuses`, or the stored status of a record that is not active. @param now Unix seconds */
export function statusOf(key: AdministeredKey, use: KeyUse, now: number): string {
  if (key.status !== 'active') return key.status;
  if (!isValid(key, now)) return 'expired';
  return use.suspendedUntil > now ? 'suspended' : 'active';
}

/** A key as `list` and `show` print it, without its hash. The use is that of the current windows. */
export function viewOf(key: AdministeredKey, use: KeyUse, now: number) {
  const { minute, day } = windowsAt(now);
  return {
    keyId: key.keyId,
    status: statusOf(key, use, now),
    owner: key.owner,
    plan: key.plan,
    ...limitsInForce(key),
    note: key.note ?? null,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    // The limiter stores the minute only, so it can be before `createdAt`.
    lastUsedAt: isoTime(use.minute),
    replaces: key.replaces ?? null,
    replacedBy: key.replacedBy ?? null,
    usedThisMinute: use.minute === minute ? use.minuteCount : 0,
    usedToday: use.day === day ? use.dayCount : 0,
    rejectedThisMinute: use.minute === minute ? use.rejections : 0,
    suspendedUntil: use.suspendedUntil > now ? isoTime(use.suspendedUntil) : null,
    deprecatedCalls: use.deprecatedCalls,
  };
}
export type KeyView = ReturnType<typeof viewOf>;

const columns = ['keyId', 'status', 'plan', 'createdAt', 'lastUsedAt', 'owner', 'note'] as const;

export function auditJson({ at, by, did, detail }: AuditLine) {
  return { at: isoTime(at), by, did, detail: detail ?? null };
}

export function changeJson(change: ReportedChange) {
  return { audit: { ...auditJson(change), keyId: change.keyId, stage: change.stage } };
}

export function changeText({ at, by, did, detail = '', keyId, stage }: ReportedChange): string {
  return `${isoTime(at)}  ${by}  ${keyId} in ${stage}: ${did} ${detail}`.trimEnd();
}

/** Keys as a table, one a line. */
export function listText(output: Output, keys: readonly KeyView[]): string {
  const heads = columns.map((name) => labelOf(name).toUpperCase());
  return table([heads, ...keys.map((key) => columns.map((name) => cellOf(output, name, key[name])))]);
}

/** A key as text: a line for each value. */
export function detailsText(output: Output, key: KeyView): string {
  return table(Object.entries(key).map(([name, value]) => [labelOf(name), cellOf(output, name, value)]));
}

/** `key id` for `keyId` */
function labelOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function cellOf(output: Output, name: string, value: string | number | null): string {
  if (typeof value === 'number') return grouped(value);
  if (name !== 'status' || value === null) return value ?? '-';
  return output.paint(value === 'active' ? 'green' : value === 'suspended' ? 'yellow' : 'red', value);
}
