import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway';
import {
  CloudFormationClient,
  DescribeTypeCommand,
  GetTemplateCommand,
  paginateListStackResources,
  type Stack,
  TypeNotFoundException,
} from '@aws-sdk/client-cloudformation';
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { describeStack } from '../command-line/describe-stack.ts';
import type { Caller, Concurrency, StackState } from './preconditions.ts';
import type { Deployment } from './deployment.ts';
import type { Throttle } from '../../../lib/configuration/settings.ts';

/** A stack with what CloudFormation has made for it. */
export interface DeployedStack {
  readonly arn: string;
  readonly resources: readonly {
    readonly logicalId: string;
    readonly type: string;
    /** A name or an ID. */
    readonly physicalId: string;
  }[];
}

/** What the account of the credentials answers, in the Region of the stage. */
export function openAccount({ settings, profile, toolkitStackName = 'CDKToolkit' }: Deployment) {
  const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
  const region = settings.region ?? AWS_REGION ?? AWS_DEFAULT_REGION;
  const configuration = {
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
    maxAttempts: 2,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
  };
  const cloudFormation = new CloudFormationClient(configuration);
  return {
    async caller(): Promise<Caller> {
      const sts = new STSClient(configuration);
      const { Account: account = '', Arn: arn = '' } = await sts.send(new GetCallerIdentityCommand());
      return { account, region: await sts.config.region(), arn };
    },

    async stack(name: string): Promise<StackState> {
      const found = await describeStack(cloudFormation, name);
      return (
        found && {
          status: found.StackStatus!,
          isProtected: found.EnableTerminationProtection ?? false,
          version: outputOf(found, 'Commit'),
        }
      );
    },

    /** The template of a stack, as it was deployed. */
    async template(name: string): Promise<unknown> {
      const command = new GetTemplateCommand({ StackName: name, TemplateStage: 'Original' });
      return JSON.parse((await cloudFormation.send(command)).TemplateBody ?? '');
    },

    async resources(name: string): Promise<DeployedStack | undefined> {
      const found = await describeStack(cloudFormation, name);
      if (found === undefined) return undefined;
      const pages = paginateListStackResources({ client: cloudFormation }, { StackName: name });
      const summaries = (await Array.fromAsync(pages)).flatMap((page) => page.StackResourceSummaries ?? []);
      return {
        arn: found.StackId!,
        resources: summaries.map((each) => ({
          logicalId: each.LogicalResourceId!,
          type: each.ResourceType!,
          physicalId: each.PhysicalResourceId ?? '',
        })),
      };
    },

    /** The version of the stack of `cdk bootstrap`. */
    async bootstrap(): Promise<number | undefined> {
      const found = await describeStack(cloudFormation, toolkitStackName);
      return found && Number(outputOf(found, 'BootstrapVersion'));
    },

    /** Whether CloudFormation has a type of resources in the Region. */
    async hasType(type: string): Promise<boolean> {
      try {
        await cloudFormation.send(new DescribeTypeCommand({ Type: 'RESOURCE', TypeName: type }));
        return true;
      } catch (error) {
        if (error instanceof TypeNotFoundException) return false;
        throw error;
      }
    },

    async gateway(): Promise<{ readonly role: string | undefined; readonly throttle: Throttle }> {
      const answer = await new APIGatewayClient(configuration).send(new GetAccountCommand());
      const { rateLimit, burstLimit } = answer.throttleSettings ?? {};
      if (rateLimit === undefined || burstLimit === undefined) throw new Error('the answer has no throttle');
      return {
        role: answer.cloudwatchRoleArn,
        throttle: { requestsPerSecond: rateLimit, burst: burstLimit },
      };
    },

    async concurrency(): Promise<Concurrency> {
      const { AccountLimit: answer } = await new LambdaClient(configuration).send(
        new GetAccountSettingsCommand(),
      );
      const { ConcurrentExecutions: limit, UnreservedConcurrentExecutions: unreserved } = answer ?? {};
      if (limit === undefined || unreserved === undefined) throw new Error('the answer has no limit');
      return { limit, unreserved };
    },
  };
}

function outputOf({ Outputs = [] }: Stack, name: string): string | undefined {
  return Outputs.find(({ OutputKey: key }) => key === name)?.OutputValue;
}

export type Account = ReturnType<typeof openAccount>;
