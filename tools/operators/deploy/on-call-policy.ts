import { DefaultStackSynthesizer } from 'aws-cdk-lib';
import { z } from 'zod';
import { type Right, rightsToDeploy } from '../../../lib/delivery/rights-to-deploy.ts';
import { explain, ToolError } from '../command-line/errors.ts';
import { type DeployedStack, openAccount } from './account.ts';
import { deployCommand } from './command.ts';
import { readDeployment } from './deployment.ts';

const help = (stage: string) => `Usage: npm run --silent on-call-policy -- ${stage} [OPTIONS]

Prints the IAM policy for the engineer on call: what docs/runbook.md asks for, in this stage only. The stage must be deployed.

Options:
  -c, --context name=NAME   name of the copy
      --profile NAME        profile of the AWS configuration (default: AWS_PROFILE)
  -h, --help                show this help`;

/** `npm run --silent on-call-policy -- prod` */
export const printOnCallPolicy = deployCommand(help, async (name, args) => {
  const deployment = readDeployment(name, args);
  const { stackName, context } = deployment;
  const stack = await openAccount(deployment)
    .resources(stackName)
    .catch((error: unknown) => {
      throw explain(error, deployment);
    });
  if (stack === undefined)
    throw new ToolError(
      'not_found',
      `Stack ${stackName} does not exist in the account and Region of the credentials. Deploy it first, or give the name of the copy.`,
    );
  const qualifier = z.string().optional().parse(context['@aws-cdk/core:bootstrapQualifier']);
  console.log(JSON.stringify(onCallPolicy(stack, stackName, qualifier), null, 2));
  return 0;
});

/** Reads, for which most services know no narrower resource: logs, alarms, traces, deployments, costs and quotas. */
const reads = [
  'acm:DescribeCertificate',
  'budgets:ViewBudget',
  'ce:Get*',
  'cloudformation:Describe*',
  'cloudformation:ListStackResources',
  'cloudwatch:Describe*',
  'cloudwatch:Get*',
  'cloudwatch:List*',
  'codedeploy:BatchGet*',
  'codedeploy:Get*',
  'codedeploy:List*',
  'logs:Describe*',
  'logs:FilterLogEvents',
  'logs:Get*',
  'logs:StartQuery',
  'logs:StopQuery',
  'servicequotas:Get*',
  'servicequotas:List*',
  'xray:BatchGetTraces',
  'xray:Get*',
];

/** The policy, with the names that CloudFormation has made: it cuts them where the name of the stack is long. */
export function onCallPolicy(
  { arn, resources }: DeployedStack,
  stackName: string,
  qualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER,
) {
  const [, partition = '', , region = '', account = ''] = arn.split(':');
  const idsOf = (type: string, start = ''): string[] =>
    resources
      .filter(({ logicalId, type: of }) => of === type && logicalId.startsWith(start))
      .map(({ physicalId }) => physicalId);
  const arnsOf = (service: string, kind: string, ids: readonly string[], rest = ''): string[] =>
    ids.map((id) => `arn:${partition}:${service}:${region}:${account}:${kind}${id}${rest}`);
  const tables = ['TablesApiKeys', 'TablesRateLimits'].flatMap((start) =>
    idsOf('AWS::DynamoDB::GlobalTable', start),
  );
  const gateway = `arn:${partition}:apigateway:${region}::`;
  const functions = idsOf('AWS::Lambda::Function');
  const allow = (Action: readonly string[], Resource: readonly string[]) => ({
    Effect: 'Allow',
    Action,
    Resource,
  });
  return {
    Version: '2012-10-17',
    Statement: [
      allow(reads, ['*']),
      ...rightsToDeploy({ partition, region, account }, qualifier, stackName).map(([action, ...of]: Right) =>
        allow([action], of),
      ),
      // These stop a canary, and reset an alias.
      allow(
        ['codedeploy:StopDeployment'],
        arnsOf('codedeploy', 'deploymentgroup:', idsOf('AWS::CodeDeploy::Application'), '/*'),
      ),
      allow(
        ['lambda:GetAlias', 'lambda:UpdateAlias'],
        [...arnsOf('lambda', 'function:', functions), ...arnsOf('lambda', 'function:', functions, ':live')],
      ),
      // These find, suspend, resume and revoke keys.
      allow(
        [
          'dynamodb:BatchGetItem',
          'dynamodb:GetItem',
          'dynamodb:PutItem',
          'dynamodb:Query',
          'dynamodb:Scan',
          'dynamodb:UpdateItem',
        ],
        [...arnsOf('dynamodb', 'table/', tables), ...arnsOf('dynamodb', 'table/', tables, '/index/*')],
      ),
      allow(
        ['apigateway:DELETE'],
        [
          `${gateway}/apikeys/*`,
          ...idsOf('AWS::ApiGateway::RestApi').map(
            (id) => `${gateway}/restapis/${id}/stages/*/cache/authorizers`,
          ),
        ],
      ),
      allow(
        ['apigateway:GET'],
        idsOf('AWS::ApiGateway::UsagePlan').map((id) => `${gateway}/usageplans/${id}/usage`),
      ),
    ],
  };
}
