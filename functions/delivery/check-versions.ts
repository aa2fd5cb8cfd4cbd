import { setTimeout } from 'node:timers/promises';
import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { type Check, checksOf, usedIdempotencyKey } from './checks.ts';
import { repeatRefused, type Time } from './refusals.ts';

/** https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
const hookEvent = z.object({ DeploymentId: z.string(), LifecycleEventHookExecutionId: z.string() });

const environment = z.object({
  STAGE: z.string(),
  IDEMPOTENCY_TABLE: z.string(),
  /** The ARN of the version of each function in the stack's template, by its name in `checksOf`. */
  CHECKED_VERSIONS: z.pipe(
    z.pipe(
      z.string(),
      z.transform((json): unknown => JSON.parse(json)),
    ),
    z.record(z.string(), z.string()),
  ),
});

const variables = z.parse(environment, process.env);
const lambda = new LambdaClient();
const codeDeploy = new CodeDeployClient();
const dynamoDb = DynamoDBDocumentClient.from(new DynamoDBClient());

/**
 * CodeDeploy calls this before a new version of a function gets a request, once for each function that changes. Each call checks
 * the versions of all functions, so that a version that does not answer as expected stops all deployments before one shifts a
 * request: CloudFormation cannot undo those that have begun while others stop.
 */
export function preTrafficHook(time: Time) {
  return async (event: unknown): Promise<void> => {
    const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } =
      z.parse(hookEvent, event);
    const results = await checkAll(deploymentId, time);
    for (const { name, error } of results)
      console.error(`The new version of ${name} gets no requests:`, error);
    const status = results.length === 0 ? 'Succeeded' : 'Failed';
    const report = { deploymentId, lifecycleEventHookExecutionId, status } as const;
    await repeatRefused(() => codeDeploy.send(new PutLifecycleEventHookExecutionStatusCommand(report)), time);
  };
}

export const handler = preTrafficHook({ now: () => performance.now(), sleep: setTimeout });

/** The functions whose versions fail their checks, and why. */
async function checkAll(
  deploymentId: string,
  time: Time,
): Promise<readonly { readonly name: string; readonly error: unknown }[]> {
  // The hooks of all deployments run at once, and transactions on one item would disturb each other.
  const idempotencyKey = `pre-traffic-check-${deploymentId}`;
  const checks: Readonly<Record<string, readonly Check[]>> = checksOf(variables.STAGE, idempotencyKey);
  const item = usedIdempotencyKey(idempotencyKey, Math.floor(Date.now() / 1000));
  const put = new PutCommand({ TableName: variables.IDEMPOTENCY_TABLE, Item: item });
  const prepared = repeatRefused(() => dynamoDb.send(put), time);
  const results = await Promise.all(
    Object.entries(variables.CHECKED_VERSIONS).map(async ([name, version]) => {
      try {
        await prepared;
        for (const check of checks[name]!) await checkVersion(version, check, time);
        return [];
      } catch (error) {
        return [{ name, error }];
      }
    }),
  );
  return results.flat();
}

async function checkVersion(version: string, { event, expected }: Check, time: Time): Promise<void> {
  const invoke = new InvokeCommand({ FunctionName: version, Payload: JSON.stringify(event) });
  const { FunctionError: failure, Payload: payload = new Uint8Array() } = await repeatRefused(
    () => lambda.send(invoke),
    time,
  );
  const answer = Buffer.from(payload).toString();
  if (failure !== undefined) throw new Error(`It failed (${failure}): ${answer}`);
  const parsed = z.safeParse(expected, JSON.parse(answer));
  if (!parsed.success)
    throw new Error(`It answered ${answer}, which is not as expected: ${z.prettifyError(parsed.error)}`);
}
