import { randomBytes } from 'node:crypto';
import {
  type ApiKey,
  ConflictException,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  DeleteUsagePlanKeyCommand,
  FlushStageAuthorizersCacheCommand,
  GetUsagePlanKeyCommand,
  NotFoundException,
  paginateGetApiKeys,
  paginateGetUsagePlanKeys,
} from '@aws-sdk/client-api-gateway';
import type { Plan } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import { readKey } from './records.ts';
import { type KeyService, nowOf } from './service.ts';

/**
 * API Gateway keys and their usage plans. An API Gateway key is named by our key ID. Its value is the key's hash, or
 * a random one after a change of plan. It lets nobody in by itself: the authorizer has to return its value.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
 */

/** Seconds after which an API Gateway key without a record is a leftover, not one that is being made. */
export const leftoverAge = 900;
/** Seconds that making a key may take, well below `leftoverAge`. */
const longestMaking = 600;

export interface NewGatewayKey {
  readonly keyHash: string;
  readonly keyId: string;
  readonly owner: string;
  readonly plan: Plan;
  readonly value: string;
}

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
  key: NewGatewayKey,
  commit: (gatewayKeyId: string) => Promise<void>,
): Promise<void> {
  const startedAt = nowOf(service);
  const { id, isNew } = await ensureGatewayKey(service, key);
  try {
    await service.afterStep('gateway key');
    await addToPlan(service, id, key.plan);
    await service.afterStep('usage plan');
    if (nowOf(service) - startedAt > longestMaking)
      throw new KeyToolError('failed', 'API Gateway took over 10 minutes. Run the command again.');
    await commit(id);
    await service.afterStep('record');
  } catch (error) {
    const isCommitted = await undo(service, key, id, isNew).catch((cause: unknown) => {
      throw new KeyToolError(
        'failed',
        `${messageOf(error)} Removing the new API Gateway key of ${key.keyId} failed as well (${messageOf(cause)}). It lets nobody in; "cleanup" removes it.`,
        { cause: error },
      );
    });
    // The write succeeded, and only its answer was lost.
    if (isCommitted) return;
    throw error;
  }
}

/** Returns whether a record names the API Gateway key. Otherwise deletes it if this run created it. */
async function undo(
  service: KeyService,
  { keyHash }: NewGatewayKey,
  gatewayKeyId: string,
  isNew: boolean,
): Promise<boolean> {
  const record = await readKey(service.keyTable, keyHash);
  if (record?.gatewayKeyId === gatewayKeyId) return true;
  if (isNew) await deleteGatewayKey(service, gatewayKeyId);
  return false;
}

async function ensureGatewayKey(
  { apiGateway: client, stackName }: KeyService,
  { keyId, owner, value }: NewGatewayKey,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  try {
    const description = `${descriptionPrefix(stackName)}${owner}`;
    const { id } = await client.send(
      // The ID appears in logs, so it must not be the value.
      new CreateApiKeyCommand({ name: keyId, value, description, enabled: true, generateDistinctId: true }),
    );
    if (id === undefined) throw new Error('API Gateway created a key without an ID.');
    return { id, isNew: true };
  } catch (error) {
    if (!(error instanceof ConflictException)) throw error;
    // Created by a call whose answer was lost, or by another run.
    const query = { nameQuery: keyId, includeValues: true };
    for await (const { items = [] } of paginateGetApiKeys({ client }, query)) {
      const found = items.find((each) => each.value === value);
      if (found?.id !== undefined) return { id: found.id, isNew: false };
    }
    throw error;
  }
}

function descriptionPrefix(stackName: string): string {
  return `${stackName}, owner `;
}

/** Adds a key to its usage plan. It must be in no other one of the same stage. */
export async function addToPlan(service: KeyService, gatewayKeyId: string, plan: Plan): Promise<void> {
  const place = { usagePlanId: service.usagePlanIds[plan], keyId: gatewayKeyId };
  try {
    await service.apiGateway.send(new CreateUsagePlanKeyCommand({ ...place, keyType: 'API_KEY' }));
  } catch (error) {
    if (!(error instanceof ConflictException)) throw error;
    // It is in the plan, added by a call whose answer was lost or by another run; or it is in another plan.
    await service.apiGateway.send(new GetUsagePlanKeyCommand(place)).catch(() => Promise.reject(error));
  }
}

export async function removeFromPlan(
  { apiGateway }: KeyService,
  gatewayKeyId: string,
  usagePlanId: string,
): Promise<void> {
  await ignoreNotFound(apiGateway.send(new DeleteUsagePlanKeyCommand({ usagePlanId, keyId: gatewayKeyId })));
}

/** Deletes a key, which also removes it from its usage plan. */
export async function deleteGatewayKey({ apiGateway }: KeyService, gatewayKeyId: string): Promise<void> {
  await ignoreNotFound(apiGateway.send(new DeleteApiKeyCommand({ apiKey: gatewayKeyId })));
}

/** Empties the cache of the authorizer's answers, so that a change applies before their 60 s are over. */
export async function flushAuthorizer({ apiGateway, restApiId, apiStage }: KeyService): Promise<void> {
  await apiGateway.send(new FlushStageAuthorizersCacheCommand({ restApiId, stageName: apiStage }));
}

/** The most that one call lists: https://docs.aws.amazon.com/apigateway/latest/api/API_GetApiKeys.html */
const pageSize = 500;

/** Every API Gateway key of the account's Region, with its value: 20 calls for 10,000. */
export async function* gatewayKeys({ apiGateway: client }: KeyService): AsyncGenerator<ApiKey> {
  for await (const { items = [] } of paginateGetApiKeys({ client, pageSize }, { includeValues: true }))
    yield* items;
}

/** Whether this tool created an API Gateway key for this stage, and for this owner if one is given. */
export function isOwn({ stackName }: KeyService, { description = '' }: ApiKey, owner?: string): boolean {
  const prefix = descriptionPrefix(stackName);
  return owner === undefined ? description.startsWith(prefix) : description === `${prefix}${owner}`;
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
  try {
    await deletion;
  } catch (error) {
    if (!(error instanceof NotFoundException)) throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
