import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import {
  GetAliasCommand,
  LambdaClient,
  paginateListVersionsByFunction,
  UpdateAliasCommand,
} from '@aws-sdk/client-lambda';
import { z } from 'zod';
import { usageError } from '../operator/errors.ts';
import { retryCalls } from '../operator/retry.ts';
import { openStack, type StackOptions } from '../operator/stack.ts';

/** The alias that API Gateway calls (lib/compute/service-function.ts). */
const aliasName = 'live';

/** The functions of one stage, and how to reach them. */
export type VersionService = Awaited<ReturnType<typeof openVersionService>>;

/** @throws ToolError if the stack does not exist, or is the local one */
export async function openVersionService(options: StackOptions) {
  if (options.stage === 'local') throw usageError('The local service has no versions. Restart it instead.');
  const { configuration, ...stack } = await openStack(options, z.object({}));
  return {
    ...stack,
    cloudFormation: retryCalls(new CloudFormationClient(configuration), stack),
    lambda: retryCalls(new LambdaClient(configuration), stack),
  };
}

/** A function behind the alias. */
export type LiveFunction = Awaited<ReturnType<typeof liveFunction>>;

/** All functions of the stack that have the alias, by name. */
export async function liveFunctions({
  cloudFormation,
  lambda,
  stackName,
}: VersionService): Promise<LiveFunction[]> {
  const names: string[] = [];
  for await (const { StackResourceSummaries: resources = [] } of paginateListStackResources(
    { client: cloudFormation },
    { StackName: stackName },
  )) {
    for (const { ResourceType: type, PhysicalResourceId: arn = '' } of resources) {
      // arn:aws:lambda:REGION:ACCOUNT:function:NAME:live
      const [, , , , , , name, alias] = arn.split(':');
      if (type === 'AWS::Lambda::Alias' && name !== undefined && alias === aliasName) names.push(name);
    }
  }
  return Promise.all(names.toSorted().map((name) => liveFunction(lambda, name)));
}

async function liveFunction(lambda: LambdaClient, name: string) {
  const alias = await lambda.send(new GetAliasCommand({ FunctionName: name, Name: aliasName }));
  const versions: { readonly number: number; readonly published: Date }[] = [];
  for await (const { Versions: page = [] } of paginateListVersionsByFunction(
    { client: lambda },
    { FunctionName: name },
  )) {
    for (const { Version: version = '', LastModified: published = '' } of page) {
      // `2026-11-22T12:00:00.000+0000`
      if (/^\d+$/.test(version))
        versions.push({ number: Number(version), published: new Date(published.replace(/\+0000$/, 'Z')) });
    }
  }
  return {
    name,
    /** The version that the alias points to. */
    live: Number(alias.FunctionVersion),
    /** Whether the alias divides requests between two versions, as during a deployment. */
    isDivided: Object.keys(alias.RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0,
    /** The alias's, so that a change in between is noticed. */
    revisionId: alias.RevisionId,
    /** Newest first. */
    versions: versions.toSorted((a, b) => b.number - a.number),
  };
}

/** Sends all requests of a function to a version. It takes effect within seconds. */
export async function moveTo(
  { lambda }: VersionService,
  { name, revisionId: RevisionId }: LiveFunction,
  version: number,
): Promise<void> {
  const alias = { FunctionName: name, Name: aliasName, RevisionId };
  await lambda.send(new UpdateAliasCommand({ ...alias, FunctionVersion: String(version) }));
}
