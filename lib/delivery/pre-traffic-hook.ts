import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { tableVariables } from '../../functions/tables.ts';
import type { ServiceFunctions } from '../compute/service-function.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';
import type { Tables } from '../storage/tables.ts';
import { acknowledge, ofThisAccount } from '../security-checks.ts';

const project = join(import.meta.dirname, '..', '..');

export interface PreTrafficHookProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly tables: Tables['byName'];
  readonly functions: ServiceFunctions;
  /** ARNs of the deployment groups that wait for the hook. */
  readonly deploymentGroupArns: readonly string[];
}

/**
 * Checks the new versions of all functions before one gets a request: functions/delivery/check-versions.ts. It invokes the
 * versions themselves, because the aliases still point to the previous ones.
 */
export class PreTrafficHook extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: PreTrafficHookProps) {
    super(scope, id);
    const { stage, settings, tables, functions, deploymentGroupArns } = props;
    const stack = Stack.of(this);
    const { logRetentionDays: retention, removalPolicy } = settings;
    const logGroup = new LogGroup(this, 'Logs', { retention, removalPolicy });
    const role = new Role(this, 'Role', {
      assumedBy: ofThisAccount('lambda.amazonaws.com', stack),
      description: 'Checks new versions of the functions',
    });
    logGroup.grantWrite(role);
    const allow = (action: string, resources: readonly string[]) =>
      role.addToPolicy(new PolicyStatement({ actions: [action], resources: [...resources] }));
    // It may invoke every version, because a permission that names the new one would be seconds old, and IAM is eventually consistent.
    const arns = [...functions.values()].map(({ function: { functionArn } }) => functionArn);
    allow(
      'lambda:InvokeFunction',
      arns.map((arn) => `${arn}:*`),
    );
    allow('codedeploy:PutLifecycleEventHookExecutionStatus', deploymentGroupArns);
    allow('dynamodb:PutItem', [tables.idempotency.tableArn]);
    for (const {
      function: { node },
    } of functions.values()) {
      const logicalId = stack.getLogicalId(node.defaultChild as lambda.CfnFunction);
      acknowledge(role, {
        [`AwsSolutions-IAM5[Resource::<${logicalId}.Arn>:*]`]:
          'The hook checks whatever version of this function is new.',
      });
    }
    const versions = Object.fromEntries(
      [...functions.values()].map(({ entry, function: { currentVersion } }) => [
        entry,
        currentVersion.functionArn,
      ]),
    );
    this.function = new NodejsFunction(this, 'Function', {
      description: 'Checks new versions of the functions before they get a request',
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      entry: join(project, 'functions', 'delivery', 'check-versions.ts'),
      projectRoot: project,
      depsLockFilePath: join(project, 'package-lock.json'),
      // lib/bundler would leave out of the AWS SDK what requests do not need, such as finding credentials. The hook has the
      // runtime's SDK: its start is not timed, and it uses two more services.
      bundling: {
        logLevel: LogLevel.WARNING,
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
      },
      // CDK would permit the report by the group's name, and the group has to wait for the hook.
      role: role.withoutPolicyUpdates(),
      // This is longer than the checks and the report can take, so that it always reports: functions/delivery/check-versions.ts.
      timeout: Duration.minutes(4),
      memorySize: 512,
      environment: {
        STAGE: stage,
        [tableVariables.idempotency]: tables.idempotency.tableName,
        CHECKED_VERSIONS: stack.toJsonString(versions),
      },
      logGroup,
      loggingFormat: lambda.LoggingFormat.JSON,
      tracing: lambda.Tracing.DISABLED,
    });
    this.function.node.addDependency(role);
    acknowledge(this.function, {
      'Serverless-LambdaDLQ': 'CodeDeploy calls the function and waits for its report.',
      'Serverless-LambdaTracing': 'It runs once for each deployment, and serves no request.',
    });
  }
}
