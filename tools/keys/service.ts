import { hostname, userInfo } from 'node:os';
import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import type { KeyTable } from '../../functions/access/key-records.ts';
import type { LimitTable } from '../../functions/access/limiter.ts';
import type { Plan } from '../../functions/access/plans.ts';
import { KeyToolError } from './errors.ts';
import type { ChangeLine } from './records.ts';
import { realWaiting, retryCalls, type Waiting } from './retry.ts';

/** First part of the stack's name, unless the CDK app is given another. */
export const defaultStackPrefix = 'AnimalStore';

interface Hooks {
  /** Called for every change. */
  readonly onChange: (line: ChangeLine) => void;
  /** Called when something takes longer, and for each malformed record. */
  readonly notify: (message: string) => void;
  /** Called after each step of a change, before the next begins. Tests stop here as a crash would. */
  readonly afterStep: (step: string) => void | Promise<void>;
  /** Milliseconds since the Unix epoch. */
  readonly clock: () => number;
}

export interface KeyServiceOptions extends Partial<Hooks> {
  /** The stage whose keys these are; it is part of every key. */
  readonly stage: string;
  /** Base address of a service on this machine, such as `http://127.0.0.1:3000`. Default: AWS. */
  readonly endpoint?: string | undefined;
  /** Default: AWS_REGION or the profile's. */
  readonly region?: string | undefined;
  /** A profile of the AWS configuration files. Default: AWS_PROFILE, or the credentials the SDK finds. */
  readonly profile?: string | undefined;
  /** Default: `AnimalStore-<stage>`. */
  readonly stackName?: string | undefined;
  readonly waiting?: Waiting;
}

/** Where the keys of one stage are stored, and how to reach them. */
export interface KeyService extends Hooks {
  readonly stage: string;
  readonly stackName: string;
  readonly keyTable: KeyTable;
  readonly limitTable: LimitTable;
  readonly apiGateway: APIGatewayClient;
  readonly usagePlanIds: Readonly<Record<Plan, string>>;
  readonly restApiId: string;
  /** Who makes changes: an ARN on AWS, a user of this machine for the local service. */
  readonly identify: () => Promise<string>;
  /** Waits until API Gateway uses a new API Gateway key everywhere. Returns at once for the local service. */
  readonly propagate: () => Promise<void>;
}

/** AWS states no time. Seconds are reported: https://stackoverflow.com/questions/42194561 */
const propagationSeconds = 30;

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
 * Finds the tables and usage plans of a stage in the outputs of its stack. For a service on this machine only the
 * endpoint and the credentials differ.
 *
 * @throws KeyToolError when there is no such stack, or it is of another version
 */
export async function openKeyService(options: KeyServiceOptions): Promise<KeyService> {
  const { stage, endpoint, region, profile, waiting = realWaiting, notify = () => {} } = options;
  const { stackName = `${defaultStackPrefix}-${stage}` } = options;
  const local = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
  const configuration = endpoint
    ? { endpoint, ...local }
    : { ...(region && { region }), ...(profile && { profile }) };
  const found = await describeOutputs(new CloudFormationClient(configuration), stackName, endpoint);
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(configuration), {
    // As the functions read numbers, see functions/dynamodb.ts.
    unmarshallOptions: { wrapNumbers: true },
  });
  const apiGateway = new APIGatewayClient({ ...configuration, maxAttempts: 1 });
  retryCalls(apiGateway, waiting, notify);
  let user: Promise<string> | undefined;
  return {
    stage,
    stackName,
    keyTable: { client, tableName: found.ApiKeysTableName },
    limitTable: { client, tableName: found.RateLimitsTableName },
    apiGateway,
    usagePlanIds: {
      free: found.UsagePlanIdFree,
      pro: found.UsagePlanIdPro,
      business: found.UsagePlanIdBusiness,
      enterprise: found.UsagePlanIdEnterprise,
    },
    restApiId: found.RestApiId,
    identify: () => (user ??= endpoint === undefined ? callerArn(configuration) : localUser()),
    onChange: options.onChange ?? (() => {}),
    notify,
    afterStep: options.afterStep ?? (() => {}),
    clock: options.clock ?? Date.now,
    propagate: async () => {
      if (endpoint !== undefined) return;
      notify(`Waiting ${propagationSeconds} s for API Gateway to apply the change.`);
      await waiting.sleep(propagationSeconds * 1000);
    },
  };
}

/** The clock in whole Unix seconds. */
export function nowOf({ clock }: KeyService): number {
  return Math.floor(clock() / 1000);
}

async function describeOutputs(
  client: CloudFormationClient,
  stackName: string,
  endpoint: string | undefined,
): Promise<z.infer<typeof outputs>> {
  const { Stacks: stacks } = await client
    .send(new DescribeStacksCommand({ StackName: stackName }))
    .catch(async (error: Error) => {
      // CloudFormation has no type of its own for a stack that is not there.
      if (error.name !== 'ValidationError' || !error.message.includes('does not exist')) throw error;
      const where = endpoint ?? `Region ${await client.config.region()}`;
      throw new KeyToolError(
        'not_found',
        `There is no stack ${stackName} at ${where}. Deploy it, or give its Region with --region, its account with --profile, or the name of a copy with --name.`,
        { cause: error },
      );
    });
  const described = stacks?.[0]?.Outputs ?? [];
  const parsed = outputs.safeParse(
    Object.fromEntries(described.map(({ OutputKey: key, OutputValue: value }) => [key, value])),
  );
  if (parsed.success) return parsed.data;
  const missing = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
  throw new KeyToolError(
    'failed',
    `Stack ${stackName} lacks the outputs ${missing}: its deployment is incomplete, or of another version. Deploy it again.`,
  );
}

/** Loaded for changes only. */
async function callerArn(configuration: object): Promise<string> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn: arn } = await new STSClient(configuration).send(new GetCallerIdentityCommand());
  if (arn !== undefined) return arn;
  throw new KeyToolError('failed', 'AWS did not return the owner of these credentials.');
}

async function localUser(): Promise<string> {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`; // a user without a name
  }
}
