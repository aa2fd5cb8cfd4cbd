import {
  type APIGatewayClient,
  ConflictException,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  FlushStageAuthorizersCacheCommand,
  GetUsageCommand,
  NotFoundException,
  paginateGetApiKeys,
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

/** The service's usage plans that a key is bound to. */
export async function usagePlansOf(service: KeyService, gatewayKeyId: string): Promise<string[]> {
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
