import { Duration, Stack } from 'aws-cdk-lib';
import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { authorizerCache } from '../api/api.ts';
import { titleCase } from '../title-case.ts';
import { allowedMethods, type Operation, operations, unmatchedRoute } from '../api/routes.ts';
import { ServiceFunction } from './service-function.ts';
import type { FunctionEntry } from './entries.ts';
import type { StageName } from '../stages.ts';
import type { StageSettings } from '../settings.ts';
import type { Tables } from '../storage/tables.ts';

export interface FunctionsProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly tables: Tables;
}

/** Far below the 29 s of API Gateway: a client that waits longer than this has gone. */
const operationTimeout = Duration.seconds(10);
/** One read of one item. */
const authorizerTimeout = Duration.seconds(5);

/** The functions of the service, each with what it needs and not a permission more. */
export class Functions extends Construct {
  readonly byEntry: ReadonlyMap<FunctionEntry, ServiceFunction>;

  constructor(scope: Construct, id: string, { stage, settings, tables }: FunctionsProps) {
    super(scope, id);
    const countRequests = allow('UpdateItem', tables.rateLimits.tableArn);
    const common = {
      STAGE: stage,
      RATE_LIMITS_TABLE: tables.rateLimits.tableName,
      LIMITER_TIMEOUT_MS: String(settings.limiterTimeout),
      METRICS_NAMESPACE: Stack.of(this).stackName,
    };

    const ofOperation = ({ method, path, entry, pets }: Operation): ServiceFunction =>
      new ServiceFunction(this, titleCase(entry), {
        entry,
        description: `${method} ${path}`,
        timeout: operationTimeout,
        environment: { ...common, PETS_TABLE: tables.pets.tableName },
        statements: [allow(pets.action, arnOf(tables.pets, pets.index)), countRequests],
        settings,
      });
    const ofUnmatchedRoute = new ServiceFunction(this, titleCase(unmatchedRoute), {
      entry: unmatchedRoute,
      description: 'Every path and method that no operation serves',
      timeout: operationTimeout,
      environment: { ...common, ALLOWED_METHODS: JSON.stringify(allowedMethods()) },
      statements: [countRequests],
      settings,
    });
    const ofAuthorizer = new ServiceFunction(this, titleCase('authorizer'), {
      entry: 'authorizer',
      description: 'Who calls, and what their plan allows',
      timeout: authorizerTimeout,
      environment: {
        STAGE: stage,
        API_KEYS_TABLE: tables.apiKeys.tableName,
        AUTHORIZER_CACHE_SECONDS: String(authorizerCache.toSeconds()),
      },
      statements: [allow('GetItem', tables.apiKeys.tableArn)],
      settings,
    });

    this.byEntry = new Map(
      [...operations.map(ofOperation), ofUnmatchedRoute, ofAuthorizer].map((each) => [each.entry, each]),
    );
  }
}

function allow(action: 'Query' | 'PutItem' | 'GetItem' | 'UpdateItem', resource: string): PolicyStatement {
  return new PolicyStatement({ actions: [`dynamodb:${action}`], resources: [resource] });
}

function arnOf(table: TableV2, index: string | undefined): string {
  return index === undefined ? table.tableArn : `${table.tableArn}/index/${index}`;
}
