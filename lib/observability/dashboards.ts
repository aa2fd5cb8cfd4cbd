import { Duration, Stack } from 'aws-cdk-lib';
import type { IRestApi } from 'aws-cdk-lib/aws-apigateway';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { BillingMode, type ITable } from 'aws-cdk-lib/aws-dynamodb';
import { QueryString } from 'aws-cdk-lib/aws-logs';
import * as monitoring from 'cdk-monitoring-constructs';
import { Construct } from 'constructs';
import { planNames } from '../../functions/access/plans.ts';
import { type MetricName, metrics } from '../../functions/http/metrics.ts';
import { type Api, apiStageName } from '../api/api.ts';
import { serviceMetric, tableMetric } from './metrics.ts';
import { errorsQuery } from './saved-queries.ts';
import type { ServiceFunctions } from '../compute/service-function.ts';
import { operations } from '../../functions/operations.ts';
import { type TableName, tableNames } from '../../functions/tables.ts';
import type { Tables } from '../storage/tables.ts';
import { titleCase } from '../title-case.ts';

export interface DashboardsProps {
  readonly functions: ServiceFunctions;
  readonly tables: Tables['byName'];
  readonly api: Api;
  readonly alarms: readonly cloudwatch.IAlarm[];
}

const usage = [
  [metrics.admitted, 'Requests served'],
  [metrics.created, 'New pets'],
  [metrics.rejected, 'Requests rejected'],
  [metrics.suspended, 'Requests of suspended keys'],
] as const;

/** Two dashboards: Business shows usage, Engineering shows health. */
export class Dashboards extends Construct {
  constructor(scope: Construct, id: string, props: DashboardsProps) {
    super(scope, id);
    this.#business();
    this.#engineering(props);
  }

  /**
   * Usage by plan, rejections, new pets and calls of deprecated operations. No table from the logs: each look would read
   * those of a week. The saved queries have the keys.
   */
  #business(): void {
    const business = this.#dashboard('Business', Duration.days(7));
    business.monitorCustom({
      humanReadableName: 'Total for the period',
      alarmFriendlyName: 'totals',
      metricGroups: usage.map(([metric, title]) => ({
        title,
        graphWidgetType: monitoring.GraphWidgetType.SINGLE_VALUE,
        graphWidgetSetPeriodToTimeRange: true,
        metrics: [serviceMetric(this, metric)],
      })),
    });
    const hourly = (metric: MetricName) =>
      planNames.map((plan) => serviceMetric(this, metric, plan).with({ period: Duration.hours(1) }));
    business.monitorCustom({
      humanReadableName: 'By plan, per hour',
      alarmFriendlyName: 'plans',
      metricGroups: [...usage, [metrics.deprecated, 'Calls of deprecated operations'] as const].map(
        ([metric, title]) => ({
          title,
          graphWidgetType: monitoring.GraphWidgetType.STACKED_AREA,
          metrics: hourly(metric),
        }),
      ),
    });
  }

  /** Latency, errors, throttles and DynamoDB. */
  #engineering({ functions, tables, api, alarms }: DashboardsProps): void {
    const engineering = this.#dashboard('Engineering', Duration.hours(8));
    if (alarms.length > 0) {
      engineering.addWidget(
        new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: 24, height: 4 }),
      );
    }
    // The casts here and below are needed because CDK's classes and interfaces differ under exactOptionalPropertyTypes.
    engineering.monitorApiGateway({
      api: api.restApi as IRestApi,
      apiStage: apiStageName,
      humanReadableName: 'API',
      alarmFriendlyName: 'api',
      latencyTypesToRender: [monitoring.LatencyType.P50, monitoring.LatencyType.P99],
    });
    engineering.monitorCustom({
      humanReadableName: 'Limiter and data',
      alarmFriendlyName: 'service',
      metricGroups: Object.entries({
        'Requests admitted without being counted': metrics.failOpen,
        'Pet ID collisions': metrics.collision,
        'Creations replayed': metrics.replayed,
        'Malformed items': metrics.malformed,
      }).map(([title, metric]) => ({ title, metrics: [serviceMetric(this, metric)] })),
    });
    for (const { entry, function: lambdaFunction } of functions.values()) {
      engineering.monitorLambdaFunction({
        lambdaFunction,
        humanReadableName: entry,
        alarmFriendlyName: entry,
        isIterator: false,
      });
    }
    engineering.addWidget(
      new cloudwatch.LogQueryWidget({
        title: 'Errors',
        logGroupNames: [...functions.values()].map(({ logGroup }) => logGroup.logGroupName),
        queryString: new QueryString(errorsQuery).toString(),
        view: cloudwatch.LogQueryVisualizationType.TABLE,
        width: 24,
        height: 6,
      }),
    );
    for (const name of tableNames) {
      const props = {
        table: tables[name] as ITable,
        billingMode: BillingMode.PAY_PER_REQUEST,
        humanReadableName: titleCase(name),
        alarmFriendlyName: titleCase(name),
      };
      const errors = tableMetric(tables, name, 'SystemErrors', 'System errors');
      engineering.addSegment(new TableMonitoring(engineering, props, errors));
    }
    for (const name of tableNames) {
      for (const index of indexesRead(name)) {
        engineering.monitorDynamoTableGlobalSecondaryIndex({
          table: tables[name] as ITable,
          globalSecondaryIndexName: index,
          humanReadableName: `${titleCase(name)}, ${index}`,
          alarmFriendlyName: `${titleCase(name)}-${index}`,
        });
      }
    }
  }

  /** Dashboards are visible in every Region of the account, so their names contain the stack and its Region. */
  #dashboard(name: string, range: Duration): monitoring.MonitoringFacade {
    const { region, stackName } = Stack.of(this);
    const dashboard = new monitoring.MonitoringFacade(this, name, {
      metricFactoryDefaults: { namespace: stackName },
      alarmFactoryDefaults: { actionsEnabled: false, alarmNamePrefix: stackName },
      dashboardFactory: new monitoring.DefaultDashboardFactory(this, `${name}Dashboard`, {
        dashboardNamePrefix: `${stackName}-${region}-${name}`,
        detailDashboardRange: range,
      }),
    });
    dashboard.addLargeHeader(name);
    return dashboard;
  }
}

/** The indexes of a table that requests read. */
function indexesRead(name: TableName): ReadonlySet<string> {
  return new Set(operations.flatMap(({ data }) => (data.table === name ? (data.indexes ?? []) : [])));
}

/** The library adds the errors of nine operations without filling missing data, so its graph is always empty. */
class TableMonitoring extends monitoring.DynamoTableMonitoring {
  readonly #errors: cloudwatch.IMetric;

  constructor(
    scope: monitoring.MonitoringScope,
    props: monitoring.DynamoTableMonitoringProps,
    errors: cloudwatch.IMetric,
  ) {
    super(scope, props);
    this.#errors = errors;
  }

  override createErrorsWidget(width: number, height: number): cloudwatch.GraphWidget {
    const leftYAxis = monitoring.CountAxisFromZero;
    return new cloudwatch.GraphWidget({ width, height, title: 'Errors', left: [this.#errors], leftYAxis });
  }
}
