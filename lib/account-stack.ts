import { RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { CfnAccount } from 'aws-cdk-lib/aws-apigateway';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { acknowledge } from './security-checks.ts';

const policy = 'AmazonAPIGatewayPushToCloudWatchLogs';

/**
 * What an account and Region has once for all stages: the role with which API Gateway writes logs. If a stage set it,
 * deleting that stage would stop the logs of all others. The role is retained, because other APIs may use it.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-logging.html
 */
export class AccountStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps) {
    const description = 'Animal Store Service: settings that an account and Region has once';
    super(scope, id, { ...props, description });
    const role = new Role(this, 'ApiGatewayLogs', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(`service-role/${policy}`)],
      description: 'API Gateway writes the logs of all REST APIs of this account and Region with it',
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    acknowledge(role, {
      [`AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/${policy}]`]:
        'API Gateway uses one role for all APIs of the account and checks that it may write to any log group; AWS documents this policy for it.',
    });

    const account = new CfnAccount(this, 'ApiGatewayAccount', { cloudWatchRoleArn: role.roleArn });
    account.applyRemovalPolicy(RemovalPolicy.RETAIN);
    // API Gateway checks the role's permissions when the account setting is updated.
    account.node.addDependency(role);
  }
}
