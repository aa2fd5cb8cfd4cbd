import { setTimeout } from 'node:timers/promises';
import { CodeDeployClient, PutLifecycleEventHookExecutionStatusCommand } from '@aws-sdk/client-codedeploy';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, type InvokeCommandOutput, LambdaClient } from '@aws-sdk/client-lambda';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod/mini';
import { checksOf, json, usedIdempotencyKey, type VersionCheck } from './version-checks.ts';
import { tableVariables } from '../tables.ts';
import { toUnixSeconds } from '../runtime/unix-time.ts';
import { type Clock, repeatRefused } from './repeat-refused.ts';

/** https://docs.aws.amazon.com/codedeploy/latest/userguide/reference-appspec-file-structure-hooks.html */
const hookEvent = z.object({ DeploymentId: z.string(), LifecycleEventHookExecutionId: z.string() });

const environment = z.object({
  STAGE: z.string(),
  [tableVariables.idempotency]: z.string(),
  /** The ARN of the version of each function in the stack's template, by its name in `checksOf`. */
  CHECKED_VERSIONS: z.pipe(json, z.record(z.string(), z.string())),
});

/** Milliseconds. The function has more time than all of them together: lib/delivery/pre-traffic-hook.ts. */
export const timeLimits = {
  /** All checks. */
  checks: 100_000,
  /** How long refused calls are repeated: those of all checks, then the report. */
  patience: 60_000,
  /** One attempt to report. */
  report: 10_000,
} as const;

const lambda = new LambdaClient();
const codeDeploy = new CodeDeployClient({ requestHandler: { requestTimeout: timeLimits.report } });
const dynamoDb = DynamoDBDocumentClient.from(new DynamoDBClient());

/**
 * CodeDeploy calls this before a new version of a function gets a request, once for each function that changes. Each call checks
 * the versions of all functions, so that a version that does not answer as expected stops all deployments before one shifts a
 * request: CloudFormation cannot undo those that have begun while others stop.
 *
 * Whatever goes wrong is reported, because CodeDeploy waits for a report. Only an event without its IDs cannot be.
 *
 * @param timeout a signal that aborts what the checks are waiting for
 */
export function preTrafficHook(clock: Clock, timeout: () => AbortSignal) {
  return async (event: unknown): Promise<void> => {
    const { DeploymentId: deploymentId, LifecycleEventHookExecutionId: lifecycleEventHookExecutionId } =
      z.parse(hookEvent, event);
    const status = await checkAll(deploymentId, clock, timeout()).catch((error: unknown) => {
      console.error('The new versions get no requests:', error);
      return 'Failed' as const;
    });
    const report = { deploymentId, lifecycleEventHookExecutionId, status };
    await repeatRefused(
      () => codeDeploy.send(new PutLifecycleEventHookExecutionStatusCommand(report)),
      clock.now() + timeLimits.patience,
      clock,
    );
  };
}

export const handler = preTrafficHook({ now: () => performance.now(), sleep: setTimeout }, () =>
  AbortSignal.timeout(timeLimits.checks),
);

async function checkAll(
  deploymentId: string,
  clock: Clock,
  abortSignal: AbortSignal,
): Promise<'Succeeded' | 'Failed'> {
  const end = clock.now() + timeLimits.patience;
  const variables = z.parse(environment, process.env);
  // The hooks of all deployments run at once, and transactions on one item would disturb each other.
  const idempotencyKey = `pre-traffic-check-${deploymentId}`;
  const item = usedIdempotencyKey(idempotencyKey, toUnixSeconds(Date.now()));
  const put = new PutCommand({ TableName: variables.IDEMPOTENCY_TABLE, Item: item });
  await repeatRefused(() => dynamoDb.send(put, { abortSignal }), end, clock);

  let status: 'Succeeded' | 'Failed' = 'Succeeded';
  // This makes one invocation at a time, because hooks and invocations share the account's executions, and a new account has ten.
  for (const [name, checks] of Object.entries(checksOf(variables.STAGE, idempotencyKey))) {
    try {
      for (const { event, expected } of checks) {
        const FunctionName = variables.CHECKED_VERSIONS[name];
        const invoke = new InvokeCommand({ FunctionName, Payload: JSON.stringify(event) });
        const answer = await repeatRefused(() => lambda.send(invoke, { abortSignal }), end, clock);
        compare(answer, expected);
      }
    } catch (error) {
      console.error(`The new version of ${name} gets no requests:`, error);
      status = 'Failed';
    }
  }
  return status;
}

/** @throws Error if the invocation failed, or the answer is not as expected */
function compare(
  { FunctionError: failure, Payload: payload }: InvokeCommandOutput,
  expected: VersionCheck['expected'],
): void {
  const answer = payload?.transformToString() ?? '';
  if (failure !== undefined) throw new Error(`It failed (${failure}): ${answer}`);
  const parsed = z.safeParse(expected, JSON.parse(answer));
  if (!parsed.success)
    throw new Error(`It answered ${answer}, which is not as expected: ${z.prettifyError(parsed.error)}`);
}
