/**
 * Keys in the words of docs/keys.md: what a record is after what was done to it, and what commands that ended in any way have left and
 * said. The only model of them; it shares no code with the key tool. All times are Unix seconds.
 */
export interface KeyRecord {
  readonly keyHash: string;
  readonly keyId: string;
  readonly owner: string;
  readonly plan: string;
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly note?: string;
  readonly status: string;
  readonly createdAt: number;
  readonly expiresAt?: number;
  readonly replaces?: string;
  readonly replacedBy?: string;
  /** API Gateway's ID of the key, and its value if that is not the hash. */
  readonly gatewayKeyId: string;
  readonly gatewayKeyValue?: string;
  readonly audit: readonly { readonly did: string; readonly detail?: string }[];
}

/** A key of API Gateway. */
interface GatewayKey {
  readonly id: string;
  readonly value: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
}

/** What is stored of all keys. */
export interface Stored {
  readonly now: number;
  readonly records: readonly KeyRecord[];
  readonly gatewayKeys: readonly GatewayKey[];
  /** The usage plans of an API Gateway key. */
  readonly plansOf: (id: string) => readonly string[];
}

export function isValid({ status, expiresAt = 0 }: KeyRecord, now: number): boolean {
  return status === 'active' && (expiresAt === 0 || now < expiresAt);
}

/** The value of its API Gateway key. */
const valueOf = ({ keyHash, gatewayKeyValue = keyHash }: KeyRecord): string => gatewayKeyValue;

/** The API Gateway keys of an owner that no valid key uses: the IDs of the keys that they are named after. */
export function leftOvers({ now, records, gatewayKeys }: Stored, owner: string): string[] {
  const used = new Set(records.filter((key) => isValid(key, now)).map(valueOf));
  const left = gatewayKeys.filter(
    ({ value, description }) => !used.has(value) && description?.endsWith(owner),
  );
  return left.map(({ name = '' }) => name);
}

/** The IDs of valid keys whose API Gateway keys are not in their plans, or not those that their records name. */
export function drifted({ now, records, gatewayKeys, plansOf }: Stored): string[] {
  const bad = records.filter((key) => {
    const found = gatewayKeys.find(({ value }) => value === valueOf(key));
    return isValid(key, now) && (found?.id !== key.gatewayKeyId || plansOf(found.id).join() !== key.plan);
  });
  return bad.map(({ keyId }) => keyId);
}

export function planText({ plan, perMinute, perDay }: KeyRecord): string {
  return plan === 'enterprise' ? `${plan} (${perMinute} a minute, ${perDay} a day)` : plan;
}

/** The record of a key as the lines tell that were added to its audit trail, without what it has for API Gateway. */
export function retold(lines: KeyRecord['audit'], before: KeyRecord | undefined) {
  const detailOf = (did: string) => lines.findLast((line) => line.did === did)?.detail;
  const [created, replaces] = detailOf('created')?.split(', in place of ') ?? [];
  const [, replacedBy, end = ''] = /^by (\w+), valid until (\S+)$/.exec(detailOf('replaced') ?? '') ?? [];
  return {
    plan: detailOf('changed plan')?.split(' → ')[1] ?? created ?? planText(before!),
    status: lines.some(({ did }) => did === 'revoked') ? 'revoked' : (before?.status ?? 'active'),
    replacedBy: replacedBy ?? before?.replacedBy,
    expiresAt: replacedBy === undefined ? before?.expiresAt : Date.parse(end) / 1_000,
    replaces: replaces ?? before?.replaces,
  };
}

/**
 * What a call can meet. `lost`: it is executed, and no answer arrives. `unreadable`: a page of a proxy arrives instead. `last`: lost, and
 * every later call is denied. `stuck`: it gets through at no repetition. `conflict`: refused as others change something.
 */
export const keyFaults = ['lost', 'last', 'stuck', 'conflict', 'unreadable', 'denied'] as const;
export type KeyFault = (typeof keyFaults)[number];

/** Whether a call decides that a command has changed something: the write of the record, or of the suspension. */
export function decides(command: string, operation: string): boolean {
  return operation === (/^(suspend|resume)$/.test(command) ? 'UpdateItem' : 'TransactWriteItems');
}

/**
 * The exit code of a command of which a write meets a fault: 0 done, 1 nothing is done, 5 nobody can know. Lost answers, and refusals of
 * calls at the same time, stop none. @param isDecided whether it had changed something before
 */
export function exitCodeAfter(fault: KeyFault, operation: string, isDecided: boolean): 0 | 1 | 5 {
  if (fault === 'last' && /^(Transact|Update)/.test(operation)) return 5;
  return /^(last|stuck|denied)$/.test(fault) && !isDecided ? 1 : 0;
}
