import {
  type ILambdaDeploymentConfig,
  LambdaApplication,
  LambdaDeploymentConfig,
  LambdaDeploymentGroup,
  TimeBasedCanaryTrafficRouting,
} from 'aws-cdk-lib/aws-codedeploy';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { ArnFormat, Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { CfnAlias } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { acknowledge, ofThisAccount } from '../security-checks.ts';
import type { ServiceFunctions } from '../compute/service-function.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';
import type { Tables } from '../storage/tables.ts';
import { PreTrafficHook } from './pre-traffic-hook.ts';

export interface SafeDeploymentProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly functions: ServiceFunctions;
  readonly tables: Tables['byName'];
  /** The alarms that roll a canary back. */
  readonly alarms: readonly IAlarm[];
}

/**
 * New versions are checked without traffic first. In a canary they then get a share of the requests for some minutes. A failed
 * check, or an alarm in that time, rolls the deployment back.
 *
 * All groups watch the same alarms: CloudFormation fails when the deployment of one group stops, and cannot undo those of
 * others while they still shift requests ("A conflicting deployment is in progress", serverless-application-model issue 291).
 * The setting `deployment` changes only how requests shift, not which resources exist: an urgent repair needs them unchanged.
 */
export class SafeDeployment extends Construct {
  constructor(scope: Construct, id: string, props: SafeDeploymentProps) {
    super(scope, id);
    const { functions, alarms, settings } = props;
    const stack = Stack.of(this);
    const canary = settings.deployment === 'canary';
    const config = this.#canary(settings);
    const application = new LambdaApplication(this, 'Application');
    const role = new Role(this, 'Role', {
      assumedBy: ofThisAccount('codedeploy.amazonaws.com', stack),
      description: 'Shifts requests between versions of the functions',
    });
    role.addToPolicy(new PolicyStatement({ actions: ['cloudwatch:DescribeAlarms'], resources: ['*'] }));
    acknowledge(role, {
      'AwsSolutions-IAM5[Resource::*]':
        'CodeDeploy reads the state of the alarms that roll a deployment back; AWS documents no narrower scope for it.',
    });
    const deploymentGroupArns = [...functions.keys()].map((entry) =>
      stack.formatArn({
        service: 'codedeploy',
        resource: 'deploymentgroup',
        resourceName: `${application.applicationName}/${entry}`,
        arnFormat: ArnFormat.COLON_RESOURCE_NAME,
      }),
    );
    const hook = new PreTrafficHook(this, 'Hook', { ...props, deploymentGroupArns });
    role.addToPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [hook.function.functionArn] }),
    );

    for (const { entry, function: lambda, live } of functions.values()) {
      role.addToPolicy(
        new PolicyStatement({
          actions: ['lambda:GetAlias', 'lambda:UpdateAlias', 'lambda:GetProvisionedConcurrencyConfig'],
          resources: [lambda.functionArn, `${lambda.functionArn}:${live.aliasName}`],
        }),
      );
      const group = new LambdaDeploymentGroup(this, entry, {
        application,
        deploymentGroupName: entry,
        alias: live,
        deploymentConfig: canary ? config : LambdaDeploymentConfig.ALL_AT_ONCE,
        // Every group has it, because CodeDeploy calls only the hooks of functions with a new version.
        preHook: hook.function,
        alarms: canary ? [...alarms] : [],
        autoRollback: { failedDeployment: true, stoppedDeployment: true, deploymentInAlarm: canary },
        // CDK would add AWS's managed policy, which permits moving the aliases of every function of the account.
        role: role.withoutPolicyUpdates(),
      });
      group.node.addDependency(role);
      // The hook has to know the new version, and the group how requests shift, before the alias changes.
      (live.node.defaultChild as CfnAlias).node.addDependency(hook.function, group);
    }
  }
  /** CodeDeploy has a configuration for the default. */
  #canary({ canary: { percent, minutes } }: StageSettings): ILambdaDeploymentConfig {
    if (percent === 10 && minutes === 5) return LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES;
    const interval = Duration.minutes(minutes);
    const trafficRouting = new TimeBasedCanaryTrafficRouting({ interval, percentage: percent });
    return new LambdaDeploymentConfig(this, 'Canary', { trafficRouting });
  }
}
