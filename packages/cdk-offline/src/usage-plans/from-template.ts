import { z } from 'zod';
import { flag } from '../template/schema.ts';
import type { Stack } from '../template/stack.ts';
import type { ApiKeyStore, UsagePlan } from './store.ts';

const usagePlan = z.object({
  UsagePlanName: z.string().optional(),
  Description: z.string().optional(),
  Throttle: z.object({ RateLimit: z.coerce.number(), BurstLimit: z.coerce.number() }).optional(),
  Quota: z
    .object({
      Limit: z.coerce.number().int(),
      Period: z.enum(['DAY', 'WEEK', 'MONTH']),
      Offset: z.coerce.number().default(0),
    })
    .optional(),
  ApiStages: z
    .array(
      z.object({
        ApiId: z.string(),
        Stage: z.string(),
        Throttle: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .default([]),
});

/** @param notes gets one line for each setting that has no effect here */
export function readUsagePlans(stack: Stack, notes: string[]): UsagePlan[] {
  return stack.resources('AWS::ApiGateway::UsagePlan').map((resource) => {
    const { UsagePlanName, Description, Throttle, Quota, ApiStages } = resource.read(usagePlan);
    const isDaily = Quota?.Period === 'DAY' && Quota.Offset === 0;
    if (Quota !== undefined && !isDaily) {
      notes.push(`${resource.logicalId}: only quotas per DAY without an offset are enforced by cdk-offline`);
    }
    if (ApiStages.some(({ Throttle: methods }) => Object.keys(methods).length > 0)) {
      notes.push(`${resource.logicalId}: throttling of single methods is not enforced by cdk-offline`);
    }
    return {
      id: resource.physicalId,
      name: UsagePlanName ?? resource.logicalId,
      description: Description,
      throttle: Throttle && { rate: Throttle.RateLimit, burst: Throttle.BurstLimit },
      quota: Quota && isDaily ? { limit: Quota.Limit } : undefined,
      apiStages: ApiStages.map(({ ApiId, Stage }) => ({ apiId: ApiId, stage: Stage })),
    };
  });
}

const apiKey = z.object({
  Name: z.string().optional(),
  Description: z.string().exactOptional(),
  Enabled: flag.default(false),
  Value: z.string().exactOptional(),
});
const usagePlanKey = z.object({ KeyId: z.string(), UsagePlanId: z.string() });

/**
 * Creates the template's keys and bindings that do not exist yet.
 *
 * @returns a line for each key whose value is not in the template
 */
export function createTemplateKeys(stacks: readonly Stack[], keys: ApiKeyStore, now: number): string[] {
  const generated: string[] = [];
  const existing = new Set(keys.keys().map(({ id }) => id));
  const resources = (type: string) => stacks.flatMap((stack) => stack.resources(type));
  for (const resource of resources('AWS::ApiGateway::ApiKey')) {
    const { Name, Description, Enabled, Value } = resource.read(apiKey);
    const name = Name ?? resource.logicalId;
    const show = (value: string) => Value === undefined && generated.push(`API key ${name}: ${value}`);
    if (existing.has(resource.physicalId)) {
      show(keys.key(resource.physicalId).value);
      continue;
    }
    const { value } = keys.create(
      {
        id: resource.physicalId,
        name,
        enabled: Enabled,
        ...(Description !== undefined && { description: Description }),
        ...(Value !== undefined && { value: Value }),
      },
      now,
    );
    show(value);
  }
  for (const resource of resources('AWS::ApiGateway::UsagePlanKey')) {
    const { KeyId, UsagePlanId } = resource.read(usagePlanKey);
    if (!keys.isBound(UsagePlanId, KeyId)) keys.bind(UsagePlanId, KeyId);
  }
  return generated;
}
