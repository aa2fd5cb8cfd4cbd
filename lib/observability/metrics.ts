import { Duration, Stack } from 'aws-cdk-lib';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Plan } from '../../functions/access/plans.ts';
import { type MetricName, planDimension, versionDimension } from '../../functions/http/metrics.ts';
import { apiStageName } from '../api/api.ts';
import { functionEntries } from '../../functions/operations.ts';
import type { TableName } from '../../functions/tables.ts';
import type { Tables } from '../storage/tables.ts';
import { tableAccess } from '../table-access.ts';

const statistic = 'Sum';
const period = Duration.minutes(1);

/** A metric that the functions write: of one plan, or of all requests. */
export function serviceMetric(scope: Construct, metricName: MetricName, plan?: Plan): Metric {
  const dimensions = plan !== undefined && { dimensionsMap: { [planDimension]: plan } };
  const namespace = Stack.of(scope).stackName;
  return new Metric({ namespace, metricName, ...dimensions, statistic, period, label: plan ?? metricName });
}

/** A metric that one version of a function writes. */
export function versionMetric(scope: Construct, metricName: MetricName, version: string): Metric {
  const dimensionsMap = { [versionDimension]: version };
  return new Metric({ namespace: Stack.of(scope).stackName, metricName, dimensionsMap, statistic, period });
}

/**
 * A metric of API Gateway for the whole stage. Its dimensions are names and not references, because the deployments of
 * the functions depend on the alarms, and the API depends on the functions.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-metrics-and-dimensions.html
 */
export function apiMetric(
  scope: Construct,
  metricName: 'Count' | '4XXError' | '5XXError' | 'Latency',
): Metric {
  const dimensionsMap = { ApiName: Stack.of(scope).stackName, Stage: apiStageName };
  return new Metric({ namespace: 'AWS/ApiGateway', metricName, dimensionsMap, statistic, period });
}

/** The calls of the functions to a table. DynamoDB counts a query of an index for its table. */
function callsTo(name: TableName): readonly string[] {
  const accesses = functionEntries.flatMap((entry) => tableAccess(entry));
  const calls = accesses.flatMap(({ table, calls: made }) => (table === name ? made : []));
  return [...new Set(calls)].toSorted();
}

/**
 * The sum of a DynamoDB metric over the functions' calls to a table, per minute. DynamoDB writes it per operation,
 * and no zeros, so the sum needs FILL. Whether FILL makes zeros of a metric that was never published is not known
 * (docs/aws-checks.md#alarms-have-data). The alarm does not depend on it: a sum of which one operand is missing has a value
 * (compiler-explorer/infra 1661, applied on 2025-06-10), and without any value there is nothing to report.
 * An alarm on the plain metric would never end: alarms on DynamoDB's metrics ignore missing data in every setting.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
 */
export function tableMetric(
  tables: Tables['byName'],
  name: TableName,
  metricName: 'ThrottledRequests' | 'SystemErrors',
  label: string,
): MathExpression {
  const counts = callsTo(name).map((Operation) => {
    const dimensionsMap = { TableName: tables[name].tableName, Operation };
    const count = new Metric({ namespace: 'AWS/DynamoDB', metricName, dimensionsMap, statistic, period });
    return [Operation.charAt(0).toLowerCase() + Operation.slice(1), count] as const;
  });
  const expression = counts.map(([id]) => `FILL(${id}, 0)`).join(' + ');
  return new MathExpression({ expression, usingMetrics: Object.fromEntries(counts), period, label });
}
