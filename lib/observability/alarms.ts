import { Duration, Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IAlarm,
  type IMetric,
  MathExpression,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { metrics } from '../../functions/http/metrics.ts';
import { apiMetric, serviceMetric, tableMetric } from './metrics.ts';
import { acknowledge } from '../security-checks.ts';
import type { ServiceFunction } from '../compute/service-function.ts';
import type { FunctionEntry } from '../compute/entries.ts';
import type { Tables } from '../storage/tables.ts';

/** A condition that an operator must react to. */
interface AlarmDefinition {
  /** The last part of the alarm's name. */
  readonly id: string;
  /** Keeps the logical ID of an alarm that was renamed. Default: the alarm's ID. */
  readonly constructId?: string;
  /** The section of docs/runbook.md. Default: the one with the alarm's ID. */
  readonly runbook?: string;
  readonly summary: string;
  readonly metric: IMetric;
  /** The threshold: a datapoint above it is breaching. */
  readonly above: number;
  /** How many of the last periods must breach: `[2, 5]` is two of five. */
  readonly datapoints: readonly [above: number, of: number];
}

export interface AlarmsProps {
  readonly functions: ReadonlyMap<FunctionEntry, ServiceFunction>;
  readonly tables: Tables;
  readonly notificationAddress?: string | undefined;
}

/** The alarms of a stage, and the topic that they notify. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly all: readonly Alarm[];
  readonly #byId: ReadonlyMap<string, Alarm>;

  constructor(scope: Construct, id: string, { functions, tables, notificationAddress }: AlarmsProps) {
    super(scope, id);
    this.topic = this.#topic(notificationAddress);
    const definitions = [
      ...this.#apiAlarms(),
      ...[...functions.values()].flatMap(functionAlarms),
      ...tableAlarms(tables),
      ...this.#serviceAlarms(),
    ];
    this.#byId = new Map(definitions.map((definition) => [definition.id, this.#alarm(definition)]));
    this.all = [...this.#byId.values()];
  }

  /** The alarms that roll a deployment of the function back. */
  forDeploymentOf(entry: FunctionEntry): readonly IAlarm[] {
    return ['api-5xx', `${entry}-errors`, 'limiter-fail-open', 'malformed-items'].map((id) => {
      const alarm = this.#byId.get(id);
      if (alarm === undefined) throw new Error(`Unknown alarm: ${id}`);
      return alarm;
    });
  }

  #apiAlarms(): AlarmDefinition[] {
    const errorRate = new MathExpression({
      // Fewer than three errors a minute do not count. API Gateway writes both metrics for every request, so neither is
      // missing alone and the divisor is never zero.
      expression: 'IF(errors >= 3, 100 * errors / requests, 0)',
      usingMetrics: {
        errors: apiMetric(this, '5XXError', 'Sum'),
        requests: apiMetric(this, 'Count', 'Sum'),
      },
      period: Duration.minutes(1),
      label: '5xx responses, percent',
    });
    return [
      {
        id: 'api-5xx',
        summary: 'More than 1 % of requests return a 5xx status.',
        metric: errorRate,
        above: 1,
        datapoints: [2, 5],
      },
      {
        id: 'api-latency',
        summary: 'The p99 latency is above one second.',
        metric: apiMetric(this, 'Latency', 'p99', Duration.minutes(5)),
        above: 1_000,
        datapoints: [3, 3],
      },
    ];
  }

  #serviceAlarms(): AlarmDefinition[] {
    return [
      {
        id: 'limiter-fail-open',
        summary:
          'Requests are admitted without being counted, because the RateLimits table does not answer in time.',
        metric: serviceMetric(this, metrics.failOpen),
        above: 4,
        datapoints: [2, 5],
      },
      {
        id: 'malformed-items',
        constructId: 'damaged-items',
        summary: 'Stored pets fail validation and are left out of listings.',
        metric: serviceMetric(this, metrics.malformed),
        above: 0,
        datapoints: [1, 1],
      },
    ];
  }

  #alarm(definition: AlarmDefinition): Alarm {
    const { id, constructId = id, runbook = id, summary, metric, above, datapoints } = definition;
    const [datapointsToAlarm, evaluationPeriods] = datapoints;
    const alarm = new Alarm(this, constructId, {
      alarmName: `${Stack.of(this).stackName}-${id}`,
      alarmDescription: `${summary} What to do: docs/runbook.md#${runbook}`,
      metric,
      threshold: above,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      datapointsToAlarm,
      evaluationPeriods,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
    return alarm;
  }

  /** Exists in every stage with alarms, so that operators can subscribe other services to it. */
  #topic(notificationAddress: string | undefined): Topic {
    const { account, partition, region, stackName } = Stack.of(this);
    const topic = new Topic(this, 'Topic', { displayName: `${stackName} alarms`, enforceSSL: true });
    // A topic policy replaces the default one, which permits the account's alarms to publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsOfThisStack',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': account },
          ArnLike: {
            'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stackName}-*`,
          },
        },
      }),
    );
    if (notificationAddress !== undefined) {
      topic.addSubscription(new EmailSubscription(notificationAddress));
      acknowledge(topic, {
        'Serverless-SNSRedrivePolicy':
          'An e-mail that cannot be delivered loses no data: the alarm keeps its state and its history.',
      });
    }
    return topic;
  }
}

/** Lambda counts crashes, time-outs and failed starts as errors, but not the function's own 5xx responses. */
function functionAlarms({ entry, function: lambda }: ServiceFunction): AlarmDefinition[] {
  const period = Duration.minutes(1);
  return [
    {
      id: `${entry}-errors`,
      runbook: 'function-errors',
      summary: `Invocations of ${entry} crash or time out.`,
      metric: lambda.metricErrors({ period }),
      above: 0,
      datapoints: [2, 5],
    },
    {
      id: `${entry}-throttles`,
      runbook: 'function-throttles',
      summary: `Lambda throttles ${entry}: the account or the function has reached its concurrency limit.`,
      metric: lambda.metricThrottles({ period }),
      above: 0,
      datapoints: [2, 5],
    },
  ];
}

function tableAlarms(tables: Tables): AlarmDefinition[] {
  return Object.entries({
    pets: 'pets',
    'api-keys': 'apiKeys',
    'rate-limits': 'rateLimits',
    idempotency: 'idempotency',
  } as const).flatMap(([name, table]): AlarmDefinition[] => [
    {
      id: `${name}-throttles`,
      runbook: 'table-throttles',
      summary: `DynamoDB throttles requests to the ${name} table.`,
      metric: tableMetric(tables, table, 'ThrottledRequests', 'Throttled requests'),
      above: 10,
      datapoints: [2, 5],
    },
    {
      id: `${name}-system-errors`,
      runbook: 'table-system-errors',
      summary: `Requests to the ${name} table fail with system errors of DynamoDB.`,
      metric: tableMetric(tables, table, 'SystemErrors', 'System errors'),
      above: 5,
      datapoints: [2, 5],
    },
  ]);
}
