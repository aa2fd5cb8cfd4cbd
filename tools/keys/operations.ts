import { randomUUID } from 'node:crypto';
import {
  activateKey,
  addAuditLine,
  type AdministeredKey,
  type AuditLine,
  changeRecordPlan,
  insertPendingKey,
  queryKeys,
  readKey,
  removePendingKey,
  type Replacement,
  revokeRecord,
  StaleRecordError,
  takeOverPendingKey,
} from './key-administration.ts';
import { readUse, resumeUse, suspendUse } from './key-administration-use.ts';
import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { type Limits, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { beginAttempt, isAbandoned } from './attempts.ts';
import { KeyToolError } from './errors.ts';
import { untilTime } from './format.ts';
import { bindToPlan, deleteGatewayKey, ensureGatewayKey, findGatewayKey } from './gateway.ts';
import { newKeyId } from './key-ids.ts';
import { partitionsOf } from './listing.ts';
import {
  checkLimits,
  checkRequest,
  type CheckedRequest,
  type GivenLimits,
  type KeyRequest,
} from './requests.ts';
import { newLine, recordsOf, requireKey, reread } from './records.ts';
import { type KeyService, nowOf } from './service.ts';
import { isSettled, isValid, settle, settled } from './settling.ts';

export { type KeyService, openKeyService } from './service.ts';

/**
 * The life of a key. A key is three things: its record, its key in API Gateway, and that key's place in a usage
 * plan. Each operation is a row of single steps, ordered so that one that stops anywhere can be taken up by the
 * next run:
 *
 * - A new key is `pending` until all of it is in place, and is shown before it becomes valid. So there is no valid
 *   key that nobody was shown, and what a crash leaves is never valid and is removed by the owner's next command.
 * - Every other change is written to the record first, which is then `unsettled` until API Gateway agrees with it.
 *   Settling only looks at the record, so it can be done again by any run, any number of times.
 */

export interface IssuedKey {
  /** The key itself, `as_<stage>_…`: only its hash is kept. */
  readonly key: string;
  readonly keyId: string;
}

/** A new key with everything that whoever hands it over has to say of it. */
export interface NewKey extends IssuedKey {
  readonly owner: string;
  readonly plan: Plan;
  /** Those of the plan, or its own. */
  readonly limits: Limits;
}

/** Shows a new key to whom it is for. It is not valid yet: an error here withdraws it. */
export type Reveal = (issued: NewKey) => void | Promise<void>;

/**
 * Issues a key.
 *
 * @throws KeyToolError when the request breaks a rule; whatever AWS throws, with nothing left behind
 */
export async function createKey(
  service: KeyService,
  request: KeyRequest,
  reveal: Reveal = () => {},
): Promise<IssuedKey> {
  const checked = checkRequest(request);
  await tidyOwner(service, checked.owner);
  return issue(service, checked, reveal);
}

export interface Rotation {
  /** For how long the old key stays valid, in whole seconds; 0 ends it at once. */
  readonly overlap: number;
}

/** Issues a key like the one given, and has that one expire when the overlap ends. */
export async function rotateKey(
  service: KeyService,
  keyId: string,
  { overlap }: Rotation,
  reveal: Reveal = () => {},
): Promise<IssuedKey & { readonly expiresAt: number }> {
  const old = await settled(service, await requireKey(service, keyId));
  requireValid(service, old, 'rotated');
  if (old.replacedBy !== undefined) {
    throw new KeyToolError(
      'refused',
      `${keyId} has been replaced by ${old.replacedBy} already: rotate that one.`,
    );
  }
  await tidyOwner(service, old.owner);
  const request = { owner: old.owner, plan: old.plan, limits: ownLimits(old), note: old.note };
  let expiresAt = 0;
  const issued = await issue(service, request, reveal, async (replacedBy, by) => {
    const now = nowOf(service);
    // A second rotation cannot give a key more time than it had.
    expiresAt = Math.min(now + overlap, old.expiresAt || Infinity);
    const line = {
      at: now,
      by,
      did: 'replaced',
      detail: `by ${replacedBy}, valid ${untilTime(expiresAt)}`,
    };
    return { keyHash: old.keyHash, keyId, replacedBy, expiresAt, unsettled: randomUUID(), line };
  });
  await settled(service, await reread(service, old));
  return { ...issued, expiresAt };
}

/** Makes a key invalid for good, at once. Its record is kept. Returns false when it has been done before. */
export async function revokeKey(service: KeyService, keyId: string): Promise<boolean> {
  const key = await requireKey(service, keyId);
  if (key.status === 'pending') {
    if (await removeAbandoned(service, key)) return true;
    throw new KeyToolError('refused', `${keyId} is being made at the moment: try again when that has ended.`);
  }
  if (key.status === 'revoked') {
    await settled(service, key);
    return false;
  }
  const line = await newLine(service, 'revoked');
  await unlessChanged(keyId, revokeRecord(service.keyTable, key.keyHash, { unsettled: randomUUID(), line }));
  service.onAudit({ ...line, keyId, stage: service.stage });
  await service.afterStep('record');
  await settled(service, await reread(service, key));
  return true;
}

/** Puts a key on another plan, or changes its own limits. Returns false when it has been done before. */
export async function changePlan(
  service: KeyService,
  keyId: string,
  { plan, limits: requested }: { readonly plan: Plan; readonly limits?: GivenLimits | undefined },
): Promise<boolean> {
  const limits = checkLimits(plan, requested);
  const key = await settled(service, await requireKey(service, keyId));
  requireValid(service, key, 'put on another plan');
  const before = ownLimits(key);
  if (key.plan === plan && before?.perMinute === limits?.perMinute && before?.perDay === limits?.perDay)
    return false;
  const detail = `${describePlan(key.plan, before)} → ${describePlan(plan, limits)}`;
  const line = await newLine(service, 'changed plan', detail);
  const change = { plan, limits, unsettled: randomUUID(), line };
  await unlessChanged(keyId, changeRecordPlan(service.keyTable, key, change));
  service.onAudit({ ...line, keyId, stage: service.stage });
  await service.afterStep('record');
  await settled(service, await reread(service, key));
  return true;
}

/** Has a key's requests answered with 429 `key_suspended` until then, from the next one on. @param until Unix seconds */
export async function suspendKey(service: KeyService, keyId: string, until: number): Promise<void> {
  const key = await requireKey(service, keyId);
  requireValid(service, key, 'suspended');
  await recordLine(service, key, await newLine(service, 'suspended', untilTime(until)));
  await suspendUse(service.limitTable, key.keyHash, until);
  await service.afterStep('limiter');
}

/** Lifts a suspension, also one that the service imposed by itself. Returns false when there is none. */
export async function resumeKey(service: KeyService, keyId: string): Promise<boolean> {
  const key = await requireKey(service, keyId);
  requireValid(service, key, 'resumed');
  const now = nowOf(service);
  const use = await readUse(service.limitTable, [key.keyHash]);
  if ((use.get(key.keyHash)?.suspendedUntil ?? 0) <= now) return false;
  await recordLine(service, key, await newLine(service, 'resumed'));
  await resumeUse(service.limitTable, key.keyHash, now);
  await service.afterStep('limiter');
  return true;
}

export interface Tidied {
  readonly keyId: string;
  readonly did: 'removed a half-made key' | 'finished a change' | 'deleted the gateway key of an expired key';
}

/**
 * Brings everything in order that crashes left behind, and deletes from API Gateway the keys whose time is over.
 * Reads every record of the stage, a page at a time. It takes the records' word for what API Gateway holds: see
 * `rebind` for when that cannot be relied on.
 */
export async function* tidy(service: KeyService): AsyncGenerator<Tidied> {
  for await (const key of recordsOf(service, partitionsOf({}))) {
    const did = await tidyKey(service, key);
    if (did !== undefined) yield { keyId: key.keyId, did };
  }
}

/** Records of an owner that its next command looks at. */
const tidyPage = 100;

/** What a crash left of the owner's newest keys, so that the command that crashed heals what it left. */
async function tidyOwner(service: KeyService, owner: string): Promise<void> {
  const { keys } = await queryKeys(service.keyTable, { owner }, { limit: tidyPage });
  for (const key of keys) await tidyKey(service, key);
}

async function tidyKey(service: KeyService, listed: AdministeredKey): Promise<Tidied['did'] | undefined> {
  if (listed.status !== 'pending' && isSettled(service, listed)) return undefined;
  // Indexes lag behind, and what is done here must not be done to a key that is fine by now.
  const key = await readKey(service.keyTable, listed.keyHash);
  if (key === undefined) return undefined;
  if (key.status === 'pending')
    return (await removeAbandoned(service, key)) ? 'removed a half-made key' : undefined;
  if (isSettled(service, key)) return undefined;
  await settle(service, key);
  return key.unsettled === undefined ? 'deleted the gateway key of an expired key' : 'finished a change';
}

/** Makes a key, step by step, and undoes all of it when one fails. */
async function issue(
  service: KeyService,
  { owner, plan, limits, note }: CheckedRequest,
  reveal: Reveal,
  replace?: (keyId: string, by: string) => Promise<Replacement & { readonly keyId: string }>,
): Promise<IssuedKey> {
  const { keyTable, stage } = service;
  const inForce = limitsOf(plan) ?? limits;
  if (inForce === undefined) {
    const advice = `"change-plan --plan ${plan}" gives the old one some`;
    throw new KeyToolError('refused', `A key on the ${plan} plan needs limits of its own: ${advice}.`);
  }
  const key = newKey(stage);
  const keyHash = hashOfKey(key);
  const keyId = newKeyId(service.clock());
  const by = await service.identify();
  const attempt = beginAttempt(service.runner);
  const record = {
    keyHash,
    keyId,
    owner,
    plan,
    limits,
    note,
    createdAt: nowOf(service),
    attempt: attempt.name,
  };
  try {
    await insertPendingKey(keyTable, record);
    await service.afterStep('record');
    const gatewayKeyId = await ensureGatewayKey(service, record);
    await service.afterStep('gateway key');
    await bindToPlan(service, gatewayKeyId, plan);
    await service.afterStep('usage plan');
    await reveal({ key, keyId, owner, plan, limits: inForce });
    await service.afterStep('reveal');
    const replacement = await replace?.(keyId, by);
    const detail = [
      describePlan(plan, limits),
      ...(replacement ? [`in place of ${replacement.keyId}`] : []),
    ].join(', ');
    const line = { at: nowOf(service), by, did: 'created', detail };
    await activateKey(
      keyTable,
      { keyHash, attempt: attempt.name, gatewayKeyId, replaces: replacement?.keyId, line },
      replacement,
    );
    service.onAudit({ ...line, keyId, stage });
    if (replacement) service.onAudit({ ...replacement.line, keyId: replacement.keyId, stage });
    await service.afterStep('activate');
  } catch (error) {
    await withdraw(service, record, error);
  } finally {
    attempt.end();
  }
  return { key, keyId };
}

/** After a failure: removes what was made of a key. Returns when it turns out that the key is valid after all. */
async function withdraw(
  service: KeyService,
  key: { keyHash: string; keyId: string },
  cause: unknown,
): Promise<void> {
  try {
    const stored = await readKey(service.keyTable, key.keyHash);
    // The answer to the last write was lost, not the write.
    if (stored?.status === 'active') return;
    await removeUnfinished(service, key).catch((error: unknown) => {
      if (!(error instanceof StaleRecordError)) throw error; // never stored, or removed by someone else
    });
  } catch (error) {
    throw new KeyToolError(
      'failed',
      `${messageOf(cause)} What was begun could not be undone (${messageOf(error)}); it is not valid. Run the same command again, which cleans up first.`,
      { cause },
    );
  }
  if (cause instanceof StaleRecordError)
    throw new KeyToolError(
      'refused',
      'The key was changed by someone else meanwhile: look at it and try again.',
      { cause },
    );
  throw cause;
}

/** Removes a pending key whose maker is gone. Returns false when the maker may still be at it. */
async function removeAbandoned(service: KeyService, key: AdministeredKey): Promise<boolean> {
  if (!isAbandoned(key.attempt, key.createdAt, nowOf(service))) return false;
  const line = await newLine(service, 'removed', 'half made');
  const attempt = beginAttempt(service.runner);
  try {
    await takeOverPendingKey(service.keyTable, key, attempt.name);
    await removeUnfinished(service, key);
  } catch (error) {
    if (error instanceof StaleRecordError) return false; // the maker was faster, or someone else removed it
    throw error;
  } finally {
    attempt.end();
  }
  service.onAudit({ ...line, keyId: key.keyId, stage: service.stage });
  return true;
}

/** The record goes last: as long as it is there, the rest can be found. */
async function removeUnfinished(service: KeyService, key: { keyHash: string; keyId: string }): Promise<void> {
  const gatewayKeyId = await findGatewayKey(service.apiGateway, key.keyId);
  if (gatewayKeyId !== undefined) await deleteGatewayKey(service, gatewayKeyId);
  await removePendingKey(service.keyTable, key.keyHash);
}

function requireValid(service: KeyService, key: AdministeredKey, participle: string): void {
  if (isValid(service, key)) return;
  const state = { pending: 'only half made', revoked: 'revoked', active: 'expired' }[key.status];
  throw new KeyToolError('refused', `${key.keyId} is ${state}, so it cannot be ${participle}.`);
}

async function recordLine(
  service: KeyService,
  { keyHash, keyId }: AdministeredKey,
  line: AuditLine,
): Promise<void> {
  await unlessChanged(keyId, addAuditLine(service.keyTable, keyHash, line));
  service.onAudit({ ...line, keyId, stage: service.stage });
  await service.afterStep('record');
}

async function unlessChanged(keyId: string, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!(error instanceof StaleRecordError)) throw error;
    throw new KeyToolError(
      'refused',
      `${keyId} was changed by someone else meanwhile, or its audit trail is full: look at it and try again.`,
      { cause: error },
    );
  }
}

function ownLimits({ plan, perMinute, perDay }: AdministeredKey): Limits | undefined {
  return limitsOf(plan) === undefined && perMinute !== undefined && perDay !== undefined
    ? { perMinute, perDay }
    : undefined;
}

function describePlan(plan: Plan, limits: Limits | undefined): string {
  return limits === undefined ? plan : `${plan} (${limits.perMinute} a minute, ${limits.perDay} a day)`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
