import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnAccount } from 'aws-cdk-lib/aws-apigateway';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { acknowledge } from './security-checks.ts';

/**
 * What there is once in an account and Region, whatever number of stages and copies live in it: the role with which API
 * Gateway writes logs. A stage that set it would take the logs of all others with it when it goes. Stages depend on
 * this stack, so deploying one deploys it as well.
 *
 * It stays when the stack is deleted, because other APIs of the account may have come to rely on it.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-logging.html
 */
export class AccountStack extends Stack {
  constructor(scope: Construct, id: string) {
    super(scope, id, { description: 'Animal Store Service: settings that an account and Region has once' });
    const role = new Role(this, 'ApiGatewayLogs', {
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      managedPolicies: [
        ManagedPolicy.fromAwsManagedPolicyName('service-role/AmazonAPIGatewayPushToCloudWatchLogs'),
      ],
      description: 'API Gateway writes the logs of all REST APIs of this account and Region with it',
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    acknowledge(role, {
      'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]':
        'API Gateway takes one role for all APIs of the account and checks that it may write to any log group; AWS names this policy for it.',
    });

    const account = new CfnAccount(this, 'ApiGatewayAccount', { cloudWatchRoleArn: role.roleArn });
    account.applyRemovalPolicy(RemovalPolicy.RETAIN);
    // API Gateway checks the role's permissions when it is told of it.
    account.node.addDependency(role);
  }
}
