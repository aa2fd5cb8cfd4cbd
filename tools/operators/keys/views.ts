import { windowsAt } from '../../../functions/access/limiter-decisions.ts';
import { grouped, isoTime, type Output, tableLines } from '../command-line/output.ts';
import type { KeyUsage } from './key-usage.ts';
import { type AdministeredKey, isValid, limitsInForce, unknownPlansText } from './records.ts';

/** The states of a key. They follow from the record, the usage and the time, so there is no index of them. */
export const keyStatuses = ['active', 'suspended', 'expired', 'revoked'] as const;

/** One of `keyStatuses`, or the stored status of a record that is not active. @param now Unix seconds */
export function statusOf(key: AdministeredKey, usage: KeyUsage, now: number): string {
  if (key.status !== 'active') return key.status;
  if (!isValid(key, now)) return 'expired';
  return usage.suspendedUntil > now ? 'suspended' : 'active';
}

/** A key as `list` and `show` print it, without its hash. The usage is that of the current windows. */
export function viewOf(key: AdministeredKey, usage: KeyUsage, now: number) {
  const { minute, day } = windowsAt(now);
  return {
    keyId: key.keyId,
    status: statusOf(key, usage, now),
    owner: key.owner,
    plan: key.plan,
    ...(limitsInForce(key) ?? { perMinute: null, perDay: null }),
    note: key.note ?? null,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTime(key.expiresAt),
    // The limiter stores the minute only, which can begin before the key was created.
    lastUsedAt: isoTime(usage.minute && Math.max(usage.minute, key.createdAt)),
    replaces: key.replaces ?? null,
    replacedBy: key.replacedBy ?? null,
    usedThisMinute: usage.minute === minute ? usage.minuteCount : 0,
    usedToday: usage.day === day ? usage.dayCount : 0,
    rejectedThisMinute: usage.rejectedSince >= minute ? usage.rejections : 0,
    suspendedUntil: usage.suspendedUntil > now ? isoTime(usage.suspendedUntil) : null,
    deprecatedCalls: usage.deprecatedCalls,
  };
}
export type KeyView = ReturnType<typeof viewOf>;

const columns = ['keyId', 'status', 'plan', 'createdAt', 'lastUsedAt', 'owner', 'note'] as const;

/** Keys as a table, one a line. */
export function listText(output: Output, keys: readonly KeyView[]): string[] {
  const heads = columns.map((name) => labelOf(name).toUpperCase());
  return tableLines([heads, ...keys.map((key) => columns.map((name) => cellOf(output, name, key[name])))]);
}

/** A key as text: a line for each value. */
export function detailsText(output: Output, key: KeyView): string[] {
  return tableLines(Object.entries(key).map(([name, value]) => [labelOf(name), cellOf(output, name, value)]));
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

/** Says which plans of these keys this version does not know, if any. */
export function noteUnknownPlans(output: Output, keys: readonly { readonly plan: string }[]): void {
  const text = unknownPlansText(keys.map(({ plan }) => plan));
  if (text !== '') output.note(text);
}
