import { randomUUID } from 'node:crypto';
import {
  type AdministeredKey,
  type DamagedRecordError,
  readKey,
  StaleRecordError,
  unsettleRecord,
} from './key-administration.ts';
import type { Plan } from '../../functions/access/plans.ts';
import { type GatewayState, gatewayStateOf, gatewayStates, nothingHeld } from './gateway.ts';
import { partitionsOf } from './listing.ts';
import { newLine, recordsOf } from './records.ts';
import type { KeyService } from './service.ts';
import { isValid, settle } from './settling.ts';

/**
 * Makes the keys of API Gateway whole again after an API or its usage plans were rebuilt: the records are still
 * there, and a record knows everything that API Gateway has to hold, the key's value included, which is the hash.
 * Clients go on with the keys that they have.
 *
 * First a survey, which changes nothing and reads in bulk; then the keys that it found, one by one. Each is a change
 * like all others: first in the record, with its line in the audit trail, then in API Gateway. So a run that stops
 * anywhere is taken up by the next, which finds fewer keys amiss.
 */

/** What is amiss with a key. */
export type Amiss = 'gateway key' | 'usage plan' | 'record' | 'unfinished';

const amissText: Readonly<Record<Amiss, string>> = {
  'gateway key': 'it had no key in API Gateway',
  'usage plan': 'it was not in its usage plan, or in another one',
  record: 'its record named another key of API Gateway',
  unfinished: 'a change of it had stopped half way',
};

/** What is amiss with a key, as a sentence about it. */
export function describeAmiss(amiss: Amiss): string {
  return amissText[amiss];
}

export interface KeyAmiss {
  readonly key: AdministeredKey;
  readonly state: GatewayState;
  readonly amiss: Amiss;
}

export interface Survey {
  /** Valid keys that were looked at. */
  readonly valid: number;
  readonly amiss: readonly KeyAmiss[];
  /** Ids of valid keys that someone switched off in API Gateway. They get 401, and it is left at that. */
  readonly disabled: readonly string[];
  readonly damaged: readonly DamagedRecordError[];
}

export interface RebindFilter {
  readonly owner?: string | undefined;
  readonly plan?: Plan | undefined;
}

/** Holds every valid key's record against what API Gateway has. Changes nothing. */
export async function surveyKeys(service: KeyService, filter: RebindFilter): Promise<Survey> {
  const damaged: DamagedRecordError[] = [];
  const keys = new Map<string, AdministeredKey>();
  const records = recordsOf(service, partitionsOf(filter), (damage) => void damaged.push(damage));
  for await (const key of records) {
    const isWanted = filter.plan === undefined || key.plan === filter.plan;
    if (isWanted && isValid(service, key)) keys.set(key.keyHash, key);
  }
  // After the records: a key that was valid by then has been in API Gateway since before.
  const states = await gatewayStates(service, new Set(keys.keys()));
  const amiss: KeyAmiss[] = [];
  for (const key of keys.values()) {
    const state = states.get(key.keyHash) ?? nothingHeld;
    const found = amissOf(service, key, state);
    if (found !== undefined) amiss.push({ key, state, amiss: found });
  }
  const disabled = [...keys.values()].filter(({ keyHash }) => states.get(keyHash)?.isDisabled === true);
  return { valid: keys.size, amiss, disabled: disabled.map(({ keyId }) => keyId), damaged };
}

function amissOf(
  service: KeyService,
  { plan, gatewayKeyId, unsettled }: AdministeredKey,
  state: GatewayState,
): Amiss | undefined {
  if (unsettled !== undefined) return 'unfinished';
  if (state.gatewayKeyId === undefined) return 'gateway key';
  const [bound, ...more] = state.usagePlanIds;
  if (bound !== service.usagePlanIds[plan] || more.length > 0) return 'usage plan';
  return state.gatewayKeyId === gatewayKeyId ? undefined : 'record';
}

/**
 * Makes one key whole again. Returns false when there turned out to be nothing to do: it has been changed since the
 * survey.
 */
export async function rebindKey(
  service: KeyService,
  { key: seen, state, amiss }: KeyAmiss,
): Promise<boolean> {
  const key = await readKey(service.keyTable, seen.keyHash);
  if (key === undefined || !isValid(service, key)) return false;
  const isAsSeen = isSameVersion(key, seen);
  if (key.unsettled !== undefined) {
    await settle(service, key, { state: isAsSeen ? state : undefined });
    return true;
  }
  const present = isAsSeen ? state : await gatewayStateOf(service, key);
  const found = isAsSeen ? amiss : amissOf(service, key, present);
  if (found === undefined) return false;
  const line = await newLine(service, 'rebound', `to ${key.plan}: ${describeAmiss(found)}`);
  const unsettled = randomUUID();
  try {
    await unsettleRecord(service.keyTable, key, { unsettled, line });
  } catch (error) {
    if (error instanceof StaleRecordError) return false; // someone is changing it, and so brings it in line
    throw error;
  }
  service.onAudit({ ...line, keyId: key.keyId, stage: service.stage });
  await service.afterStep('record');
  // The authorizer reads the record, and that says what it said before.
  await settle(service, { ...key, unsettled }, { state: present, keepsAuthorizations: true });
  return true;
}

/** Every change of a record adds to its audit trail or ends with another of these values. */
function isSameVersion(one: AdministeredKey, other: AdministeredKey): boolean {
  return (
    one.plan === other.plan &&
    one.gatewayKeyId === other.gatewayKeyId &&
    one.unsettled === other.unsettled &&
    one.audit.length === other.audit.length
  );
}
