import { Duration, Stack } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Operation } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import type { Plan } from '../../functions/access/plans.ts';
import { type Metric as MetricName, planDimension } from '../../functions/http/metrics.ts';
import { apiStageName } from '../api/api.ts';
import type { Tables } from '../storage/tables.ts';

/** The namespace of the metrics that a stack's functions write. */
export function metricsNamespace(scope: Construct): string {
  return Stack.of(scope).stackName;
}

/** A metric that the functions write: of one plan, or of all requests. */
export function serviceMetric(scope: Construct, metricName: MetricName, plan?: Plan): Metric {
  return new Metric({
    namespace: metricsNamespace(scope),
    metricName,
    ...(plan !== undefined && { dimensionsMap: { [planDimension]: plan } }),
    statistic: 'Sum',
    period: Duration.minutes(1),
    label: plan ?? metricName,
  });
}

/**
 * A metric of API Gateway for the whole stage. Its dimensions are names and not references, because the deployments of
 * the functions depend on the alarms, and the API depends on the functions.
 *
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
 */
export function apiMetric(
  scope: Construct,
  metricName: 'Count' | '5XXError' | 'Latency',
  statistic: string,
  period = Duration.minutes(1),
): Metric {
  return new Metric({
    namespace: 'AWS/ApiGateway',
    metricName,
    dimensionsMap: { ApiName: Stack.of(scope).stackName, Stage: apiStageName },
    statistic,
    period,
  });
}

export type TableName = 'pets' | 'apiKeys' | 'rateLimits' | 'idempotency';

/** The operations that functions call on each table. DynamoDB counts a query of an index for its table. */
const operationsOn = {
  pets: [Operation.GET_ITEM, Operation.PUT_ITEM, Operation.QUERY, Operation.TRANSACT_WRITE_ITEMS],
  apiKeys: [Operation.GET_ITEM],
  rateLimits: [Operation.UPDATE_ITEM],
  idempotency: [Operation.TRANSACT_WRITE_ITEMS],
} as const satisfies Record<TableName, readonly Operation[]>;

/**
 * The sum of a DynamoDB metric over the functions' operations on a table, per minute.
 *
 * DynamoDB writes it per operation, and no zeros. Without FILL the sum has no value as soon as one operation has none.
 * And an alarm on the plain metric would never end: alarms on DynamoDB's metrics ignore missing data in every setting.
 *
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function tableMetric(
  tables: Tables,
  name: TableName,
  metricName: 'ThrottledRequests' | 'SystemErrors',
  label: string,
): MathExpression {
  const period = Duration.minutes(1);
  const { tableName } = tables[name];
  const counts = operationsOn[name].map(
    (operation) =>
      [
        operation.replace(/^[A-Z]/, (first) => first.toLowerCase()),
        new Metric({
          namespace: 'AWS/DynamoDB',
          metricName,
          dimensionsMap: { TableName: tableName, Operation: operation },
          statistic: 'Sum',
          period,
        }),
      ] as const,
  );
  return new MathExpression({
    expression: counts.map(([id]) => `FILL(${id}, 0)`).join(' + '),
    usingMetrics: Object.fromEntries(counts),
    period,
    label,
  });
}
