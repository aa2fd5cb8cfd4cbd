import {
  ConflictException,
  CreateApiKeyCommand,
  CreateUsagePlanKeyCommand,
  DeleteApiKeyCommand,
  FlushStageAuthorizersCacheCommand,
  GetUsagePlanKeyCommand,
  NotFoundException,
  paginateGetApiKeys,
} from '@aws-sdk/client-api-gateway';
import { OutcomeUnknownError } from '../command-line/change.ts';
import { explain, ToolError } from '../command-line/errors.ts';
import { isBusy, mayBeDone } from '../command-line/retry.ts';
import {
  type AdministeredKey,
  gatewayValueOf,
  isValid,
  type KeyFilter,
  newestKeys,
  readKey,
} from './records.ts';
import { type KeyService, usagePlanIdOf } from './service.ts';

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
 * it. When a step fails, removes it again, or says that it is left over.
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
  // This can fail, so it comes before anything is made.
  const usagePlanId = usagePlanIdOf(service, plan);
  let id: string | undefined;
  try {
    id = await createGatewayKey(service, keyId, value, descriptionOf(service, owner));
    await addToPlan(service, id, usagePlanId);
    if (service.now() - startedAt > longestMaking)
      throw new ToolError('failed', 'API Gateway took over 10 minutes. Run the command again.');
    await commit(id);
  } catch (error) {
    if (error instanceof OutcomeUnknownError) throw error;
    const leftOver = `${keyId} is left over. It lets nobody in: "cleanup" deletes it.`;
    try {
      if (id === undefined) {
        if (mayBeDone(error)) service.notify(`Perhaps an API Gateway key of ${leftOver}`);
      } else {
        // Another run of `repair` found it and has written the record.
        if ((await readKey(service, keyHash))?.gatewayKeyId === id) return;
        await deleteGatewayKey(service, id);
      }
    } catch {
      service.notify(`The API Gateway key of ${leftOver}`);
    }
    throw error;
  }
}

async function createGatewayKey(
  service: KeyService,
  name: string,
  value: string,
  description: string,
): Promise<string> {
  try {
    // The ID appears in logs, so it must not be the value.
    const distinct = { generateDistinctId: true, enabled: true };
    const command = new CreateApiKeyCommand({ name, value, description, ...distinct });
    return (await service.apiGateway.send(command)).id ?? '';
  } catch (error) {
    if (!mayBeDone(error)) throw error;
    const id = await findGatewayKey(service, name, value).catch(() => undefined);
    if (id === undefined) throw error;
    return id;
  }
}

/** The key that a call created whose answer was lost. A new key is not visible to every call at first. */
async function findGatewayKey({ apiGateway: client, sleep }: KeyService, name: string, value: string) {
  for (let tries = 0; tries < 3; tries += 1) {
    const pages = paginateGetApiKeys({ client }, { nameQuery: name, includeValues: true });
    for await (const { items = [] } of pages) {
      const found = items.find((item) => item.value === value);
      if (found !== undefined) return found.id;
    }
    await sleep(2_000);
  }
  return undefined;
}

/** Adds a key to its usage plan. It must be in no other one of the same stage. */
export async function addToPlan(
  { apiGateway }: KeyService,
  keyId: string,
  usagePlanId: string,
): Promise<void> {
  const membership = { usagePlanId, keyId };
  try {
    await apiGateway.send(new CreateUsagePlanKeyCommand({ ...membership, keyType: 'API_KEY' }));
  } catch (error) {
    const isMember = error instanceof ConflictException && !isBusy(error);
    if (!isMember && !mayBeDone(error)) throw error;
    // The key is a member of this plan, after an answer that was lost or by another run, or it is one of another plan.
    await apiGateway.send(new GetUsagePlanKeyCommand(membership)).catch(() => {
      throw error;
    });
  }
}

/** Runs a step after the write that decides. If it fails, that is a note: the change is made. */
async function finish(
  { notify, stage }: KeyService,
  step: () => Promise<unknown>,
  consequence: string,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    notify(`${consequence} (${explain(error, { stage }).message})`);
  }
}

/** Empties the authorizer's cache after a change, so that it applies before the 60 s of the cache are over. */
export async function flushAuthorizer(service: KeyService): Promise<void> {
  const flush = () => {
    const { apiGateway, restApiId } = service;
    // The stage of API Gateway is the version segment of the base URL (docs/interface.md#compatibility).
    return apiGateway.send(new FlushStageAuthorizersCacheCommand({ restApiId, stageName: 'v1' }));
  };
  const consequence = 'The change is made. It applies within 60 s, when the cache of the authorizer expires.';
  await finish(service, async () => flush(), consequence);
}

/** Deletes the API Gateway key that a key does not use after a change. */
export async function deleteFormerGatewayKey(
  service: KeyService,
  { keyId, gatewayKeyId }: Pick<AdministeredKey, 'keyId' | 'gatewayKeyId'>,
): Promise<void> {
  const consequence = `The change is made. The API Gateway key of ${keyId} is left over. It lets nobody in: "cleanup" deletes it.`;
  await finish(service, () => deleteGatewayKey(service, gatewayKeyId), consequence);
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

/**
 * What `repair` and `cleanup` compare: how many records match the filter, the valid keys, by the value of their API Gateway key, and all API Gateway keys of
 * the account's Region.
 */
export async function survey(service: KeyService, filter: KeyFilter) {
  // Records are read first, because the API Gateway key of a valid key exists before its record.
  const { keys, matches } = await newestKeys(service, filter);
  const valid = keys.filter((key) => isValid(key, service.now()) && key.plan === (filter.plan ?? key.plan));
  const paging = { client: service.apiGateway, pageSize: 500 };
  const pages = await Array.fromAsync(paginateGetApiKeys(paging, { includeValues: true }));
  const gatewayKeys = pages.flatMap(({ items = [] }) => items);
  return { matches, valid: new Map(valid.map((key) => [gatewayValueOf(key), key])), gatewayKeys };
}
