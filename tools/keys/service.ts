import { hostname, userInfo } from 'node:os';
import { APIGatewayClient } from '@aws-sdk/client-api-gateway';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { z } from 'zod';
import type { AuditLine } from './key-administration.ts';
import type { KeyTable } from '../../functions/access/key-records.ts';
import type { LimitTable } from '../../functions/access/limiter.ts';
import type { Plan } from '../../functions/access/plans.ts';
import { type Runner, thisRunner } from './attempts.ts';
import { KeyToolError } from './errors.ts';

/** The first part of a stack's name, where the CDK app is not given another. */
export const defaultStackPrefix = 'AnimalStore';

export interface KeyServiceOptions {
  /** The stage whose keys these are; it is part of every key. */
  readonly stage: string;
  /** Base address of a service on this machine, such as `http://127.0.0.1:3000`. Left out: AWS. */
  readonly endpoint?: string | undefined;
  /** Left out: AWS_REGION or the profile's. */
  readonly region?: string | undefined;
  /** A profile of the AWS configuration files. Left out: AWS_PROFILE or whatever credentials there are. */
  readonly profile?: string | undefined;
  /** Left out: `AnimalStore-<stage>`. */
  readonly stackName?: string | undefined;
  /** Told of every change. */
  readonly onAudit?: ((line: ChangeLine) => void) | undefined;
  /** Told of every step that is done, before the next begins. Tests stop here as a crash would. */
  readonly afterStep?: ((step: string) => void | Promise<void>) | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly clock?: (() => number) | undefined;
  readonly runner?: Runner | undefined;
}

/** A line of the audit trail, with the key that it is about. */
export type ChangeLine = AuditLine & { readonly stage: string; readonly keyId: string };

/** Where the keys of one stage are kept, and how they are reached. */
export interface KeyService {
  readonly stage: string;
  readonly stackName: string;
  readonly keyTable: KeyTable;
  readonly limitTable: LimitTable;
  readonly apiGateway: APIGatewayClient;
  readonly usagePlanIds: Readonly<Record<Plan, string>>;
  readonly restApiId: string;
  /** The stage in API Gateway, which is the version segment of the base address (interface, section 1). */
  readonly apiStage: string;
  /** Who makes changes: an ARN on AWS, a user of this machine for a service on it. */
  readonly identify: () => Promise<string>;
  readonly onAudit: (line: ChangeLine) => void;
  readonly afterStep: (step: string) => void | Promise<void>;
  readonly clock: () => number;
  readonly runner: Runner;
}

const outputs = z.object({
  ApiUrl: z.url(),
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
  const { stage, endpoint, stackName = `${defaultStackPrefix}-${stage}` } = options;
  const configuration = clientConfiguration(options);
  const found = await describeOutputs(new CloudFormationClient(configuration), stackName, endpoint);
  const parsed = outputs.safeParse(found);
  if (!parsed.success) {
    const missing = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw new KeyToolError(
      'failed',
      `The stack ${stackName} lacks the outputs ${missing}: it is not deployed whole, or by another version. Deploy it again.`,
    );
  }
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(configuration), {
    // As the functions read numbers, see functions/dynamodb.ts.
    unmarshallOptions: { wrapNumbers: true },
  });
  const { data } = parsed;
  return {
    stage,
    stackName,
    keyTable: { client, tableName: data.ApiKeysTableName },
    limitTable: { client, tableName: data.RateLimitsTableName },
    apiGateway: new APIGatewayClient(configuration),
    usagePlanIds: {
      free: data.UsagePlanIdFree,
      pro: data.UsagePlanIdPro,
      business: data.UsagePlanIdBusiness,
      enterprise: data.UsagePlanIdEnterprise,
    },
    restApiId: data.RestApiId,
    apiStage: new URL(data.ApiUrl).pathname.split('/').findLast((segment) => segment !== '') ?? '',
    identify: once(() => (endpoint === undefined ? callerArn(configuration) : Promise.resolve(localUser()))),
    onAudit: options.onAudit ?? (() => {}),
    afterStep: options.afterStep ?? (() => {}),
    clock: options.clock ?? Date.now,
    runner: options.runner ?? thisRunner,
  };
}

/** The clock in whole Unix seconds. */
export function nowOf({ clock }: KeyService): number {
  return Math.floor(clock() / 1000);
}

type Configuration = ConstructorParameters<typeof DynamoDBClient>[0];

function clientConfiguration({ endpoint, region, profile }: KeyServiceOptions) {
  if (endpoint !== undefined) {
    return {
      endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 3,
    } satisfies Configuration;
  }
  return {
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
    // Above the SDK's three, since API Gateway takes just five new keys a second from an account:
    // https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
    ...(process.env['AWS_MAX_ATTEMPTS'] === undefined && { maxAttempts: 8 }),
  } satisfies Configuration;
}

async function describeOutputs(
  client: CloudFormationClient,
  stackName: string,
  endpoint: string | undefined,
): Promise<Readonly<Record<string, string | undefined>>> {
  try {
    const { Stacks: stacks } = await client.send(new DescribeStacksCommand({ StackName: stackName }));
    const described = stacks?.[0]?.Outputs ?? [];
    return Object.fromEntries(described.map(({ OutputKey: key = '', OutputValue: value }) => [key, value]));
  } catch (error) {
    // CloudFormation has no type of its own for a stack that is not there.
    if (
      error instanceof Error &&
      error.name === 'ValidationError' &&
      error.message.includes('does not exist')
    ) {
      const where = endpoint ?? `Region ${await client.config.region()}`;
      throw new KeyToolError(
        'not_found',
        `There is no stack ${stackName} at ${where}: deploy it, or name its Region with --region, its account with --profile, a copy with --name.`,
        { cause: error },
      );
    }
    throw error;
  } finally {
    client.destroy();
  }
}

/** Loaded when a change is made: nothing else needs to know. */
async function callerArn(configuration: ReturnType<typeof clientConfiguration>): Promise<string> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn: arn } = await new STSClient(configuration).send(new GetCallerIdentityCommand());
  if (arn === undefined) throw new KeyToolError('failed', 'AWS does not say whose credentials these are.');
  return arn;
}

function localUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`; // one that the machine has no name for
  }
}

function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= compute());
}
