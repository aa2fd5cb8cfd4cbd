import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { titleCase } from '../title-case.ts';
import { acknowledge } from '../security-checks.ts';
import type { StageName } from '../configuration/stages.ts';

const issuer = 'token.actions.githubusercontent.com';

export interface DeliveryStackProps {
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
    const { repository, name, stages, providerExists } = props;
    super(scope, id, { description: `Animal Store Service: roles of the workflows of ${repository}` });
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
      statement: iam.PolicyStatement,
      options: Pick<iam.RoleProps, 'description' | 'maxSessionDuration'>,
    ): iam.Role => {
      const assumedBy = new iam.OpenIdConnectPrincipal(provider, {
        StringEquals: {
          [`${issuer}:aud`]: 'sts.amazonaws.com',
          [`${issuer}:sub`]: `repo:${repository}:${subject}`,
        },
      });
      const role = new iam.Role(new Construct(this, roleId), 'Role', { assumedBy, ...options });
      role.addToPolicy(statement);
      return role;
    };

    for (const stage of stages) {
      // The roles of `cdk bootstrap` with its default qualifier. They have the other permissions.
      const resources = ['deploy', 'file-publishing', 'lookup'].map((part) =>
        this.#iamArn('role', `cdk-hnb659fds-${part}-role-${this.account}-${this.region}`),
      );
      const assume = new iam.PolicyStatement({ actions: ['sts:AssumeRole'], resources });
      const { roleArn } = addRole(`Deploy${titleCase(stage)}`, `environment:${stage}`, assume, {
        description: `Deploys ${name}-${stage}`,
        // As in .github/actions/deploy/action.yml. A change of the TLS policy can take an hour, see
        // docs/deploy.md#what-a-deployment-changes.
        maxSessionDuration: Duration.hours(2),
      });
      new CfnOutput(this, `DeployRoleArn${titleCase(stage)}`, { value: roleArn });
    }

    const resources = [
      this.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${name}-*/*` }),
    ];
    // Not the lookup role of `cdk bootstrap`, which can read everything in the account, including data.
    const readTemplates = new iam.PolicyStatement({ actions: ['cloudformation:GetTemplate'], resources });
    const diff = addRole('Diff', 'pull_request', readTemplates, {
      description: 'Reads the deployed templates, to compare a pull request with',
    });
    acknowledge(diff, {
      [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/${name}-*/*]`]:
        'The stacks of this service by their names, each followed by an ID that AWS generates.',
    });
    new CfnOutput(this, 'DiffRoleArn', { value: diff.roleArn });
  }

  #iamArn(resource: string, resourceName: string): string {
    return this.formatArn({ service: 'iam', region: '', resource, resourceName });
  }
}
