import { hostname, userInfo } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import { KeyToolError, type Target } from './errors.ts';
import type { Hooks } from './changes.ts';
import { retryCalls } from './retry.ts';

/** First part of the stack's name, unless the CDK app is given another. */
export const defaultStackPrefix = 'AnimalStore';

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
 * Finds the tables and usage plans of a stage in the outputs of its stack.
 *
 * @throws KeyToolError if the stack does not exist, or is of another version
 */
export async function openKeyService({
  stage,
  endpoint,
  region,
  profile,
  stackName = `${defaultStackPrefix}-${stage}`,
  onChange = () => {},
  notify = () => {},
  afterStep = () => {},
  clock = Date.now,
  sleep = setTimeout,
}: Target & { readonly stackName?: string } & Hooks) {
  const configuration = endpoint
    ? { endpoint, region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }
    : { ...(region && { region }), ...(profile && { profile }) };
  const found = await outputsOf(new CloudFormationClient(configuration), stackName, endpoint);
  const client = documentClient(configuration);
  const apiGateway = new APIGatewayClient({ ...configuration, maxAttempts: 1 });
  retryCalls(apiGateway, { sleep, notify, afterStep });
  let caller: Promise<string> | undefined;
  return {
    stage,
    stackName,
    isLocal: endpoint !== undefined,
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
    /** Who makes changes: an ARN on AWS, a user of this machine for the local service. */
    caller: () => (caller ??= endpoint ? localUser() : callerArn(configuration)),
    /** Whole Unix seconds. */
    now: () => Math.floor(clock() / 1000),
    clock,
    onChange,
    notify,
    afterStep,
    sleep,
  };
}

export function documentClient(configuration: DynamoDBClientConfig): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(new DynamoDBClient(configuration), {
    marshallOptions: { removeUndefinedValues: true },
    // As the functions read numbers, see functions/dynamodb.ts.
    unmarshallOptions: { wrapNumbers: true },
  });
}

async function outputsOf(client: CloudFormationClient, stackName: string, endpoint: string | undefined) {
  const command = new DescribeStacksCommand({ StackName: stackName });
  const { Stacks: stacks } = await client.send(command).catch(async (error: Error) => {
    // CloudFormation has no error type for a stack that does not exist.
    if (error.name !== 'ValidationError' || !error.message.includes('does not exist')) throw error;
    throw new KeyToolError(
      'not_found',
      `Stack ${stackName} does not exist at ${endpoint ?? `Region ${await client.config.region()}`}. Deploy it, or give its Region with --region, its account with --profile, or the name of a copy with --name.`,
    );
  });
  const described = stacks?.[0]?.Outputs?.map(({ OutputKey: key, OutputValue: value }) => [key, value]);
  const { data, error } = outputs.safeParse(Object.fromEntries(described ?? []));
  if (data !== undefined) return data;
  const missing = error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new KeyToolError(
    'failed',
    `Stack ${stackName} lacks the outputs ${missing}: its deployment is incomplete, or of another version. Deploy it again.`,
  );
}

/** Loads the client of STS for changes only. */
async function callerArn(configuration: object): Promise<string> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn: arn } = await new STSClient(configuration).send(new GetCallerIdentityCommand());
  return arn ?? 'unknown';
}

async function localUser(): Promise<string> {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.()}@${hostname()}`; // a user without a name
  }
}
