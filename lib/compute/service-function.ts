import { type Duration, Stack } from 'aws-cdk-lib';
import { type PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { functionCode } from './function-code.ts';
import { acknowledge, ofThisAccount } from '../security-checks.ts';
import { type FunctionEntry, requestEntries } from '../../functions/operations.ts';
import { memoryOf, type StageSettings } from '../configuration/settings.ts';

export interface ServiceFunctionProps {
  readonly entry: FunctionEntry;
  readonly description: string;
  readonly timeout: Duration;
  readonly environment: Readonly<Record<string, string>>;
  /** The function's permissions, besides writing its own logs and traces. */
  readonly statements: readonly PolicyStatement[];
  readonly settings: StageSettings;
}

/** Has an entry for every FunctionEntry. */
export type ServiceFunctions = ReadonlyMap<FunctionEntry, ServiceFunction>;

/** The functions that serve requests: all but the authorizer. */
export function requestFunctions(functions: ServiceFunctions): ServiceFunction[] {
  return requestEntries.map((entry) => functions.get(entry)!);
}

/** A function of the service: bundle, role, log group, and the alias that API Gateway invokes. */
export class ServiceFunction extends Construct {
  readonly entry: FunctionEntry;
  readonly function: lambda.Function;
  /** The version that serves requests. */
  readonly live: lambda.Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    const { entry, description, timeout, environment, statements, settings } = props;
    const { reservedConcurrency, provisionedConcurrency } = settings.functions[entry] ?? {};
    this.entry = entry;

    const { logRetentionDays: retention, removalPolicy } = settings;
    this.logGroup = new LogGroup(this, 'Logs', { retention, removalPolicy });

    // AWS's managed policy would permit writing to all log groups of the account.
    const assumedBy = ofThisAccount('lambda.amazonaws.com', Stack.of(this));
    const role = new Role(this, 'Role', { assumedBy, description });
    this.logGroup.grantWrite(role);
    for (const statement of statements) role.addToPolicy(statement);
    acknowledge(role, {
      'AwsSolutions-IAM5[Resource::*]':
        'The X-Ray actions that send traces support no resource other than "*".',
    });

    this.function = new lambda.Function(this, 'Function', {
      description,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      code: functionCode(this, entry, settings.minify),
      handler: `${entry}.handler`,
      role,
      timeout,
      memorySize: memoryOf(settings, entry),
      ...(reservedConcurrency !== undefined && { reservedConcurrentExecutions: reservedConcurrency }),
      environment: { ...environment },
      logGroup: this.logGroup,
      loggingFormat: lambda.LoggingFormat.JSON,
      applicationLogLevelV2: lambda.ApplicationLogLevel[settings.logLevel],
      systemLogLevelV2: lambda.SystemLogLevel.WARN,
      tracing: lambda.Tracing.ACTIVE,
    });
    acknowledge(this.function, {
      'Serverless-LambdaDLQ':
        'API Gateway and the checks of a deployment invoke the function synchronously: there are no queued events to lose.',
    });

    this.live = new lambda.Alias(this, 'Live', {
      aliasName: 'live',
      // The cast is needed because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
      version: this.function.currentVersion as lambda.IVersion,
      ...(provisionedConcurrency !== undefined && {
        provisionedConcurrentExecutions: provisionedConcurrency,
      }),
    });
  }
}
