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
import { type AdministeredKey, type AuditLine, findKeyById, isValid } from './records.ts';
import { realWaiting, retryCalls, type Waiting } from './retry.ts';

/** First part of the stack's name, unless the CDK app is given another. */
export const defaultStackPrefix = 'AnimalStore';

export interface KeyServiceOptions {
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
  /** Called for every change. */
  readonly onAudit?: ((line: ChangeLine) => void) | undefined;
  /** Called when something takes longer. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called after each step of a change, before the next begins. Tests stop here as a crash would. */
  readonly afterStep?: ((step: string) => void | Promise<void>) | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly clock?: (() => number) | undefined;
  readonly waiting?: Waiting | undefined;
}

/** A line of the audit trail, with the key that it is about. */
export type ChangeLine = AuditLine & { readonly stage: string; readonly keyId: string };

/** Where the keys of one stage are stored, and how to reach them. */
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
  /** Who makes changes: an ARN on AWS, a user of this machine for the local service. */
  readonly identify: () => Promise<string>;
  readonly onAudit: (line: ChangeLine) => void;
  readonly afterStep: (step: string) => void | Promise<void>;
  readonly clock: () => number;
  /** Waits until API Gateway uses a new API Gateway key everywhere. Returns at once for the local service. */
  readonly propagate: () => Promise<void>;
}

/** AWS states no time. Seconds are reported: https://stackoverflow.com/questions/42194561 */
const propagationSeconds = 30;

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
      `Stack ${stackName} lacks the outputs ${missing}: its deployment is incomplete, or of another version. Deploy it again.`,
    );
  }
  const client = DynamoDBDocumentClient.from(new DynamoDBClient(configuration), {
    // As the functions read numbers, see functions/dynamodb.ts.
    unmarshallOptions: { wrapNumbers: true },
  });
  const { data } = parsed;
  const { onProgress = () => {}, waiting = realWaiting } = options;
  const apiGateway = new APIGatewayClient({ ...configuration, maxAttempts: 1 });
  retryCalls(apiGateway, waiting, onProgress);
  return {
    stage,
    stackName,
    keyTable: { client, tableName: data.ApiKeysTableName },
    limitTable: { client, tableName: data.RateLimitsTableName },
    apiGateway,
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
    propagate: async () => {
      if (endpoint !== undefined) return;
      onProgress(`Waiting ${propagationSeconds} s for API Gateway to apply the change.`);
      await waiting.sleep(propagationSeconds * 1000);
    },
  };
}

/** The clock in whole Unix seconds. */
export function nowOf({ clock }: KeyService): number {
  return Math.floor(clock() / 1000);
}

/** The record of a key. @throws KeyToolError when there is none with this ID */
export async function requireKey(service: KeyService, keyId: string): Promise<AdministeredKey> {
  const key = await findKeyById(service.keyTable, keyId);
  if (key !== undefined) return key;
  throw new KeyToolError(
    'not_found',
    `There is no key ${keyId} in stage ${service.stage}. "list" shows all keys.`,
  );
}

/** @param participle what is to be done with the key, such as `rotated` @throws KeyToolError */
export function requireValid(service: KeyService, key: AdministeredKey, participle: string): void {
  if (isValid(key, nowOf(service))) return;
  const state = key.status === 'revoked' ? 'revoked' : 'expired';
  throw new KeyToolError('refused', `${key.keyId} is ${state}, so it cannot be ${participle}.`);
}

/** A line of the audit trail: done now, by the user of the tool. */
export async function newLine(service: KeyService, did: string, detail?: string): Promise<AuditLine> {
  return { at: nowOf(service), by: await service.identify(), did, ...(detail !== undefined && { detail }) };
}

/** Reports a change that has been written. */
export function reportLine(
  { onAudit, stage }: KeyService,
  { keyId }: { keyId: string },
  line: AuditLine,
): void {
  onAudit({ ...line, keyId, stage });
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
        `There is no stack ${stackName} at ${where}. Deploy it, or give its Region with --region, its account with --profile, or the name of a copy with --name.`,
        { cause: error },
      );
    }
    throw error;
  } finally {
    client.destroy();
  }
}

/** Loaded for changes only. */
async function callerArn(configuration: ReturnType<typeof clientConfiguration>): Promise<string> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const { Arn: arn } = await new STSClient(configuration).send(new GetCallerIdentityCommand());
  if (arn === undefined)
    throw new KeyToolError('failed', 'AWS did not return the owner of these credentials.');
  return arn;
}

function localUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}@${hostname()}`; // a user without a name
  }
}

function once<T>(compute: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= compute());
}
