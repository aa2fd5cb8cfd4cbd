import type { Duration } from 'aws-cdk-lib';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  ApplicationLogLevel,
  Architecture,
  Function as LambdaFunction,
  type IVersion,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { bundledCode } from './bundling.ts';
import { acknowledge } from '../security-checks.ts';
import type { FunctionEntry } from './entries.ts';
import type { StageSettings } from '../settings.ts';

export interface ServiceFunctionProps {
  readonly entry: FunctionEntry;
  readonly description: string;
  readonly timeout: Duration;
  readonly environment: Readonly<Record<string, string>>;
  /** The function's permissions, besides writing its own logs and traces. */
  readonly statements: readonly PolicyStatement[];
  readonly settings: StageSettings;
}

/** A function of the service: bundle, role, log group, and the alias that API Gateway invokes. */
export class ServiceFunction extends Construct {
  readonly entry: FunctionEntry;
  readonly function: LambdaFunction;
  /** The version that serves requests. */
  readonly live: Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const { entry, description, timeout, environment, statements, settings } = props;
    const { memory, reservedConcurrency, provisionedConcurrency } = settings.functions[entry];
    this.entry = entry;

    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetentionDays,
      removalPolicy: settings.removalPolicy,
    });

    // Not AWS's managed policy, which permits writing to all log groups of the account.
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description,
    });
    this.logGroup.grantWrite(role);
    for (const statement of statements) role.addToPolicy(statement);
    acknowledge(role, {
      'AwsSolutions-IAM5[Resource::*]':
        'The X-Ray actions that send traces support no resource other than "*".',
    });

    this.function = new LambdaFunction(this, 'Function', {
      description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundledCode(entry, settings),
      handler: `${entry}.handler`,
      role,
      timeout,
      memorySize: memory,
      ...(reservedConcurrency !== undefined && { reservedConcurrentExecutions: reservedConcurrency }),
      environment: { ...environment },
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel[settings.logLevel],
      systemLogLevelV2: SystemLogLevel.WARN,
      tracing: Tracing.ACTIVE,
    });

    acknowledge(this.function, {
      'Serverless-LambdaDLQ':
        'Only API Gateway invokes the function, synchronously: there are no queued events to lose.',
    });

    this.live = new Alias(this, 'Live', {
      aliasName: 'live',
      // A cast, because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
      version: this.function.currentVersion as IVersion,
      ...(provisionedConcurrency !== undefined && {
        provisionedConcurrentExecutions: provisionedConcurrency,
      }),
    });
  }
}
