import { windowsAt } from '../../functions/access/limits.ts';
import { type Limits, limitsOf } from '../../functions/access/plans.ts';
import { grouped, isoTime, table, time, untilTime } from './format.ts';
import type { NewKey } from './issue.ts';
import type { Output } from './output.ts';
import { type AdministeredKey, type AuditLine, type ChangeLine, ownLimits } from './records.ts';
import type { KeyUse } from './use.ts';

/** Keys as JSON and as text. Neither includes a key's hash. */

/** The states of a key. They follow from the record, the use and the time, so there is no index of them. */
export const keyStatuses = ['active', 'suspended', 'expired', 'revoked'] as const;

/** One of `keyStatuses`, or the stored status of a record that is not active. @param now Unix seconds */
export function statusOf({ status, expiresAt = 0 }: AdministeredKey, use: KeyUse, now: number): string {
  if (status !== 'active') return status;
  if (expiresAt !== 0 && expiresAt <= now) return 'expired';
  return use.suspendedUntil > now ? 'suspended' : 'active';
}

function limitsOfKey(key: AdministeredKey): Limits {
  return limitsOf(key.plan) ?? ownLimits(key) ?? { perMinute: 0, perDay: 0 };
}

/** A new key: the only output that contains one. */
export function issuedText({ keyId, key, plan, ...limits }: NewKey): string {
  return `Key ID  ${keyId}\nPlan    ${planText(plan, limits)}\nKey     ${key}\nThe key is not shown again.`;
}

function planText(plan: string, { perMinute, perDay }: Limits): string {
  return `${plan}: ${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
}

export function paintStatus(output: Output, status: string): string {
  return output.paint(status === 'active' ? 'green' : status === 'suspended' ? 'yellow' : 'red', status);
}

export function summary(key: AdministeredKey, use: KeyUse, status: string) {
  return {
    keyId: key.keyId,
    status,
    owner: key.owner,
    plan: key.plan,
    ...limitsOfKey(key),
    note: key.note ?? null,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    lastUsedAt: isoTime(use.minute),
  };
}

/** Everything about a key. The use is that of the current windows. @param now Unix seconds */
export function details(key: AdministeredKey, use: KeyUse, now: number) {
  const { minute, day } = windowsAt(now);
  return {
    ...summary(key, use, statusOf(key, use, now)),
    replaces: key.replaces ?? null,
    replacedBy: key.replacedBy ?? null,
    usedThisMinute: use.minute === minute ? use.minuteCount : 0,
    usedToday: use.day === day ? use.dayCount : 0,
    rejectedThisMinute: use.minute === minute ? use.rejections : 0,
    suspendedUntil: use.suspendedUntil > now ? isoTime(use.suspendedUntil) : null,
    deprecatedCalls: use.deprecatedCalls,
    audit: key.audit.map(auditJson),
  };
}

export function detailsText(output: Output, key: AdministeredKey, use: KeyUse, now: number): string {
  const shown = details(key, use, now);
  const fields: [name: string, value: string | null | undefined][] = [
    ['Status', paintStatus(output, shown.status)],
    ['Owner', key.owner],
    ['Plan', planText(key.plan, shown)],
    ['Note', key.note],
    ['Created', time(key.createdAt)],
    ['Expires', key.expiresAt ? time(key.expiresAt) : null],
    ['Replaces', key.replaces],
    ['Replaced by', key.replacedBy],
    ['Suspended', shown.suspendedUntil && untilTime(use.suspendedUntil)],
    // The limiter stores the minute only. With seconds it could seem older than the key.
    ['Last used', use.minute === 0 ? 'not in the last 90 days' : `${time(use.minute).slice(0, 16)} UTC`],
    ['This minute', `${grouped(shown.usedThisMinute)} of ${grouped(shown.perMinute)}`],
    ['Today', `${grouped(shown.usedToday)} of ${grouped(shown.perDay)}`],
    ['Rejected', `${grouped(shown.rejectedThisMinute)} this minute`],
    ['Deprecated', `${grouped(use.deprecatedCalls)} calls to a deprecated operation`],
  ];
  const rows = fields.flatMap(([name, value]) => (value ? [[name, value]] : []));
  const trail = key.audit.map((line) => [time(line.at), line.by, whatOf(line)]);
  return `${output.paint('bold', key.keyId)}\n\n${table(rows)}\n\n${table([['WHEN', 'WHO', 'WHAT'], ...trail])}`;
}

function auditJson({
  at,
  by,
  did,
  detail = null,
}: Omit<AuditLine, 'detail'> & { detail?: string | null | undefined }) {
  return { at: isoTime(at), by, did, detail };
}

export function changeJson({ keyId, stage, ...line }: ChangeLine) {
  return { audit: { ...auditJson(line), keyId, stage } };
}

export function changeText({ at, by, keyId, stage, ...line }: ChangeLine): string {
  return `${time(at)}  ${by}  ${keyId} in ${stage}: ${whatOf(line)}`;
}

function whatOf({ did, detail }: Pick<AuditLine, 'did' | 'detail'>): string {
  return detail === undefined ? did : `${did} ${detail}`;
}
