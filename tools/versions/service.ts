import {
  CloudFormationClient,
  paginateDescribeStackEvents,
  paginateListStackResources,
  type StackEvent,
} from '@aws-sdk/client-cloudformation';
import {
  CreateAliasCommand,
  DeleteAliasCommand,
  GetAliasCommand,
  LambdaClient,
  paginateListAliases,
  paginateListVersionsByFunction,
  UpdateAliasCommand,
} from '@aws-sdk/client-lambda';
import { z } from 'zod';
import { liveAlias } from '../../lib/operations.ts';
import { usageError } from '../command-line/errors.ts';
import { mayBeDone, retryCalls } from '../command-line/retry.ts';
import { openStack, type StackOptions } from '../command-line/stack.ts';
import { type History, historyOf, type Left } from './history.ts';

/**
 * A version that a roll back left has an alias of its own. Tags would be drift of the function, which the next deployment may
 * remove; and no deployment touches an alias that is not in the stack.
 */
const markOf = (version: number): string => `rolled-back-${version}`;
const descriptionOf = ({ to, after }: Omit<Left, 'function' | 'version'>): string =>
  `Rolled back to ${to}, after the deployment that ended ${after.toISOString()}`;
const leftPattern = /^Rolled back to (\d+), after the deployment that ended (\S+)$/;

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
  const inStack = new Map<string, number>();
  for await (const { StackResourceSummaries: resources = [] } of paginateListStackResources(
    { client: cloudFormation },
    { StackName: stackName },
  )) {
    for (const {
      ResourceType: type,
      ResourceStatus: status = '',
      PhysicalResourceId: arn = '',
    } of resources) {
      // arn:aws:lambda:REGION:ACCOUNT:function:NAME:live, or a number in place of `live`
      const [, , , , , , name, qualifier] = arn.split(':');
      if (name === undefined || status.startsWith('DELETE')) continue;
      if (type === 'AWS::Lambda::Alias' && qualifier === liveAlias) names.push(name);
      if (type === 'AWS::Lambda::Version') inStack.set(name, Number(qualifier));
    }
  }
  return Promise.all(names.toSorted().map((name) => liveFunction(lambda, name, inStack.get(name))));
}

async function liveFunction(lambda: LambdaClient, name: string, inStack: number | undefined) {
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
  const left: Left[] = [];
  let live = { number: 0, isDivided: false, revisionId: '' };
  for await (const { Aliases: page = [] } of paginateListAliases(
    { client: lambda },
    { FunctionName: name },
  )) {
    for (const alias of page) {
      const number = Number(alias.FunctionVersion);
      if (alias.Name === liveAlias) {
        const isDivided = Object.keys(alias.RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0;
        live = { number, isDivided, revisionId: alias.RevisionId ?? '' };
      }
      const [, to, after = ''] = leftPattern.exec(alias.Description ?? '') ?? [];
      if (alias.Name === markOf(number) && to !== undefined)
        left.push({ function: name, version: number, to: Number(to), after: new Date(after) });
    }
  }
  return {
    name,
    /** The version that the alias points to. */
    live: live.number,
    /** The version in the template of the last deployment: CloudFormation does not see where the alias points. */
    inStack,
    /** Whether the alias divides requests between two versions, as during a deployment. */
    isDivided: live.isDivided,
    /** The alias's, so that a change in between is noticed. */
    revisionId: live.revisionId,
    /** Newest first. */
    versions: versions.toSorted((a, b) => b.number - a.number),
    /** The versions that roll backs left. */
    left,
  };
}

/** What was live and when. CloudFormation keeps its events for 90 days. */
export async function readHistory(
  { cloudFormation, stackName }: VersionService,
  functions: readonly LiveFunction[],
): Promise<History> {
  const events: StackEvent[] = [];
  for await (const { StackEvents: page = [] } of paginateDescribeStackEvents(
    { client: cloudFormation },
    { StackName: stackName },
  ))
    events.push(...page);
  return historyOf(
    events,
    functions.flatMap(({ left }) => left),
    liveAlias,
  );
}

/** Notes that a roll back leaves a version, so that no other one returns to it. */
export async function markLeft({ lambda }: VersionService, left: Left): Promise<void> {
  const alias = {
    FunctionName: left.function,
    Name: markOf(left.version),
    FunctionVersion: String(left.version),
    Description: descriptionOf(left),
  };
  try {
    await lambda.send(new CreateAliasCommand(alias));
  } catch (error) {
    // It was left before, or the answer to this call was lost.
    if (!(error instanceof Error) || error.name !== 'ResourceConflictException') throw error;
    await lambda.send(new UpdateAliasCommand(alias));
  }
}

/** Takes the note of `markLeft` back. */
export async function unmarkLeft({ lambda }: VersionService, name: string, version: number): Promise<void> {
  await lambda.send(new DeleteAliasCommand({ FunctionName: name, Name: markOf(version) }));
}

/** Sends all requests of a function to a version. It takes effect within seconds. */
export async function moveTo(
  { lambda }: VersionService,
  { name, revisionId: RevisionId }: LiveFunction,
  version: number,
): Promise<void> {
  const alias = { FunctionName: name, Name: liveAlias };
  const target = { FunctionVersion: String(version) };
  try {
    await lambda.send(new UpdateAliasCommand({ ...alias, ...target, RevisionId }));
  } catch (error) {
    if (!mayBeDone(error)) throw error;
    // The call whose answer was lost moved it, and its repetition met the new revision.
    const { FunctionVersion: now } = await lambda.send(new GetAliasCommand(alias));
    if (now !== target.FunctionVersion) throw error;
  }
}
