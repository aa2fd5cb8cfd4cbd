import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { CheckedFunction } from '../../functions/delivery/checks.ts';
import { tableAccess } from '../operations.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';
import type { Tables } from '../storage/tables.ts';
import { acknowledge } from '../security-checks.ts';

const project = join(import.meta.dirname, '..', '..');

export interface PreTrafficHookProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly tables: Tables;
  readonly checked: ServiceFunction;
  /** ARN of the deployment group that waits for the hook. */
  readonly deploymentGroupArn: string;
}

/**
 * Checks the new version of a function before it gets a request: functions/delivery/pre-traffic-hook.ts. It invokes the
 * version itself, because the alias still points to the previous one.
 */
export class PreTrafficHook extends Construct {
  readonly function: lambda.Function;

  constructor(scope: Construct, id: string, props: PreTrafficHookProps) {
    super(scope, id);
    const { stage, settings, tables, checked, deploymentGroupArn } = props;
    const version = checked.function.currentVersion.functionArn;
    const { logRetentionDays: retention, removalPolicy } = settings;
    const logGroup = new LogGroup(this, 'Logs', { retention, removalPolicy });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `Checks new versions of ${checked.entry}`,
    });
    logGroup.grantWrite(role);
    const allow = (action: string, resource: string) =>
      role.addToPolicy(new PolicyStatement({ actions: [action], resources: [resource] }));
    allow('lambda:InvokeFunction', version);
    allow('codedeploy:PutLifecycleEventHookExecutionStatus', deploymentGroupArn);
    const idempotent = tableAccess(checked.entry).some(({ table }) => table === 'idempotency');
    if (idempotent) allow('dynamodb:PutItem', tables.idempotency.tableArn);
    this.function = new NodejsFunction(this, 'Function', {
      description: `Checks a new version of ${checked.entry} before it gets a request`,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      entry: join(project, 'functions', 'delivery', 'pre-traffic-hook.ts'),
      projectRoot: project,
      depsLockFilePath: join(project, 'package-lock.json'),
      // The AWS SDK is that of the runtime.
      bundling: {
        logLevel: LogLevel.WARNING,
        format: OutputFormat.ESM,
        target: 'node24',
        mainFields: ['module', 'main'],
      },
      // CDK would permit the report by the group's name, and the group has to wait for the hook.
      role: role.withoutPolicyUpdates(),
      timeout: Duration.minutes(1),
      memorySize: 512,
      environment: {
        STAGE: stage,
        CHECKED_FUNCTION: checked.entry satisfies CheckedFunction,
        CHECKED_VERSION: version,
        ...(idempotent && { IDEMPOTENCY_TABLE: tables.idempotency.tableName }),
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
