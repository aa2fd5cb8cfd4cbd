import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { type Limits, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { withGatewayKey } from './gateway.ts';
import { newKeyId } from './key-ids.ts';
import { type Change, write } from './records.ts';
import { type KeyService, nowOf } from './service.ts';

/** A request for a new key. */
export interface KeyRequest {
  readonly owner: string;
  readonly plan: Plan;
  /** On the custom plan only. */
  readonly limits?: Limits | undefined;
  readonly note?: string | undefined;
}

/** A new key with everything that its owner needs to know. */
export interface NewKey extends Limits {
  readonly keyId: string;
  /** The API key itself. Only its hash is stored. */
  readonly key: string;
  readonly stage: string;
  readonly owner: string;
  readonly plan: Plan;
}

/**
 * Issues a key: API Gateway key, usage plan, reveal, then the one write that makes it valid. The key is shown before
 * that write, so that no valid key exists that nobody has seen, and a rotation never ends a key whose replacement
 * got lost.
 *
 * @param reveal shows the new key, which is not valid yet: an error here withdraws it
 * @param replace the change of the key that it replaces, in the same transaction
 */
export async function issue(
  service: KeyService,
  { owner, plan, limits, note }: KeyRequest,
  reveal: (issued: NewKey) => void | Promise<void>,
  replace?: (keyId: string) => Change,
): Promise<NewKey> {
  const { stage } = service;
  const key = newKey(stage);
  const keyHash = hashOfKey(key);
  const keyId = newKeyId(service.clock());
  const limitsInForce = limitsOf(plan) ?? limits ?? { perMinute: 0, perDay: 0 };
  const issued = { keyId, key, stage, owner, plan, ...limitsInForce };
  await withGatewayKey(service, { keyHash, keyId, owner, plan }, keyHash, async (gatewayKeyId) => {
    await reveal(issued);
    await service.afterStep('reveal');
    const replaced = replace?.(keyId);
    const old = replaced?.key.keyId;
    const createdAt = nowOf(service);
    const set = {
      keyId,
      owner,
      plan,
      ...limits,
      note,
      status: 'active',
      createdAt,
      gatewayKeyId,
      replaces: old,
    };
    const detail = describePlan(plan, limits) + (old === undefined ? '' : `, in place of ${old}`);
    const created = { key: { keyHash, keyId, audit: [] }, did: 'created', detail, set };
    await write(service, created, ...(replaced ? [replaced] : []));
  });
  return issued;
}

export function describePlan(plan: Plan, limits: Limits | undefined): string {
  return limits === undefined ? plan : `${plan} (${limits.perMinute} a minute, ${limits.perDay} a day)`;
}
