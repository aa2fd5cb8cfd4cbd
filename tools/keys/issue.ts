import { hashOfKey, newKey } from '../../functions/access/keys.ts';
import { type Limits, limitsOf, type Plan } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import { withGatewayKey } from './gateway.ts';
import { newKeyId } from './key-ids.ts';
import type { AdministeredKey, Change } from './records.ts';
import { storeNewKey } from './records.ts';
import type { CheckedRequest } from './requests.ts';
import { type KeyService, newLine, nowOf, reportLine } from './service.ts';

export interface IssuedKey {
  /** The API key itself. Only its hash is stored. */
  readonly key: string;
  readonly keyId: string;
}

/** A new key with everything that its owner needs to know. */
export interface NewKey extends IssuedKey {
  readonly owner: string;
  readonly plan: Plan;
  readonly limits: Limits;
}

/** Shows a new key. It is not valid yet: an error here withdraws it. */
export type Reveal = (issued: NewKey) => void | Promise<void>;

/**
 * Issues a key: API Gateway key, usage plan, reveal, then the one write that makes it valid. The key is shown before
 * that write, so that no valid key exists that nobody has seen, and a rotation never ends a key whose replacement
 * got lost.
 *
 * @param replaces the key that it replaces, and the change of that key's record in the same transaction
 */
export async function issue(
  service: KeyService,
  { owner, plan, limits, note }: CheckedRequest,
  reveal: Reveal,
  replaces?: { readonly key: AdministeredKey; readonly change: (keyId: string) => Promise<Change> },
): Promise<IssuedKey> {
  const limitsInForce = limitsOf(plan) ?? limits;
  if (limitsInForce === undefined) {
    throw new KeyToolError(
      'refused',
      `A key on the ${plan} plan needs its own limits. Set them with "change-plan --plan ${plan}" first.`,
    );
  }
  const key = newKey(service.stage);
  const keyHash = hashOfKey(key);
  const keyId = newKeyId(service.clock());
  const planText = describePlan(plan, limits);
  await withGatewayKey(service, { keyHash, keyId, owner, plan, value: keyHash }, async (gatewayKeyId) => {
    await reveal({ key, keyId, owner, plan, limits: limitsInForce });
    await service.afterStep('reveal');
    const replaced = replaces && { key: replaces.key, change: await replaces.change(keyId) };
    const detail = replaced ? `${planText}, in place of ${replaced.key.keyId}` : planText;
    const line = await newLine(service, 'created', detail);
    const status = 'active';
    const createdAt = nowOf(service);
    const record = { keyHash, keyId, owner, plan, ...limits, note, status, createdAt, gatewayKeyId } as const;
    await storeNewKey(
      service.keyTable,
      { ...record, replaces: replaced?.key.keyId, audit: [line] },
      replaced,
    );
    reportLine(service, { keyId }, line);
    if (replaced) reportLine(service, replaced.key, replaced.change.line);
  });
  return { key, keyId };
}

export function describePlan(plan: Plan, limits: Limits | undefined): string {
  return limits === undefined ? plan : `${plan} (${limits.perMinute} a minute, ${limits.perDay} a day)`;
}
