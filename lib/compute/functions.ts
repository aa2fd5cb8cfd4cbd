import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { authorizerCache } from '../api/api.ts';
import { titleCase } from '../title-case.ts';
import { allowedMethods, operations, unmatchedRoute } from '../api/routes.ts';
import { ServiceFunction, type ServiceFunctionProps, type ServiceFunctions } from './service-function.ts';
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
 * The time budget of a request, in milliseconds. `answer` is `timeToAnswer` in functions/deadline.ts.
 *
 *   an operation     3,000 = limiter 1,000 + operation 1,700 + answer 300
 *   the authorizer   2,000 =                   lookup    1,700 + answer 300
 *
 * One attempt of a call gets `request`, so 1,700 is enough for two attempts without an answer.
 */
const budget = {
  operation: 3_000,
  authorizer: 2_000,
  limiter: 1_000,
  connection: 500,
  request: 750,
} as const;

/** The functions of the service, each with the least permissions. */
export class Functions extends Construct {
  readonly byEntry: ServiceFunctions;

  constructor(scope: Construct, id: string, { stage, settings, tables }: FunctionsProps) {
    super(scope, id);
    const byEntry = new Map<FunctionEntry, ServiceFunction>();
    const add = (
      entry: FunctionEntry,
      timeout: number,
      props: Pick<ServiceFunctionProps, 'description' | 'environment' | 'statements'>,
    ): void => {
      const environment = {
        STAGE: stage,
        DYNAMODB_CONNECTION_TIMEOUT_MS: String(budget.connection),
        DYNAMODB_REQUEST_TIMEOUT_MS: String(budget.request),
        ...props.environment,
      };
      const common = { entry, settings, environment, timeout: Duration.millis(timeout) };
      byEntry.set(entry, new ServiceFunction(this, titleCase(entry), { ...props, ...common }));
    };
    const limiter = {
      RATE_LIMITS_TABLE: tables.rateLimits.tableName,
      LIMITER_TIMEOUT_MS: String(budget.limiter),
      METRICS_NAMESPACE: Stack.of(this).stackName,
    };
    const countRequests = allow('UpdateItem', tables.rateLimits.tableArn);

    for (const { method, path, entry, pets, idempotent = false } of operations) {
      const { tableName, tableArn } = tables.pets;
      add(entry, budget.operation, {
        description: `${method} ${path}`,
        environment: {
          ...limiter,
          PETS_TABLE: tableName,
          ...(idempotent && { IDEMPOTENCY_TABLE: tables.idempotency.tableName }),
        },
        statements: [
          allow(pets.action, pets.index === undefined ? tableArn : `${tableArn}/index/${pets.index}`),
          countRequests,
          ...(idempotent ? [allow('PutItem', tables.idempotency.tableArn)] : []),
        ],
      });
    }
    add(unmatchedRoute, budget.operation, {
      description: 'Answers 404 and 405 for every other path and method',
      environment: { ...limiter, ALLOWED_METHODS: JSON.stringify(allowedMethods()) },
      statements: [countRequests],
    });
    add('authorizer', budget.authorizer, {
      description: 'Returns the caller and the limits of its plan',
      environment: {
        API_KEYS_TABLE: tables.apiKeys.tableName,
        AUTHORIZER_CACHE_SECONDS: String(authorizerCache.toSeconds()),
      },
      statements: [allow('GetItem', tables.apiKeys.tableArn)],
    });
    this.byEntry = byEntry;
  }
}

function allow(action: 'Query' | 'PutItem' | 'GetItem' | 'UpdateItem', resource: string): PolicyStatement {
  return new PolicyStatement({ actions: [`dynamodb:${action}`], resources: [resource] });
}
