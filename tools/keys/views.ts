import type { AdministeredKey, AuditLine } from './key-administration.ts';
import type { KeyUse } from './key-administration-use.ts';
import { windowsAt } from '../../functions/access/limits.ts';
import { type Limits, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { bar, grouped, isoTime, table, time, untilTime } from './format.ts';
import { type KeyStatus, type ListedKey, statusOf } from './listing.ts';
import type { NewKey } from './operations.ts';
import { describeAmiss, type Survey } from './rebinding.ts';
import type { ChangeLine } from './service.ts';
import type { KeyUsage } from './usage.ts';

/** Everything that is told of keys, as JSON and as text. Neither has a place for a key's hash. */

function limitsOfKey({ plan, perMinute = 0, perDay = 0 }: AdministeredKey): Limits {
  return limitsOf(plan) ?? { perMinute, perDay };
}

/** A new key, on the one line that shows it. */
export function issuedJson({ keyId, key, owner, plan, limits }: NewKey, stage: string) {
  return { keyId, key, stage, owner, plan, ...limits };
}

export function issuedText({ keyId, key, plan, limits }: NewKey): string {
  return `Key ID  ${keyId}\nPlan    ${planText(plan, limits)}\nKey     ${key}\nThis is the only time that the key is shown.`;
}

function planText(plan: Plan, { perMinute, perDay }: Limits): string {
  return `${plan}: ${grouped(perMinute)} a minute, ${grouped(perDay)} a day`;
}

function summary({ key, use, status }: ListedKey) {
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
    unfinished: isUnfinished(key),
  };
}

export function listJson(keys: readonly ListedKey[], cursor: string | undefined) {
  return { keys: keys.map(summary), cursor: cursor ?? null };
}

export function listText(keys: readonly ListedKey[]): string {
  if (keys.length === 0) return 'No keys.';
  return table(
    ['KEY ID', 'STATUS', 'PLAN', 'CREATED', 'LAST USED', 'OWNER', 'NOTE'],
    keys.map(({ key, use, status }) => [
      key.keyId,
      isUnfinished(key) && status !== 'unfinished' ? `${status}*` : status,
      key.plan,
      time(key.createdAt).slice(0, 10),
      use?.minute ? time(use.minute).slice(0, 16) : 'never',
      key.owner,
      key.note ?? '',
    ]),
  );
}

/** Whether a change of the key stopped half way. */
export function isUnfinished({ status, unsettled }: AdministeredKey): boolean {
  return status === 'pending' || unsettled !== undefined;
}

interface Standing {
  readonly status: KeyStatus;
  readonly limits: Limits;
  readonly usedThisMinute: number;
  readonly usedToday: number;
  readonly rejectedThisMinute: number;
  readonly suspendedUntil: number | undefined;
}

/** What of the stored use belongs to the present windows. @param now Unix seconds */
function standingOf(key: AdministeredKey, use: KeyUse, now: number): Standing {
  const { minute, day } = windowsAt(now);
  return {
    status: statusOf(key, use, now),
    limits: limitsOfKey(key),
    usedThisMinute: use.minute === minute ? use.minuteCount : 0,
    usedToday: use.day === day ? use.dayCount : 0,
    rejectedThisMinute: use.minute === minute ? use.rejections : 0,
    suspendedUntil: use.suspendedUntil > now ? use.suspendedUntil : undefined,
  };
}

export function showJson(key: AdministeredKey, use: KeyUse, now: number) {
  const standing = standingOf(key, use, now);
  return {
    ...summary({ key, use, status: standing.status }),
    replaces: key.replaces ?? null,
    replacedBy: key.replacedBy ?? null,
    usedThisMinute: standing.usedThisMinute,
    usedToday: standing.usedToday,
    rejectedThisMinute: standing.rejectedThisMinute,
    suspendedUntil: isoTime(standing.suspendedUntil),
    deprecatedCalls: use.deprecatedCalls,
    audit: key.audit.map(auditJson),
  };
}

export function showText(key: AdministeredKey, use: KeyUse, now: number): string {
  const { status, limits, ...standing } = standingOf(key, use, now);
  const fields: [string, string | undefined][] = [
    ['Status', isUnfinished(key) ? `${status} (a change is unfinished: run it again, or "tidy")` : status],
    ['Owner', key.owner],
    ['Plan', planText(key.plan, limits)],
    ['Note', key.note],
    ['Created', time(key.createdAt)],
    ['Expires', key.expiresAt ? time(key.expiresAt) : undefined],
    ['Replaces', key.replaces],
    ['Replaced by', key.replacedBy],
    ['Suspended', standing.suspendedUntil === undefined ? undefined : untilTime(standing.suspendedUntil)],
    // The limiter keeps the minute alone: with seconds it could seem to be from before the key was made.
    ['Last used', use.minute === 0 ? 'never, or not for 90 days' : `${time(use.minute).slice(0, 16)} UTC`],
    ['This minute', useText(standing.usedThisMinute, limits.perMinute)],
    ['Today', useText(standing.usedToday, limits.perDay)],
    ['Rejected', `${grouped(standing.rejectedThisMinute)} this minute`],
    [
      'Deprecated',
      `${grouped(use.deprecatedCalls)} ${use.deprecatedCalls === 1 ? 'call' : 'calls'} to a deprecated operation`,
    ],
  ];
  const width = Math.max(...fields.map(([name]) => name.length));
  return [
    key.keyId,
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

export function usageJson(key: AdministeredKey, { days, admittedToday }: KeyUsage) {
  return { keyId: key.keyId, plan: key.plan, ...limitsOfKey(key), days, admittedToday };
}

export function usageText(key: AdministeredKey, { days, admittedToday }: KeyUsage): string {
  const { perDay } = limitsOfKey(key);
  const today = `Admitted today: ${grouped(admittedToday)} of ${grouped(perDay)}`;
  if (days.length === 0)
    return `API Gateway no longer holds ${key.keyId}, and kept no count of its days.\n${today}`;
  const rows = days.map(({ date, requests }) => [date, grouped(requests), bar(requests, perDay)]);
  return `${table(['DAY (UTC)', 'REQUESTS', 'OF THE DAY LIMIT'], rows)}\n\n${today}\nRequests are as API Gateway counts them, those answered 429 included.`;
}

export function rebindJson({ valid, amiss, disabled }: Survey, rebound: readonly string[], dryRun: boolean) {
  return {
    dryRun,
    valid,
    amiss: amiss.map(({ key, amiss: what }) => ({ keyId: key.keyId, amiss: what })),
    rebound,
    disabled,
  };
}

export function rebindText({ valid, amiss }: Survey, rebound: readonly string[], dryRun: boolean): string {
  const count = `${grouped(valid)} valid ${valid === 1 ? 'key' : 'keys'}`;
  if (amiss.length === 0) return `Nothing is amiss with ${count}.`;
  if (!dryRun) return `${grouped(rebound.length)} of ${count} rebound.`;
  const lines = amiss.map(({ key, amiss: what }) => `${key.keyId}: ${describeAmiss(what)}`);
  return [...lines, `${grouped(amiss.length)} of ${count} would be rebound.`].join('\n');
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
