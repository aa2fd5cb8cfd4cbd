import { Duration, Stack } from 'aws-cdk-lib';
import type { IRestApi } from 'aws-cdk-lib/aws-apigateway';
import {
  AlarmStatusWidget,
  GraphWidget,
  type IAlarm,
  type IMetric,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  type Metric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { BillingMode, type ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { QueryString } from 'aws-cdk-lib/aws-logs';
import {
  type CustomMetricGroup,
  CountAxisFromZero,
  DefaultDashboardFactory,
  DynamoTableMonitoring,
  type DynamoTableMonitoringProps,
  GraphWidgetType,
  LatencyType,
  MonitoringFacade,
  type MonitoringScope,
} from 'cdk-monitoring-constructs';
import { Construct } from 'constructs';
import { planNames } from '../../functions/access/plans.ts';
import { type Metric as MetricName, metrics } from '../../functions/http/metrics.ts';
import { type Api, apiStageName } from '../api/api.ts';
import { metricsNamespace, serviceMetric, tableMetric } from './metrics.ts';
import { coldStarts, deprecatedCallsByKey, rejectionsByKey } from './saved-queries.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { FunctionEntry } from '../compute/entries.ts';
import type { Tables } from '../storage/tables.ts';

export interface DashboardsProps {
  readonly functions: ReadonlyMap<FunctionEntry, ServiceFunction>;
  readonly tables: Tables;
  readonly api: Api;
  readonly alarms: readonly IAlarm[];
}

/** Two dashboards: Business shows usage, Engineering shows health. */
export class Dashboards extends Construct {
  constructor(scope: Construct, id: string, props: DashboardsProps) {
    super(scope, id);
    this.#business(props);
    this.#engineering(props);
  }

  /** Usage by plan, rejections, new pets, and keys that call deprecated operations. */
  #business({ functions }: DashboardsProps): void {
    const monitoring = this.#dashboard('Business', Duration.days(7));
    const byPlan = (metric: MetricName, title: string): CustomMetricGroup => ({
      title,
      graphWidgetType: GraphWidgetType.STACKED_AREA,
      metrics: planNames.map((plan) => hourly(serviceMetric(this, metric, plan))),
    });
    const total = (metric: MetricName, title: string): CustomMetricGroup => ({
      title,
      graphWidgetType: GraphWidgetType.SINGLE_VALUE,
      graphWidgetSetPeriodToTimeRange: true,
      metrics: [serviceMetric(this, metric)],
    });

    monitoring.addLargeHeader('Business');
    monitoring.monitorCustom({
      humanReadableName: 'Total for the period',
      alarmFriendlyName: 'totals',
      metricGroups: [
        total(metrics.admitted, 'Requests served'),
        total(metrics.created, 'New pets'),
        total(metrics.rejected, 'Requests rejected'),
        total(metrics.suspended, 'Requests of suspended keys'),
      ],
    });
    monitoring.monitorCustom({
      humanReadableName: 'By plan, per hour',
      alarmFriendlyName: 'plans',
      metricGroups: [
        byPlan(metrics.admitted, 'Requests served'),
        byPlan(metrics.created, 'New pets'),
        byPlan(metrics.rejected, 'Requests rejected'),
        byPlan(metrics.suspended, 'Requests of suspended keys'),
        byPlan(metrics.deprecated, 'Calls of deprecated operations'),
      ],
    });
    const operations = [...functions.values()].filter(({ entry }) => entry !== 'authorizer');
    monitoring.addWidget(table('Keys with the most rejections', operations, rejectionsByKey));
    monitoring.addWidget(table('Keys that call deprecated operations', operations, deprecatedCallsByKey));
  }

  /** Latency, errors, cold starts, throttles and DynamoDB. */
  #engineering({ functions, tables, api, alarms }: DashboardsProps): void {
    const monitoring = this.#dashboard('Engineering', Duration.hours(8));
    monitoring.addLargeHeader('Engineering');
    if (alarms.length > 0) {
      monitoring.addWidget(
        new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 4 }),
      );
    }
    // Casts, because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
    monitoring.monitorApiGateway({
      api: api.restApi as IRestApi,
      apiStage: apiStageName,
      humanReadableName: 'API',
      alarmFriendlyName: 'api',
      latencyTypesToRender: [LatencyType.P50, LatencyType.P99],
    });
    monitoring.monitorCustom({
      humanReadableName: 'Limiter and data',
      alarmFriendlyName: 'service',
      metricGroups: [
        {
          title: 'Requests admitted without being counted',
          metrics: [serviceMetric(this, metrics.failOpen)],
        },
        { title: 'Pet ID collisions', metrics: [serviceMetric(this, metrics.collision)] },
        { title: 'Creations replayed', metrics: [serviceMetric(this, metrics.replayed)] },
        { title: 'Malformed items', metrics: [serviceMetric(this, metrics.malformed)] },
      ],
    });
    for (const { entry, function: lambda } of functions.values()) {
      monitoring.monitorLambdaFunction({
        lambdaFunction: lambda,
        humanReadableName: entry,
        alarmFriendlyName: entry,
        isIterator: false,
      });
    }
    const operations = [...functions.values()].filter(({ entry }) => entry !== 'authorizer');
    monitoring.addWidget(table('Cold starts', operations, coldStarts));
    for (const [title, name] of Object.entries({
      Pets: 'pets',
      ApiKeys: 'apiKeys',
      RateLimits: 'rateLimits',
      Idempotency: 'idempotency',
    } as const)) {
      const props = {
        table: tables[name] as ITable,
        billingMode: BillingMode.PAY_PER_REQUEST,
        humanReadableName: title,
        alarmFriendlyName: title,
      };
      const errors = tableMetric(tables, name, 'SystemErrors', 'System errors');
      monitoring.addSegment(new TableMonitoring(monitoring, props, errors));
    }
    monitoring.monitorDynamoTableGlobalSecondaryIndex({
      table: tables.pets as ITable,
      globalSecondaryIndexName: 'byStatus',
      humanReadableName: 'Pets, byStatus',
      alarmFriendlyName: 'Pets-byStatus',
    });
  }

  /** Dashboards are visible in every Region of the account, so their names contain the stack and its Region. */
  #dashboard(name: string, range: Duration): MonitoringFacade {
    const { region, stackName } = Stack.of(this);
    return new MonitoringFacade(this, name, {
      metricFactoryDefaults: { namespace: metricsNamespace(this) },
      alarmFactoryDefaults: { actionsEnabled: false, alarmNamePrefix: stackName },
      dashboardFactory: new DefaultDashboardFactory(this, `${name}Dashboard`, {
        dashboardNamePrefix: `${stackName}-${region}-${name}`,
        detailDashboardRange: range,
      }),
    });
  }
}

/** The library adds the errors of nine operations without filling missing data, so its graph is always empty. */
class TableMonitoring extends DynamoTableMonitoring {
  readonly #errors: IMetric;

  constructor(scope: MonitoringScope, props: DynamoTableMonitoringProps, errors: IMetric) {
    super(scope, props);
    this.#errors = errors;
  }

  override createErrorsWidget(width: number, height: number): GraphWidget {
    return new GraphWidget({
      width,
      height,
      title: 'Errors',
      left: [this.#errors],
      leftYAxis: CountAxisFromZero,
    });
  }
}

function hourly(metric: Metric): Metric {
  return metric.with({ period: Duration.hours(1) });
}

function table(title: string, functions: readonly ServiceFunction[], query: QueryString): IWidget {
  return new LogQueryWidget({
    title,
    logGroupNames: functions.map(({ logGroup }) => logGroup.logGroupName),
    queryString: query.toString(),
    view: LogQueryVisualizationType.TABLE,
    width: 12,
    height: 6,
  });
}
