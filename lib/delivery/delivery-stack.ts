import { CfnOutput, DefaultStackSynthesizer, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { rightsToDeploy } from './rights-to-deploy.ts';
import { titleCase } from '../title-case.ts';
import { acknowledge, inFinding } from '../security-checks.ts';
import type { StageName } from '../configuration/stages.ts';

const issuer = 'token.actions.githubusercontent.com';

export interface DeliveryStackProps extends StackProps {
  /** `owner/repository` on GitHub. */
  readonly repository: string;
  /** The first part of the names of the stacks that the roles deploy. */
  readonly name: string;
  /** The stages in this account. They share the roles of `cdk bootstrap`, so each deploy role can deploy all of them. */
  readonly stages: Iterable<StageName>;
  /** Whether the account already has GitHub's OIDC provider: it can have only one. */
  readonly providerExists: boolean;
}

/**
 * The roles of the delivery workflows, which GitHub's tokens can assume without stored credentials. An operator deploys
 * it once for each account, because a pipeline must not be able to extend its own permissions. See docs/delivery.md.
 * https://docs.github.com/en/actions/how-tos/secure-your-work/security-harden-deployments/oidc-in-aws
 */
export class DeliveryStack extends Stack {
  constructor(scope: Construct, id: string, props: DeliveryStackProps) {
    const { repository, name, stages, providerExists, ...stackProps } = props;
    const description = `Animal Store Service: roles of the workflows of ${repository}`;
    super(scope, id, { ...stackProps, description });
    const providerArn = this.#iamArn('oidc-provider', issuer);
    const provider: iam.IOidcProvider = providerExists
      ? iam.OidcProviderNative.fromOidcProviderArn(this, 'GitHub', providerArn)
      : new iam.OidcProviderNative(this, 'GitHub', {
          url: `https://${issuer}`,
          clientIds: ['sts.amazonaws.com'],
        });

    /** @param subject the last part of the token's subject. No other kind of run may assume the role. */
    const addRole = (
      roleId: string,
      subject: string,
      statements: readonly iam.PolicyStatement[],
      options: Pick<iam.RoleProps, 'description' | 'maxSessionDuration'>,
    ): iam.Role => {
      const assumedBy = new iam.OpenIdConnectPrincipal(provider, {
        StringEquals: {
          [`${issuer}:aud`]: 'sts.amazonaws.com',
          [`${issuer}:sub`]: `repo:${repository}:${subject}`,
        },
      });
      const role = new iam.Role(new Construct(this, roleId), 'Role', { assumedBy, ...options });
      for (const statement of statements) role.addToPolicy(statement);
      return role;
    };
    const allow = (action: string, ...resources: string[]) =>
      new iam.PolicyStatement({ actions: [action], resources });
    const stackArn = (stackName: string): string =>
      this.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${stackName}/*` });
    const qualifier = this.synthesizer.bootstrapQualifier ?? DefaultStackSynthesizer.DEFAULT_QUALIFIER;
    const region = inFinding(this.region, 'Region');
    const [partition, account] = [
      inFinding(this.partition, 'Partition'),
      inFinding(this.account, 'AccountId'),
    ];
    /** The finding about all IDs of a stack. */
    const idsOf = (stackName: string): string =>
      `AwsSolutions-IAM5[Resource::arn:${partition}:cloudformation:${region}:${account}:stack/${stackName}/*]`;
    const anyId = 'AWS generates the last part of the ARN of a stack.';

    for (const stage of stages) {
      const stageStack = `${name}-${stage}`;
      const statements = rightsToDeploy(this, qualifier, stageStack).map((right) => allow(...right));
      const role = addRole(`Deploy${titleCase(stage)}`, `environment:${stage}`, statements, {
        description: `Deploys ${stageStack}`,
        // `.github/actions/deploy/action.yml` asks for the same time. A change of the TLS policy can take an hour, see
        // docs/operate.md#how-long-a-deployment-takes.
        maxSessionDuration: Duration.hours(2),
      });
      const { roleArn } = role;
      acknowledge(role, {
        [idsOf(stageStack)]: anyId,
        [idsOf('CDKToolkit')]: anyId,
        'AwsSolutions-IAM5[Resource::*]':
          'The actions that read the concurrency of the account and the types of CloudFormation are for all of them.',
      });
      new CfnOutput(this, `DeployRoleArn${titleCase(stage)}`, { value: roleArn });
    }

    // The lookup role of `cdk bootstrap` could read everything in the account, including data.
    const readTemplates = [allow('cloudformation:GetTemplate', stackArn(`${name}-*`))];
    const diff = addRole('Diff', 'pull_request', readTemplates, {
      description: 'Reads the deployed templates, to compare a pull request with',
    });
    acknowledge(diff, { [idsOf(`${name}-*`)]: anyId });
    new CfnOutput(this, 'DiffRoleArn', { value: diff.roleArn });
  }

  #iamArn(resource: string, resourceName: string): string {
    return this.formatArn({ service: 'iam', region: '', resource, resourceName });
  }
}
