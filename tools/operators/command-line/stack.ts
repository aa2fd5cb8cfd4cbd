import { hostname, userInfo } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { loadSharedConfigFiles } from '@smithy/core/config';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { AuditLine, ReportedChange } from './change.ts';
import { describeStack } from './describe-stack.ts';
import { type Target, ToolError, usageError } from './errors.ts';
import { stackNameOf } from './project-file.ts';
import { retryCalls } from './retry.ts';

/** How a tool reports progress, and what tests replace. */
export interface Hooks {
  readonly onChange?: (change: ReportedChange) => void;
  /** Called when something takes longer, and for each malformed record. */
  readonly notify?: (message: string) => void;
  /** Milliseconds since the Unix epoch. */
  readonly clock?: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
}

export type StackOptions = Target & { readonly stackName?: string } & Hooks;

/**
 * Finds the resources of a stage in the outputs of its stack.
 *
 * @throws ToolError if the stack does not exist
 */
export async function openStack({
  stage,
  endpoint,
  credentials = { accessKeyId: 'unknown', secretAccessKey: 'unknown', sessionToken: 'unknown' },
  region,
  profile,
  stackName = stackNameOf(stage),
  onChange = () => {},
  notify = () => {},
  clock = Date.now,
  sleep = setTimeout,
}: StackOptions) {
  if (endpoint === undefined && profile !== undefined) await expectProfile(profile);
  // A network that swallows packets must not stop the tool for good.
  const requestHandler = new NodeHttpHandler({
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    throwOnRequestTimeout: true,
  });
  const configuration = {
    ...(endpoint
      ? { endpoint, region: 'us-east-1', credentials }
      : { ...(region && { region }), ...(profile && { profile }) }),
    requestHandler,
    maxAttempts: 1,
  };
  const cloudFormation = retryCalls(new CloudFormationClient(configuration), { notify, sleep });
  const outputs = await readOutputs(cloudFormation, stackName, endpoint);
  /** Loads the client of STS for changes only. */
  const callerArn = async () => {
    const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
    const sts = retryCalls(new STSClient(configuration), { notify, sleep });
    return (await sts.send(new GetCallerIdentityCommand())).Arn ?? 'unknown';
  };
  let callerPromise: Promise<string> | undefined;
  /** Who makes changes: an ARN on AWS, a user of this machine for the local service. */
  const caller = () => (callerPromise ??= endpoint ? localUser() : callerArn());
  /** Whole Unix seconds. */
  const now = () => Math.floor(clock() / 1000);
  return {
    stage,
    stackName,
    isLocal: endpoint !== undefined,
    /** The configuration of the clients of AWS services, which need `retryCalls`. */
    configuration,
    /** All of the stack, of whatever version it is. */
    outputs,
    /** @throws ToolError if the stack lacks it. So a command asks for those that it uses, when it uses them */
    output: (name: string) => {
      const value = outputs[name];
      if (value !== undefined) return value;
      throw new ToolError(
        'failed',
        `Stack ${stackName} lacks the output ${name}: its deployment is incomplete, or of another version. Deploy it again.`,
      );
    },
    now,
    clock,
    /** A line of an audit trail, of now. */
    auditLine: async (did: string, detail?: string): Promise<AuditLine> => ({
      at: now(),
      by: await caller(),
      did,
      detail,
    }),
    /** Reports a change that was made. */
    report: (about: ReportedChange['about'], line: AuditLine) => onChange({ ...line, about, stage }),
    notify,
    sleep,
    /** Ends the connections that wait for further calls. */
    close: () => requestHandler.destroy(),
  };
}

export function documentClient(client: DynamoDBClient): DynamoDBDocumentClient {
  return DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true },
    // functions/dynamodb/connection.ts reads numbers in the same way.
    unmarshallOptions: { wrapNumbers: true },
  });
}

/** The SDK only says that there are no credentials. @throws ToolError */
async function expectProfile(profile: string): Promise<void> {
  const { configFile, credentialsFile } = await loadSharedConfigFiles();
  const names = Object.keys({ ...configFile, ...credentialsFile });
  if (names.includes(profile)) return;
  throw usageError(
    `The AWS configuration has no profile "${profile}". It has ${names.length > 0 ? names.join(', ') : 'none'}.`,
  );
}

async function readOutputs(
  client: CloudFormationClient,
  stackName: string,
  endpoint: string | undefined,
): Promise<Readonly<Partial<Record<string, string>>>> {
  const stack = await describeStack(client, stackName);
  if (stack === undefined)
    throw new ToolError(
      'not_found',
      `Stack ${stackName} does not exist at ${endpoint ?? `Region ${await client.config.region()}`}. Deploy it, or give its Region with --region, its account with --profile, or the name of a copy with --name.`,
    );
  return Object.fromEntries(
    (stack.Outputs ?? []).map(({ OutputKey: key = '', OutputValue: value = '' }) => [key, value]),
  );
}

async function localUser(): Promise<string> {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `user ${process.getuid?.()}@${hostname()}`; // The user has no name.
  }
}
