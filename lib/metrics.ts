import { Duration, Stack } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Plan } from '../functions/access/plans.ts';
import { type Metric as MetricName, planDimension } from '../functions/http/metrics.ts';
import { apiStageName } from './api.ts';

/** The namespace of the metrics that a stack's functions write. */
export function metricsNamespace(scope: Construct): string {
  return Stack.of(scope).stackName;
}

/** A metric that the functions count: of one plan, or of all requests. */
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
 * A metric of API Gateway for the whole stage. Its dimensions are names, not references: the deployments of the
 * functions wait for the alarms, so the alarms cannot wait for the API.
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
