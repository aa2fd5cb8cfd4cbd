import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import {
  type IOidcProvider,
  OidcProviderNative,
  OpenIdConnectPrincipal,
  PolicyStatement,
  Role,
} from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { titleCase } from '../title-case.ts';
import { acknowledge } from '../security-checks.ts';
import type { StageName } from '../stages.ts';

const issuer = 'token.actions.githubusercontent.com';
/** The default qualifier of `cdk bootstrap`. */
const bootstrapQualifier = 'hnb659fds';
/** The same as role-duration-seconds in .github/actions/deploy/action.yml. */
const deploySession = Duration.hours(2);

interface DeliveryRoleProps {
  readonly provider: IOidcProvider;
  /** `owner/repository` on GitHub. */
  readonly repository: string;
  /** The last part of the token's subject: `environment:prod`, `pull_request`. No other run may assume the role. */
  readonly subject: string;
  readonly description: string;
  readonly statements: readonly PolicyStatement[];
  /** How long a run may keep the role. Default: one hour. */
  readonly maxSessionDuration?: Duration;
}

/**
 * A role that one kind of workflow run of a repository can assume with GitHub's token, without stored credentials.
 *
 * https://docs.github.com/en/actions/how-tos/secure-your-work/security-harden-deployments/oidc-in-aws
 */
class DeliveryRole extends Construct {
  readonly role: Role;

  constructor(scope: Construct, id: string, props: DeliveryRoleProps) {
    super(scope, id);
    this.role = new Role(this, 'Role', {
      description: props.description,
      ...(props.maxSessionDuration && { maxSessionDuration: props.maxSessionDuration }),
      assumedBy: new OpenIdConnectPrincipal(props.provider, {
        StringEquals: {
          [`${issuer}:aud`]: 'sts.amazonaws.com',
          [`${issuer}:sub`]: `repo:${props.repository}:${props.subject}`,
        },
      }),
    });
    for (const statement of props.statements) this.role.addToPolicy(statement);
  }
}

export interface DeliveryStackProps {
  /** `owner/repository` on GitHub. */
  readonly repository: string;
  /** The first part of the names of the stacks that the roles deploy. */
  readonly name: string;
  /**
   * The stages in this account. A role that deploys one of them can deploy all, because they share the roles of
   * `cdk bootstrap`. Stages that must be isolated need separate accounts.
   */
  readonly stages: Iterable<StageName>;
  /** Whether the account already has GitHub's OIDC provider: it can have only one. */
  readonly providerExists: boolean;
}

/**
 * The roles of the delivery workflows. An operator deploys it once for each account, because a pipeline must not be able to
 * extend its own permissions. See docs/delivery.md.
 */
export class DeliveryStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { repository, name, stages, providerExists }: DeliveryStackProps,
  ) {
    super(scope, id, { description: `Animal Store Service: roles of the workflows of ${repository}` });
    const provider = providerExists
      ? OidcProviderNative.fromOidcProviderArn(
          this,
          'GitHub',
          this.formatArn({ service: 'iam', region: '', resource: 'oidc-provider', resourceName: issuer }),
        )
      : new OidcProviderNative(this, 'GitHub', {
          url: `https://${issuer}`,
          clientIds: ['sts.amazonaws.com'],
        });

    for (const stage of stages) {
      const { role } = new DeliveryRole(this, `Deploy${titleCase(stage)}`, {
        provider,
        repository,
        subject: `environment:${stage}`,
        description: `Deploys ${name}-${stage}`,
        // A change of the TLS policy can take an hour, see docs/deploy.md#slow-changes.
        maxSessionDuration: deploySession,
        // The roles of `cdk bootstrap` have the other permissions.
        statements: [
          new PolicyStatement({
            actions: ['sts:AssumeRole'],
            resources: ['deploy', 'file-publishing', 'lookup'].map((part) => this.#bootstrapRole(part)),
          }),
        ],
      });
      this.#output(`DeployRoleArn${titleCase(stage)}`, role);
    }

    const stacks = this.formatArn({
      service: 'cloudformation',
      resource: 'stack',
      resourceName: `${name}-*/*`,
    });
    const diff = new DeliveryRole(this, 'Diff', {
      provider,
      repository,
      subject: 'pull_request',
      description: 'Reads the deployed templates, to compare a pull request with',
      // Not the lookup role of `cdk bootstrap`, which can read everything in the account, including data.
      statements: [new PolicyStatement({ actions: ['cloudformation:GetTemplate'], resources: [stacks] })],
    });
    acknowledge(diff, {
      [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/${name}-*/*]`]:
        'The stacks of this service by their names, each followed by an ID that AWS generates.',
    });
    this.#output('DiffRoleArn', diff.role);
  }

  #bootstrapRole(part: string): string {
    const { account, region } = this;
    return this.formatArn({
      service: 'iam',
      region: '',
      resource: 'role',
      resourceName: `cdk-${bootstrapQualifier}-${part}-role-${account}-${region}`,
    });
  }

  #output(name: string, { roleArn }: Role): void {
    new CfnOutput(this, name, { value: roleArn });
  }
}
