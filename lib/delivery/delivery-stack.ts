import { CfnOutput, Stack } from 'aws-cdk-lib';
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
/** The qualifier of `cdk bootstrap`, unless it was told another one. */
const bootstrapQualifier = 'hnb659fds';

interface DeliveryRoleProps {
  readonly provider: IOidcProvider;
  /** `owner/repository` on GitHub. */
  readonly repository: string;
  /** What the workflow runs for: `environment:prod`, `pull_request`. Nothing else of the repository gets in. */
  readonly subject: string;
  readonly description: string;
  readonly statements: readonly PolicyStatement[];
}

/**
 * A role that one kind of workflow run of one repository can take on, with GitHub's word for who it is and no stored
 * credentials.
 *
 * https://docs.github.com/en/actions/how-tos/secure-your-work/security-harden-deployments/oidc-in-aws
 */
class DeliveryRole extends Construct {
  readonly role: Role;

  constructor(scope: Construct, id: string, props: DeliveryRoleProps) {
    super(scope, id);
    this.role = new Role(this, 'Role', {
      description: props.description,
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
  /** The first part of the names of the stacks that the roles are for. */
  readonly name: string;
  /**
   * The stages that live in this account. A role that deploys one can deploy all that share its account, because they
   * share the roles of `cdk bootstrap`: what must be kept apart needs accounts of its own.
   */
  readonly stages: Iterable<StageName>;
  /** Whether the account trusts GitHub's tokens already: an account can do so once only. */
  readonly providerExists: boolean;
}

/**
 * The roles of the delivery workflows. It is deployed by hand, once for each account, by somebody who may create roles:
 * a pipeline must not be able to widen its own rights. See docs/deploy.md.
 */
export class DeliveryStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { repository, name, stages, providerExists }: DeliveryStackProps,
  ) {
    super(scope, id, { description: `Animal Store Service: what the workflows of ${repository} may do` });
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
        // Everything else is done by the roles of `cdk bootstrap`, each of which can do its own part only.
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
      description: 'Reads the deployed templates, for a pull request to be compared with',
      // Not the look-up role of `cdk bootstrap`, which reads everything in the account, data included.
      statements: [new PolicyStatement({ actions: ['cloudformation:GetTemplate'], resources: [stacks] })],
    });
    acknowledge(diff, {
      [`AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:cloudformation:<AWS::Region>:<AWS::AccountId>:stack/${name}-*/*]`]:
        'The stacks of this service by their names; what follows a name is an id that AWS makes up.',
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
