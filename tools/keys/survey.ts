import { type ApiKey, paginateGetApiKeys, paginateGetUsagePlanKeys } from '@aws-sdk/client-api-gateway';
import { gatewayValueOf, isValid, type KeyFilter, newestKeys } from './records.ts';
import type { KeyService } from './service.ts';

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
