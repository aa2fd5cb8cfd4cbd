import { randomBytes } from 'node:crypto';
import {
  type ApiKey,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  FlushStageAuthorizersCacheCommand,
  NotFoundException,
  paginateGetApiKeys,
  paginateGetUsagePlanKeys,
} from '@aws-sdk/client-api-gateway';
import type { Plan } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import { type AdministeredKey, readKey } from './records.ts';
import { type KeyService, nowOf } from './service.ts';

/**
 * API Gateway keys and their usage plans. An API Gateway key is named by our key ID. Its value is the key's hash, or
 * a random one after a change of plan. It lets nobody in by itself: the authorizer has to return its value.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
 */

/** The stage in API Gateway: the version segment of the base address (interface, section 1). */
const apiStage = 'v1';
/** Seconds after which an API Gateway key without a record is a leftover, not one that is being made. */
export const leftoverAge = 900;
/** Seconds that making a key may take, well below `leftoverAge`. */
const longestMaking = 600;

/** A value for an API Gateway key in place of the hash. */
export function newGatewayValue(): string {
  return randomBytes(32).toString('hex');
}

/**
 * Creates an API Gateway key in the usage plan of its plan, then runs `commit`, which writes the record that names
 * it. When a step fails, removes it again.
 *
 * @throws what the step threw, such as StaleRecordError
 */
export async function withGatewayKey(
  service: KeyService,
  { keyHash, keyId, owner, plan }: Pick<AdministeredKey, 'keyHash' | 'keyId' | 'owner' | 'plan'>,
  value: string,
  commit: (gatewayKeyId: string) => Promise<void>,
): Promise<void> {
  const startedAt = nowOf(service);
  const description = `${descriptionPrefix(service)}${owner}`;
  const { id = '' } = await service.apiGateway.send(
    // The ID appears in logs, so it must not be the value.
    new CreateApiKeyCommand({ name: keyId, value, description, enabled: true, generateDistinctId: true }),
  );
  try {
    await service.afterStep('gateway key');
    await addToPlan(service, id, plan);
    if (nowOf(service) - startedAt > longestMaking)
      throw new KeyToolError('failed', 'API Gateway took over 10 minutes. Run the command again.');
    await commit(id);
  } catch (error) {
    try {
      // The write succeeded, and only its answer was lost.
      if ((await readKey(service, keyHash))?.gatewayKeyId === id) return;
      await deleteGatewayKey(service, id);
    } catch {
      throw new KeyToolError(
        'failed',
        `${(error as Error).message} Removing the new API Gateway key of ${keyId} failed as well. It lets nobody in; "cleanup" removes it.`,
        { cause: error },
      );
    }
    throw error;
  }
}

/** Adds a key to its usage plan. It must be in no other one of the same stage. */
export async function addToPlan(service: KeyService, keyId: string, plan: Plan): Promise<void> {
  const usagePlanId = service.usagePlanIds[plan];
  await service.apiGateway.send(new CreateUsagePlanKeyCommand({ usagePlanId, keyId, keyType: 'API_KEY' }));
  await service.afterStep('usage plan');
}

export async function removeFromPlan(service: KeyService, keyId: string, usagePlanId: string): Promise<void> {
  await ignoreNotFound(service.apiGateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId, keyId })));
  await service.afterStep('old usage plan');
}

/** Deletes a key if there is one, which also removes it from its usage plan. */
export async function deleteGatewayKey(service: KeyService, apiKey: string | undefined): Promise<void> {
  if (apiKey !== undefined)
    await ignoreNotFound(service.apiGateway.send(new DeleteApiKeyCommand({ apiKey })));
  await service.afterStep('old gateway key');
}

/** Empties the cache of the authorizer's answers, so that a change applies before their 60 s are over. */
export async function flushAuthorizer(service: KeyService): Promise<void> {
  const { apiGateway, restApiId } = service;
  await apiGateway.send(new FlushStageAuthorizersCacheCommand({ restApiId, stageName: apiStage }));
  await service.afterStep('authorizer cache');
}

/** The most that one call lists: https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const pageSize = 500;

/** Every API Gateway key of the account's Region, with its value: 20 calls for 10,000. */
export async function* gatewayKeys({ apiGateway: client }: KeyService): AsyncGenerator<ApiKey> {
  for await (const { items = [] } of paginateGetApiKeys({ client, pageSize }, { includeValues: true }))
    yield* items;
}

/** Whether this tool created an API Gateway key for this stage, and for this owner if one is given. */
export function isOwn(service: KeyService, { description = '' }: ApiKey, owner?: string): boolean {
  const prefix = descriptionPrefix(service);
  return owner === undefined ? description.startsWith(prefix) : description === `${prefix}${owner}`;
}

function descriptionPrefix({ stackName }: KeyService): string {
  return `${stackName}, owner `;
}

/** The service's usage plans that each API Gateway key is in, by its ID. */
export async function usagePlanMembers({
  apiGateway: client,
  usagePlanIds,
}: KeyService): Promise<ReadonlyMap<string, readonly string[]>> {
  const members = new Map<string, string[]>();
  for (const usagePlanId of Object.values(usagePlanIds)) {
    for await (const { items = [] } of paginateGetUsagePlanKeys({ client, pageSize }, { usagePlanId })) {
      for (const { id = '' } of items) members.set(id, [...(members.get(id) ?? []), usagePlanId]);
    }
  }
  return members;
}

async function ignoreNotFound(deletion: Promise<unknown>): Promise<void> {
  await deletion.catch((error: unknown) => {
    if (!(error instanceof NotFoundException)) throw error;
  });
}
