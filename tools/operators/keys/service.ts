import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { titleCase } from '../../../lib/title-case.ts';
import { ToolError } from '../command-line/errors.ts';
import { retryCalls } from '../command-line/retry.ts';
import { documentClient, openStack, type StackOptions } from '../command-line/stack.ts';

/** The start of the name of a stack's output (lib/animal-store-stack.ts). */
const usagePlanOutput = 'UsagePlanId';

/** Where the keys of one stage are stored, and how to reach them. */
export type KeyService = Awaited<ReturnType<typeof openKeyService>>;

/**
 * Finds the tables and usage plans of a stage. What the stack lacks is an error where it is used, so that a command does not need
 * what others need: a plan that is not deployed yet must not keep anybody from revoking a key.
 *
 * @throws ToolError if the stack does not exist
 */
export async function openKeyService(options: StackOptions) {
  const { outputs, output, configuration, ...stack } = await openStack(options);
  const client = documentClient(retryCalls(new DynamoDBClient(configuration), stack));
  const apiGateway = retryCalls(new APIGatewayClient(configuration), stack);
  return {
    ...stack,
    apiGateway,
    get keyTable() {
      return { client, tableName: output('ApiKeysTableName') };
    },
    get limitTable() {
      return { client, tableName: output('RateLimitsTableName') };
    },
    get restApiId() {
      return output('RestApiId');
    },
    /** The usage plans of all plans that are deployed, from the outputs of the stack. See `usagePlanIdOf`. */
    usagePlanIds: new Map(
      Object.entries(outputs).flatMap(([name, id]) =>
        name.startsWith(usagePlanOutput) && id !== undefined ? [[name, id]] : [],
      ),
    ) as ReadonlyMap<string, string>,
  };
}

/** The usage plan of a plan. `undefined` if it is not deployed. */
export function findUsagePlan({ usagePlanIds }: Pick<KeyService, 'usagePlanIds'>, plan: string) {
  return usagePlanIds.get(`${usagePlanOutput}${titleCase(plan)}`);
}

/** @throws ToolError if the plan is not deployed */
export function usagePlanIdOf(service: Pick<KeyService, 'usagePlanIds' | 'stage'>, plan: string): string {
  const { stage } = service;
  const id = findUsagePlan(service, plan);
  if (id !== undefined) return id;
  throw new ToolError('refused', `Plan ${plan} is not deployed in stage ${stage}. Deploy the stage first.`);
}
