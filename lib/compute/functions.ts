import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import {
  type FunctionEntry,
  functionEntries,
  operations,
  unmatchedRoute,
} from '../../functions/operations.ts';
import { type TableName, tableVariables } from '../../functions/tables.ts';
import type { StageSettings } from '../configuration/settings.ts';
import type { StageName } from '../configuration/stages.ts';
import type { Tables } from '../storage/tables.ts';
import { tableAccess } from '../table-access.ts';
import { titleCase } from '../title-case.ts';
import { ServiceFunction, type ServiceFunctions } from './service-function.ts';

export interface FunctionsProps {
  readonly stage: StageName;
  readonly settings: StageSettings;
  readonly tables: Tables['byName'];
}

/** How long API Gateway caches the authorizer's result: the longest time until a changed plan takes effect. */
export const authorizerCache = Duration.seconds(60);

/**
 * The time budget of a request, in milliseconds. `answer` is `timeToAnswer` in functions/runtime/deadline.ts.
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
    const add = (entry: FunctionEntry): ServiceFunction => {
      const access = tableAccess(entry);
      const timeout = entry === 'authorizer' ? budget.authorizer : budget.operation;
      return new ServiceFunction(this, titleCase(entry), {
        entry,
        settings,
        description: descriptionOf(entry),
        timeout: Duration.millis(timeout),
        environment: variablesOf(entry, stage, Stack.of(this).stackName, (table) => tables[table].tableName),
        statements: access.map(({ table, action, indexes }) => {
          const { tableArn } = tables[table];
          const resources = indexes?.map((index) => `${tableArn}/index/${index}`) ?? [tableArn];
          return new PolicyStatement({ actions: [`dynamodb:${action}`], resources });
        }),
      });
    };
    this.byEntry = new Map(functionEntries.map((entry) => [entry, add(entry)]));
  }
}

/** The environment variables of a function. */
export function variablesOf(
  entry: FunctionEntry,
  stage: StageName,
  metricsNamespace: string,
  nameOf: (table: TableName) => string,
): Readonly<Record<string, string>> {
  return {
    STAGE: stage,
    DYNAMODB_CONNECTION_TIMEOUT_MS: String(budget.connection),
    DYNAMODB_REQUEST_TIMEOUT_MS: String(budget.request),
    ...Object.fromEntries(tableAccess(entry).map(({ table }) => [tableVariables[table], nameOf(table)])),
    ...(entry === 'authorizer'
      ? { AUTHORIZER_CACHE_SECONDS: String(authorizerCache.toSeconds()) }
      : { LIMITER_TIMEOUT_MS: String(budget.limiter), METRICS_NAMESPACE: metricsNamespace }),
  };
}

function descriptionOf(entry: FunctionEntry): string {
  if (entry === 'authorizer') return 'Returns the caller and the limits of its plan';
  if (entry === unmatchedRoute) return 'Answers 404 and 405 for every other path and method';
  const { method, path } = operations.find((each) => each.entry === entry)!;
  return `${method} ${path}`;
}
