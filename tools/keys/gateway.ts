import {
  type APIGatewayClient,
  ConflictException,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  FlushStageAuthorizersCacheCommand,
  GetApiKeyCommand,
  GetUsageCommand,
  NotFoundException,
  paginateGetApiKeys,
  paginateGetUsagePlanKeys,
  paginateGetUsagePlans,
} from '@aws-sdk/client-api-gateway';
import type { Plan } from '../../functions/access/plans.ts';
import type { KeyService } from './service.ts';

/**
 * The keys of API Gateway and their usage plans. Such a key is named by the id of ours, and its value is the hash.
 * Every function here may be done again after a crash: it finds what the first time left.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
 */

export interface GatewayKey {
  readonly keyId: string;
  readonly keyHash: string;
  readonly owner: string;
}

/** Makes the key, or finds the one that was made before. Returns API Gateway's id of it. */
export async function ensureGatewayKey(
  service: KeyService,
  { keyId, keyHash, owner }: GatewayKey,
): Promise<string> {
  try {
    const { id } = await service.apiGateway.send(
      new CreateApiKeyCommand({
        name: keyId,
        value: keyHash,
        description: `${service.stackName}, owner ${owner}`,
        enabled: true,
        // The id appears in logs, so it must not be the value.
        generateDistinctId: true,
      }),
    );
    if (id === undefined) throw new Error('API Gateway made a key without an id');
    return id;
  } catch (error) {
    if (!(error instanceof ConflictException)) throw error;
    const id = await findGatewayKey(service.apiGateway, keyId);
    if (id === undefined) throw error;
    return id;
  }
}

/** API Gateway's id of a key, or `undefined`. */
export async function findGatewayKey(client: APIGatewayClient, keyId: string): Promise<string | undefined> {
  // The query also finds names that begin with it.
  for await (const { items = [] } of paginateGetApiKeys({ client }, { nameQuery: keyId })) {
    const found = items.find(({ name }) => name === keyId);
    if (found !== undefined) return found.id;
  }
  return undefined;
}

/** Deletes a key, and its usage plan's hold on it with it. */
export async function deleteGatewayKey({ apiGateway }: KeyService, gatewayKeyId: string): Promise<void> {
  await unlessGone(apiGateway.send(new DeleteApiKeyCommand({ apiKey: gatewayKeyId })));
}

/** Binds a key to its plan's usage plan. It must be bound to no other. */
export async function bindToPlan(service: KeyService, gatewayKeyId: string, plan: Plan): Promise<void> {
  const usagePlanId = service.usagePlanIds[plan];
  await service.apiGateway.send(
    new CreateUsagePlanKeyCommand({ usagePlanId, keyId: gatewayKeyId, keyType: 'API_KEY' }),
  );
}

/** Frees a key from a usage plan. */
export async function unbind(
  { apiGateway }: KeyService,
  gatewayKeyId: string,
  usagePlanId: string,
): Promise<void> {
  await unlessGone(apiGateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId, keyId: gatewayKeyId })));
}

/** What API Gateway holds of a key. */
export interface GatewayState {
  /** Its key with our key's hash as the value, if there is one. */
  readonly gatewayKeyId: string | undefined;
  /** The service's usage plans that it is bound to. */
  readonly usagePlanIds: readonly string[];
  /** Whether it is switched off. This tool never does that. */
  readonly isDisabled: boolean;
}

export const nothingHeld: GatewayState = { gatewayKeyId: undefined, usagePlanIds: [], isDisabled: false };

/** What API Gateway holds of one key, by the id that the record gives it. */
export async function gatewayStateOf(
  service: KeyService,
  { gatewayKeyId }: { readonly gatewayKeyId?: string | undefined },
): Promise<GatewayState> {
  if (gatewayKeyId === undefined) return nothingHeld;
  try {
    const { enabled } = await service.apiGateway.send(new GetApiKeyCommand({ apiKey: gatewayKeyId }));
    const usagePlanIds = await usagePlansOf(service, gatewayKeyId);
    return { gatewayKeyId, usagePlanIds, isDisabled: enabled === false };
  } catch (error) {
    if (error instanceof NotFoundException) return nothingHeld;
    throw error;
  }
}

/** The most that one call lists: https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const largestPage = 500;

/**
 * What API Gateway holds of many keys. It lists the keys of the account's Region and of the service's usage plans,
 * whole pages at a time: some 45 calls for all of the 10,000 that there can be.
 *
 * @param wanted hashes of keys
 * @returns by hash, where there is anything
 */
export async function gatewayStates(
  { apiGateway: client, usagePlanIds: plans }: KeyService,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, GatewayState>> {
  const bound = new Map<string, string[]>();
  for (const usagePlanId of Object.values(plans)) {
    const query = { usagePlanId };
    for await (const { items = [] } of paginateGetUsagePlanKeys({ client, pageSize: largestPage }, query)) {
      for (const { id = '' } of items) bound.set(id, [...(bound.get(id) ?? []), usagePlanId]);
    }
  }
  const states = new Map<string, GatewayState>();
  const query = { includeValues: true };
  for await (const { items = [] } of paginateGetApiKeys({ client, pageSize: largestPage }, query)) {
    for (const { id, value, enabled } of items) {
      if (id === undefined || value === undefined || !wanted.has(value)) continue;
      const usagePlanIds = bound.get(id) ?? [];
      states.set(value, { gatewayKeyId: id, usagePlanIds, isDisabled: enabled === false });
    }
  }
  return states;
}

/** The service's usage plans that a key is bound to. */
async function usagePlansOf(service: KeyService, gatewayKeyId: string): Promise<string[]> {
  const ours = new Set(Object.values(service.usagePlanIds));
  const bound: string[] = [];
  for await (const { items = [] } of paginateGetUsagePlans(
    { client: service.apiGateway },
    { keyId: gatewayKeyId },
  )) {
    bound.push(...items.map(({ id = '' }) => id).filter((id) => ours.has(id)));
  }
  return bound;
}

/**
 * Makes API Gateway ask the authorizer anew about every key of the stage. What it remembers would otherwise
 * outlive a change of a key by up to the authorizer's cache time.
 */
export async function forgetAuthorizations({ apiGateway, restApiId, apiStage }: KeyService): Promise<void> {
  await apiGateway.send(new FlushStageAuthorizersCacheCommand({ restApiId, stageName: apiStage }));
}

/**
 * Requests of a key that its usage plan counted on each of some days, the first day first.
 *
 * @param from the first day, `2026-07-01`
 * @param to the last day
 */
export async function dailyUse(
  { apiGateway }: KeyService,
  {
    usagePlanId,
    gatewayKeyId,
    from,
    to,
  }: Readonly<Record<'usagePlanId' | 'gatewayKeyId' | 'from' | 'to', string>>,
): Promise<number[]> {
  const used: number[] = [];
  let position: string | undefined;
  do {
    const page = await apiGateway.send(
      new GetUsageCommand({
        usagePlanId,
        keyId: gatewayKeyId,
        startDate: from,
        endDate: to,
        ...(position !== undefined && { position }),
      }),
    );
    used.push(...(page.items?.[gatewayKeyId] ?? []).map(([count = 0]) => count));
    position = page.position;
  } while (position !== undefined);
  return used;
}

async function unlessGone(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof NotFoundException)) throw error;
  }
}
