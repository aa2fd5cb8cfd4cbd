import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { type Check, checksOf, usedIdempotencyKey } from './checks.ts';

/** https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
const hookEvent = z.object({ DeploymentId: z.string(), LifecycleEventHookExecutionId: z.string() });

const environment = z.object({
  STAGE: z.string(),
  /** A name of `checksOf`. */
  CHECKED_FUNCTION: z.string(),
  /** The ARN of the new version. */
  CHECKED_VERSION: z.string(),
  /** The Idempotency table, for a function that writes to it. */
  IDEMPOTENCY_TABLE: z.optional(z.string()),
});

const { STAGE: stage, CHECKED_FUNCTION: name, ...variables } = z.parse(environment, process.env);
const lambda = new LambdaClient();
const codeDeploy = new CodeDeployClient();

/**
 * CodeDeploy calls this before a new version of a function gets a request. Unless the version answers the checks, the
 * deployment fails and is rolled back.
 */
export async function handler(event: unknown): Promise<void> {
  const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } =
    z.parse(hookEvent, event);
  let status: 'Succeeded' | 'Failed' = 'Succeeded';
  try {
    await check();
  } catch (error) {
    status = 'Failed';
    console.error(`The new version of ${name} gets no requests:`, error);
  }
  await codeDeploy.send(
    new PutLifecycleEventHookExecutionStatusCommand({ deploymentId, lifecycleEventHookExecutionId, status }),
  );
}

async function check(): Promise<void> {
  const checks: Readonly<Record<string, readonly Check[]>> = checksOf(stage);
  if (variables.IDEMPOTENCY_TABLE !== undefined) {
    const item = usedIdempotencyKey(Math.floor(Date.now() / 1000));
    const client = DynamoDBDocumentClient.from(new DynamoDBClient());
    await client.send(new PutCommand({ TableName: variables.IDEMPOTENCY_TABLE, Item: item }));
  }
  for (const { event, expected } of checks[name]!) {
    const { FunctionError: failure, Payload: payload = new Uint8Array() } = await lambda.send(
      new InvokeCommand({ FunctionName: variables.CHECKED_VERSION, Payload: JSON.stringify(event) }),
    );
    const answer = Buffer.from(payload).toString();
    if (failure !== undefined) throw new Error(`It failed (${failure}): ${answer}`);
    const parsed = z.safeParse(expected, JSON.parse(answer));
    if (!parsed.success)
      throw new Error(`It answered ${answer}, which is not as expected: ${z.prettifyError(parsed.error)}`);
  }
}
