import { ConflictException, NotFoundException } from '@aws-sdk/client-api-gateway';
import { type AdministeredKey, settleRecord, StaleRecordError } from './key-administration.ts';
import {
  bindToPlan,
  deleteGatewayKey,
  ensureGatewayKey,
  forgetAuthorizations,
  type GatewayState,
  gatewayStateOf,
  unbind,
} from './gateway.ts';
import { reread } from './records.ts';
import { type KeyService, nowOf } from './service.ts';

/**
 * Brings API Gateway in line with a key's record. It only looks at the record, so it can be done again by any run,
 * any number of times.
 */

/** Whether a key is let in now. A suspended one is, and is then answered 429. */
export function isValid(service: KeyService, { status, expiresAt = 0 }: AdministeredKey): boolean {
  return status === 'active' && (expiresAt === 0 || expiresAt > nowOf(service));
}

/** Whether API Gateway holds of a key what its record says. A key whose time is over should not be there any more. */
export function isSettled(service: KeyService, key: AdministeredKey): boolean {
  return key.unsettled === undefined && (key.gatewayKeyId === undefined || isValid(service, key));
}

/** The record, once API Gateway is in line with it. */
export async function settled(service: KeyService, key: AdministeredKey): Promise<AdministeredKey> {
  return key.status === 'pending' || isSettled(service, key) ? key : settle(service, key);
}

/** How often others may change a key while API Gateway is brought in line with it. */
const settleAttempts = 5;

export interface Settling {
  /** What API Gateway is known to hold of the key. Looked up where left out. */
  readonly state?: GatewayState | undefined;
  /** Whether the authorizer's answers of before are still right, since only API Gateway had lost something. */
  readonly keepsAuthorizations?: boolean;
}

/** Brings API Gateway in line with the record, however far another run got with that. */
export async function settle(
  service: KeyService,
  key: AdministeredKey,
  { state, keepsAuthorizations = false }: Settling = {},
): Promise<AdministeredKey> {
  let current = key;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const gatewayKeyId = isValid(service, current)
        ? await settleBinding(service, current, attempt === 1 ? state : undefined)
        : await settleRemoval(service, current);
      if (!keepsAuthorizations) {
        await forgetAuthorizations(service);
        await service.afterStep('authorizer cache');
      }
      await settleRecord(service.keyTable, current, gatewayKeyId);
      await service.afterStep('settle');
      return await reread(service, current);
    } catch (error) {
      // Someone changed the key meanwhile and may have settled that already: what was done here could undo it.
      const overtaken =
        error instanceof StaleRecordError ||
        error instanceof ConflictException ||
        error instanceof NotFoundException;
      if (!overtaken || attempt === settleAttempts) throw error;
      current = await reread(service, current);
    }
  }
}

async function settleBinding(
  service: KeyService,
  key: AdministeredKey,
  known: GatewayState | undefined,
): Promise<string> {
  const { gatewayKeyId: found, usagePlanIds } = known ?? (await gatewayStateOf(service, key));
  const gatewayKeyId = found ?? (await ensureGatewayKey(service, key));
  if (found === undefined) await service.afterStep('gateway key');
  const target = service.usagePlanIds[key.plan];
  // A key can be in one usage plan of a stage only: between these two steps it is in none, and gets 401.
  for (const usagePlanId of usagePlanIds.filter((id) => id !== target)) {
    await unbind(service, gatewayKeyId, usagePlanId);
    await service.afterStep('unbind');
  }
  if (!usagePlanIds.includes(target)) {
    await bindToPlan(service, gatewayKeyId, key.plan);
    await service.afterStep('bind');
  }
  return gatewayKeyId;
}

async function settleRemoval(service: KeyService, key: AdministeredKey): Promise<undefined> {
  if (key.gatewayKeyId !== undefined) await deleteGatewayKey(service, key.gatewayKeyId);
  await service.afterStep('gateway key');
}
