import {
  type ApiKey,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  FlushStageAuthorizersCacheCommand,
  NotFoundException,
  paginateGetApiKeys,
  paginateGetUsagePlanKeys,
} from '@aws-sdk/client-api-gateway';
import type { Plan } from '../../functions/access/plans.ts';
import { ToolError } from '../operator/errors.ts';
import {
  type AdministeredKey,
  gatewayValueOf,
  isValid,
  type KeyFilter,
  newestKeys,
  readKey,
} from './records.ts';
import type { KeyService } from './service.ts';

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

/** The description of an owner's API Gateway keys. With an empty owner, its start for all keys of the stage. */
export function descriptionOf({ stackName }: KeyService, owner: string): string {
  return `${stackName}, owner ${owner}`;
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
  const startedAt = service.now();
  const description = descriptionOf(service, owner);
  const { id = '' } = await service.apiGateway.send(
    // The ID appears in logs, so it must not be the value.
    new CreateApiKeyCommand({ name: keyId, value, description, enabled: true, generateDistinctId: true }),
  );
  try {
    await addToPlan(service, id, plan);
    if (service.now() - startedAt > longestMaking)
      throw new ToolError('failed', 'API Gateway took over 10 minutes. Run the command again.');
    await commit(id);
  } catch (error) {
    try {
      // The write succeeded, and only its response was lost.
      if ((await readKey(service, keyHash))?.gatewayKeyId === id) return;
      await deleteGatewayKey(service, id);
    } catch {
      service.notify(
        `The API Gateway key of ${keyId} is left over. It lets nobody in: "cleanup" deletes it.`,
      );
    }
    throw error;
  }
}

/** Adds a key to its usage plan. It must be in no other one of the same stage. */
export async function addToPlan(service: KeyService, keyId: string, plan: Plan): Promise<void> {
  const usagePlanId = service.usagePlanIds[plan];
  await service.apiGateway.send(new CreateUsagePlanKeyCommand({ usagePlanId, keyId, keyType: 'API_KEY' }));
}

/** Deletes a key if it exists, which also removes it from its usage plan. */
export async function deleteGatewayKey({ apiGateway }: KeyService, apiKey: string): Promise<void> {
  await ignoreNotFound(apiGateway.send(new DeleteApiKeyCommand({ apiKey })));
}

export async function ignoreNotFound(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof NotFoundException)) throw error;
  });
}

/** Empties the authorizer's cache, so that a change applies before its 60 s are over. */
export async function flushAuthorizer({ apiGateway, restApiId }: KeyService): Promise<void> {
  // The stage of API Gateway is the version segment of the base URL (docs/interface.md, Versioning).
  await apiGateway.send(new FlushStageAuthorizersCacheCommand({ restApiId, stageName: 'v1' }));
}

/** Waits until API Gateway uses a new API Gateway key everywhere. Returns at once for the local service. */
export async function propagate({ isLocal, notify, sleep }: KeyService): Promise<void> {
  if (isLocal) return;
  // AWS states no time. Seconds are reported: https://stackoverflow.com/questions/42194561
  notify('Waiting 30 s for API Gateway to apply the change.');
  await sleep(30_000);
}

/**
 * What `repair` and `cleanup` compare: the valid keys, by the value of their API Gateway key, and all API Gateway keys of
 * the account's Region, with those of this service's usage plans that they are in.
 */
export async function survey(service: KeyService, filter: KeyFilter) {
  // Records first: the API Gateway key of a valid key exists before its record.
  const { keys } = await newestKeys(service, filter);
  const valid = keys.filter((key) => isValid(key, service.now()) && key.plan === (filter.plan ?? key.plan));
  const paging = { client: service.apiGateway, pageSize: 500 };
  const members = new Map<string, string[]>();
  for (const usagePlanId of Object.values(service.usagePlanIds))
    for await (const { items = [] } of paginateGetUsagePlanKeys(paging, { usagePlanId }))
      for (const { id = '' } of items) members.set(id, [...(members.get(id) ?? []), usagePlanId]);
  const gatewayKeys: (ApiKey & { readonly id: string; readonly usagePlanIds: readonly string[] })[] = [];
  for await (const { items = [] } of paginateGetApiKeys(paging, { includeValues: true }))
    for (const { id = '', ...key } of items)
      gatewayKeys.push({ id, ...key, usagePlanIds: members.get(id) ?? [] });
  return { valid: new Map(valid.map((key) => [gatewayValueOf(key), key])), gatewayKeys };
}
