import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { type Plan, planNames } from '../../../functions/access/plans.ts';
import { titleCase } from '../../../lib/title-case.ts';
import { retryCalls } from '../command-line/retry.ts';
import { documentClient, openStack, type StackOptions } from '../command-line/stack.ts';

/** Where the keys of one stage are stored, and how to reach them. */
export type KeyService = Awaited<ReturnType<typeof openKeyService>>;

/** The output of the stack with the ID of a usage plan. */
const usagePlanOutput = (plan: Plan) => `UsagePlanId${titleCase(plan)}` as `UsagePlanId${Capitalize<Plan>}`;

const outputs = z.object({
  RestApiId: z.string(),
  ApiKeysTableName: z.string(),
  RateLimitsTableName: z.string(),
  ...(Object.fromEntries(planNames.map((plan) => [usagePlanOutput(plan), z.string()])) as Readonly<
    Record<ReturnType<typeof usagePlanOutput>, z.ZodString>
  >),
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
    usagePlanIds: Object.fromEntries(
      planNames.map((plan) => [plan, found[usagePlanOutput(plan)]]),
    ) as Readonly<Record<Plan, string>>,
  };
}
