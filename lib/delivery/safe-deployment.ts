import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Alarms } from '../observability/alarms.ts';
import { acknowledge } from '../security-checks.ts';
import type { ServiceFunction } from '../compute/service-function.ts';

export interface SafeDeploymentProps {
  readonly functions: Iterable<ServiceFunction>;
  readonly alarms: Alarms;
}

/** New versions get a tenth of the requests for five minutes. An alarm in that time rolls the deployment back. */
export class SafeDeployment extends Construct {
  constructor(scope: Construct, id: string, { functions, alarms }: SafeDeploymentProps) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
      description: 'Shifts requests between versions of the functions',
    });
    role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    acknowledge(role, {
      'AwsSolutions-IAM5[Resource::*]':
        'CodeDeploy reads the state of the alarms that roll a deployment back; AWS documents no narrower scope for it.',
    });

    for (const { entry, function: lambda, live } of functions) {
      role.addToPolicy(
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
          resources: [lambda.functionArn, `${lambda.functionArn}:${live.aliasName}`],
        }),
      );
      const group = new LambdaDeploymentGroup(this, entry, {
        application,
        alias: live,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
        alarms: alarms.forDeploymentOf(entry),
        autoRollback: { failedDeployment: true, stoppedDeployment: true, deploymentInAlarm: true },
        // CDK would add AWS's managed policy, which permits moving the aliases of every function of the account.
        role: role.withoutPolicyUpdates(),
      });
      group.node.addDependency(role);
    }
  }
}
