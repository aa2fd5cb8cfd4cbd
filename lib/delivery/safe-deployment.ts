import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ArnFormat, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { CfnAlias } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Alarms } from '../observability/alarms.ts';
import { acknowledge } from '../security-checks.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';
import type { Tables } from '../storage/tables.ts';
import { PreTrafficHook } from './pre-traffic-hook.ts';

export interface SafeDeploymentProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly functions: Iterable<ServiceFunction>;
  readonly tables: Tables;
  readonly alarms: Alarms;
}

/**
 * A new version is checked without traffic first, then gets a tenth of the requests for five minutes. A failed check, or an
 * alarm in that time, rolls the deployment back.
 */
export class SafeDeployment extends Construct {
  constructor(scope: Construct, id: string, props: SafeDeploymentProps) {
    super(scope, id);
    const { functions, alarms } = props;
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

    for (const checked of functions) {
      const { entry, function: lambda, live } = checked;
      const deploymentGroupArn = Stack.of(this).formatArn({
        service: 'codedeploy',
        resource: 'deploymentgroup',
        resourceName: `${application.applicationName}/${entry}`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      });
      const hook = new PreTrafficHook(this, `${entry}-hook`, { ...props, checked, deploymentGroupArn });
      role.addToPolicy(
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
          resources: [lambda.functionArn, `${lambda.functionArn}:${live.aliasName}`],
        }),
      );
      role.addToPolicy(
        new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [hook.function.functionArn] }),
      );
      const group = new LambdaDeploymentGroup(this, entry, {
        application,
        deploymentGroupName: entry,
        alias: live,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
        preHook: hook.function,
        alarms: alarms.forDeploymentOf(entry),
        autoRollback: { failedDeployment: true, stoppedDeployment: true, deploymentInAlarm: true },
        // CDK would add AWS's managed policy, which permits moving the aliases of every function of the account.
        role: role.withoutPolicyUpdates(),
      });
      group.node.addDependency(role);
      // The hook has to know the new version before CodeDeploy calls it.
      (live.node.defaultChild as CfnAlias).node.addDependency(hook.function);
    }
  }
}
