import { windowsAt } from '../../functions/access/limits.ts';
import { limitsOf } from '../../functions/access/plans.ts';
import { grouped, isoTime, table } from './format.ts';
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

/** A new key: the only output that contains one. */
export function issuedText({ keyId, key, plan, perMinute, perDay }: NewKey): string {
  const limits = `${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
  return `Key ID  ${keyId}\nPlan    ${plan}: ${limits}\nKey     ${key}\nThe key is not shown again.`;
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
    ...(limitsOf(key.plan) ?? ownLimits(key)),
    note: key.note ?? null,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    // The limiter stores the minute only, so it can be before `createdAt`.
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

/** The same as text: a line for each value, then the audit trail. */
export function detailsText(output: Output, { audit, ...values }: ReturnType<typeof details>): string {
  const fields = Object.entries({ ...values, status: paintStatus(output, values.status) }).map(
    ([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
      typeof value === 'number' ? grouped(value) : (value ?? '-'),
    ],
  );
  const trail = audit.map(({ at, by, did, detail }) => [at ?? '', by, `${did} ${detail ?? ''}`]);
  return `${table(fields)}\n\n${table([['WHEN', 'WHO', 'WHAT'], ...trail])}`;
}

function auditJson({ at, by, did, detail }: AuditLine) {
  return { at: isoTime(at), by, did, detail: detail ?? null };
}

export function changeJson(line: ChangeLine) {
  return { audit: { ...auditJson(line), keyId: line.keyId, stage: line.stage } };
}

export function changeText({ at, by, did, detail = '', keyId, stage }: ChangeLine): string {
  return `${isoTime(at)}  ${by}  ${keyId} in ${stage}: ${did} ${detail}`.trimEnd();
}
