import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { retryCalls } from '../command-line/retry.ts';
import { documentClient, openStack, type StackOptions } from '../command-line/stack.ts';

/** Where the keys of one stage are stored, and how to reach them. */
export type KeyService = Awaited<ReturnType<typeof openKeyService>>;

const outputs = z.object({
  RestApiId: z.string(),
  ApiKeysTableName: z.string(),
  RateLimitsTableName: z.string(),
  UsagePlanIdFree: z.string(),
  UsagePlanIdPro: z.string(),
  UsagePlanIdBusiness: z.string(),
  UsagePlanIdEnterprise: z.string(),
});

/**
 * Finds the tables and usage plans of a stage.
 *
 * @throws ToolError if the stack does not exist, or is of another version
 */
export async function openKeyService(options: StackOptions) {
  const { outputs: found, configuration, ...stack } = await openStack(options, outputs);
  const client = documentClient(retryCalls(new DynamoDBClient(configuration), stack));
  const apiGateway = retryCalls(new APIGatewayClient(configuration), stack, async (operation) => {
    if (!operation.startsWith('Get')) await stack.afterStep(operation);
  });
  return {
    ...stack,
    keyTable: { client, tableName: found.ApiKeysTableName },
    limitTable: { client, tableName: found.RateLimitsTableName },
    apiGateway,
    restApiId: found.RestApiId,
    usagePlanIds: {
      free: found.UsagePlanIdFree,
      pro: found.UsagePlanIdPro,
      business: found.UsagePlanIdBusiness,
      enterprise: found.UsagePlanIdEnterprise,
    },
  };
}
