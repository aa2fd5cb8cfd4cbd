import { windowsAt } from '../../functions/access/limits.ts';
import { type Limits, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { bar, grouped, isoTime, table, time, untilTime } from './format.ts';
import type { NewKey } from './issue.ts';
import { type ListedKey, statusOf } from './listing.ts';
import type { Output } from './output.ts';
import type { AdministeredKey, AuditLine } from './records.ts';
import type { ChangeLine } from './service.ts';
import type { KeyUse } from './use.ts';

/** Keys as JSON and as text. Neither includes a key's hash. */

export function limitsOfKey({ plan, perMinute = 0, perDay = 0 }: AdministeredKey): Limits {
  return limitsOf(plan) ?? { perMinute, perDay };
}

/** A new key: the only output that contains one. */
export function issuedJson({ keyId, key, owner, plan, limits }: NewKey, stage: string) {
  return { keyId, key, stage, owner, plan, ...limits };
}

export function issuedText({ keyId, key, plan, limits }: NewKey): string {
  return `Key ID  ${keyId}\nPlan    ${planText(plan, limits)}\nKey     ${key}\nThe key is not shown again.`;
}

function planText(plan: Plan, { perMinute, perDay }: Limits): string {
  return `${plan}: ${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
}

/** Colours a status, which may be padded. */
export function paintStatus(output: Output, status: string): string {
  const isActive = status.trim() === 'active';
  return output.paint(isActive ? 'green' : status.trim() === 'suspended' ? 'yellow' : 'red', status);
}

export function summary({ key, use, status }: ListedKey) {
  return {
    keyId: key.keyId,
    status,
    owner: key.owner,
    plan: key.plan,
    ...limitsOfKey(key),
    note: key.note ?? null,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    lastUsedAt: isoTime(use?.minute),
  };
}

/** The stored use that belongs to the current windows. @param now Unix seconds */
function currentUse(use: KeyUse, now: number) {
  const { minute, day } = windowsAt(now);
  return {
    usedThisMinute: use.minute === minute ? use.minuteCount : 0,
    usedToday: use.day === day ? use.dayCount : 0,
    rejectedThisMinute: use.minute === minute ? use.rejections : 0,
    suspendedUntil: use.suspendedUntil > now ? use.suspendedUntil : undefined,
  };
}

export function showJson(key: AdministeredKey, use: KeyUse, now: number) {
  const { suspendedUntil, ...current } = currentUse(use, now);
  return {
    ...summary({ key, use, status: statusOf(key, use, now) }),
    replaces: key.replaces ?? null,
    replacedBy: key.replacedBy ?? null,
    ...current,
    suspendedUntil: isoTime(suspendedUntil),
    deprecatedCalls: use.deprecatedCalls,
    audit: key.audit.map(auditJson),
  };
}

export function showText(output: Output, key: AdministeredKey, use: KeyUse, now: number): string {
  const limits = limitsOfKey(key);
  const { suspendedUntil, usedThisMinute, usedToday, rejectedThisMinute } = currentUse(use, now);
  const fields: [string, string | undefined][] = [
    ['Status', paintStatus(output, statusOf(key, use, now))],
    ['Owner', key.owner],
    ['Plan', planText(key.plan, limits)],
    ['Note', key.note],
    ['Created', time(key.createdAt)],
    ['Expires', key.expiresAt ? time(key.expiresAt) : undefined],
    ['Replaces', key.replaces],
    ['Replaced by', key.replacedBy],
    ['Suspended', suspendedUntil === undefined ? undefined : untilTime(suspendedUntil)],
    // The limiter stores the minute only. With seconds it could seem older than the key.
    ['Last used', use.minute === 0 ? 'not in the last 90 days' : `${time(use.minute).slice(0, 16)} UTC`],
    ['This minute', useText(usedThisMinute, limits.perMinute)],
    ['Today', useText(usedToday, limits.perDay)],
    ['Rejected', `${grouped(rejectedThisMinute)} this minute`],
    [
      'Deprecated',
      `${grouped(use.deprecatedCalls)} ${use.deprecatedCalls === 1 ? 'call' : 'calls'} to a deprecated operation`,
    ],
  ];
  const width = Math.max(...fields.map(([name]) => name.length));
  return [
    output.paint('bold', key.keyId),
    '',
    ...fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(width)}  ${value}`])),
    '',
    table(
      ['WHEN', 'WHO', 'WHAT'],
      key.audit.map((line) => [time(line.at), line.by, whatOf(line)]),
    ),
  ].join('\n');
}

function useText(used: number, limit: number): string {
  return `${bar(used, limit)} ${grouped(used)} of ${grouped(limit)}`;
}

function auditJson({ at, by, did, detail }: AuditLine) {
  return { at: isoTime(at), by, did, detail: detail ?? null };
}

export function changeJson(line: ChangeLine) {
  return { audit: { ...auditJson(line), keyId: line.keyId, stage: line.stage } };
}

export function changeText(line: ChangeLine): string {
  return `${time(line.at)}  ${line.by}  ${line.keyId} in ${line.stage}: ${whatOf(line)}`;
}

function whatOf({ did, detail }: AuditLine): string {
  return detail === undefined ? did : `${did} ${detail}`;
}
