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

/**
 * The time budget of a request, in milliseconds: if DynamoDB hangs, a client gets 503 within 3 seconds. `answer` is
 * `timeToAnswer` in functions/deadline.ts, and the operation and the lookup get the rest of the time-out.
 *
 *   an operation     3,000 = limiter 1,000 + operation 1,700 + answer 300
 *   the authorizer   2,000 =                   lookup    1,700 + answer 300
 *
 * One attempt of a call gets `request`, so 1,700 is enough for two attempts without an answer. Calls that fail sooner are
 * retried within the same budget, with at most four attempts.
 */
const budget = {
  operation: 3_000,
  authorizer: 2_000,
  limiter: 1_000,
  connection: 500,
  request: 750,
} as const;

/** DynamoDB Local on a busy laptop can take seconds to answer, so the time-outs of the local stage are longer. */
const localFactor = 5;

/** The functions of the service, each with the least permissions. */
export class Functions extends Construct {
  readonly byEntry: ReadonlyMap<FunctionEntry, ServiceFunction>;

  constructor(scope: Construct, id: string, { stage, settings, tables }: FunctionsProps) {
    super(scope, id);
    const factor = stage === 'local' ? localFactor : 1;
    const timeoutOf = (milliseconds: number): Duration => Duration.millis(milliseconds * factor);
    const dynamoDbTimeouts = {
      DYNAMODB_CONNECTION_TIMEOUT_MS: String(budget.connection * factor),
      DYNAMODB_REQUEST_TIMEOUT_MS: String(budget.request * factor),
    };
    const countRequests = allow('UpdateItem', tables.rateLimits.tableArn);
    const common = {
      STAGE: stage,
      RATE_LIMITS_TABLE: tables.rateLimits.tableName,
      ...dynamoDbTimeouts,
      LIMITER_TIMEOUT_MS: String(budget.limiter * factor),
      METRICS_NAMESPACE: Stack.of(this).stackName,
    };

    const operationFunction = ({
      method,
      path,
      entry,
      pets,
      idempotent = false,
    }: Operation): ServiceFunction =>
      new ServiceFunction(this, titleCase(entry), {
        entry,
        description: `${method} ${path}`,
        timeout: timeoutOf(budget.operation),
        environment: {
          ...common,
          PETS_TABLE: tables.pets.tableName,
          ...(idempotent && { IDEMPOTENCY_TABLE: tables.idempotency.tableName }),
        },
        statements: [
          allow(pets.action, arnOf(tables.pets, pets.index)),
          countRequests,
          ...(idempotent ? [allow('PutItem', tables.idempotency.tableArn)] : []),
        ],
        settings,
      });
    const unmatchedRouteFunction = new ServiceFunction(this, titleCase(unmatchedRoute), {
      entry: unmatchedRoute,
      description: 'Answers 404 and 405 for every other path and method',
      timeout: timeoutOf(budget.operation),
      environment: { ...common, ALLOWED_METHODS: JSON.stringify(allowedMethods()) },
      statements: [countRequests],
      settings,
    });
    const authorizerFunction = new ServiceFunction(this, titleCase('authorizer'), {
      entry: 'authorizer',
      description: 'Returns the caller and the limits of its plan',
      timeout: timeoutOf(budget.authorizer),
      environment: {
        STAGE: stage,
        ...dynamoDbTimeouts,
        API_KEYS_TABLE: tables.apiKeys.tableName,
        AUTHORIZER_CACHE_SECONDS: String(authorizerCache.toSeconds()),
      },
      statements: [allow('GetItem', tables.apiKeys.tableArn)],
      settings,
    });

    this.byEntry = new Map(
      [...operations.map(operationFunction), unmatchedRouteFunction, authorizerFunction].map((each) => [
        each.entry,
        each,
      ]),
    );
  }
}

function allow(action: 'Query' | 'PutItem' | 'GetItem' | 'UpdateItem', resource: string): PolicyStatement {
  return new PolicyStatement({ actions: [`dynamodb:${action}`], resources: [resource] });
}

function arnOf(table: TableV2, index: string | undefined): string {
  return index === undefined ? table.tableArn : `${table.tableArn}/index/${index}`;
}
