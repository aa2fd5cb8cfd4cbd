import { Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { FilterPattern, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { metrics } from '../../functions/http/metrics.ts';
import type { Api } from '../api/api.ts';
import type { StageSettings } from '../configuration/settings.ts';
import { apiMetric, serviceMetric, tableMetric, versionMetric } from './metrics.ts';
import { acknowledge } from '../security-checks.ts';
import type { ServiceFunction, ServiceFunctions } from '../compute/service-function.ts';
import { operationName } from '../../functions/operations.ts';
import { tableNames } from '../../functions/tables.ts';
import type { Tables } from '../storage/tables.ts';

export interface AlarmsProps {
  readonly functions: ServiceFunctions;
  readonly tables: Tables['byName'];
  readonly api: Api;
  readonly settings: Pick<
    StageSettings,
    | 'notificationAddress'
    | 'minimumRequests'
    | 'canary'
    | 'accountConcurrency'
    | 'accountThrottle'
    | 'throttle'
    | 'domain'
  >;
  /** The address of the repository, for links to its runbook. */
  readonly repository: string | undefined;
}

/** The alarms of a stage, and the topic that they notify. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly #byId = new Map<string, cloudwatch.Alarm>();
  readonly #sumsOfErrors: cloudwatch.Alarm[] = [];
  readonly #runbook: string;

  constructor(scope: Construct, id: string, { functions, tables, api, settings, repository }: AlarmsProps) {
    super(scope, id);
    this.topic = this.#topic(settings.notificationAddress);
    this.#runbook = `${repository === undefined ? '' : `${repository}/blob/main/`}docs/runbook.md`;
    this.#addApiAlarms(api, settings);
    this.#addQuotaAlarms(settings);

    // Lambda counts crashes, time-outs and failed starts as errors, but not the function's own 5xx responses.
    const period = Duration.minutes(1);
    // The metric is that of the alias: a new version that is refused, and the checks of a deployment, are no requests of clients.
    for (const { entry, live } of functions.values()) {
      const errors = `Invocations of ${entry} crash or time out.`;
      const throttles = `Lambda throttles ${entry}: the account or the function has reached its concurrency limit.`;
      this.#add(`${entry}-errors`, errors, live.metricErrors({ period }), 0, 'function-errors');
      this.#add(`${entry}-throttles`, throttles, live.metricThrottles({ period }), 0, 'function-throttles');
    }
    this.#addSumsOfErrors([...functions.values()]);

    for (const table of tableNames) {
      const name = table.replace(/[A-Z]/, (letter) => `-${letter.toLowerCase()}`);
      const throttled = tableMetric(tables, table, 'ThrottledRequests', 'Throttled requests');
      const throttles = `DynamoDB throttles requests to the ${name} table.`;
      this.#add(`${name}-throttles`, throttles, throttled, 10, 'table-throttles');
      const failed = tableMetric(tables, table, 'SystemErrors', 'System errors');
      const errors = `Requests to the ${name} table fail with system errors of DynamoDB.`;
      this.#add(`${name}-system-errors`, errors, failed, 5, 'table-system-errors');
    }

    const failOpen =
      'Requests are admitted without being counted, because the RateLimits table does not answer in time.';
    this.#add('limiter-fail-open', failOpen, serviceMetric(this, metrics.failOpen), 4);
    const malformed = 'Stored pets fail validation and are left out of listings.';
    const count = serviceMetric(this, metrics.malformed);
    this.#add('malformed-items', malformed, count, 0, 'malformed-items', [1, 1]);
    const { version } = functions.get('list-pets')!.function.currentVersion;
    const stricter = 'The new version leaves out stored pets that the live version lists.';
    this.#add('newly-malformed-items', stricter, this.#malformedInCanary(version), 3, 'malformed-items');
  }

  get all(): readonly cloudwatch.Alarm[] {
    return [...this.#byId.values()];
  }

  /** The alarms that roll a deployment back. CodeDeploy accepts ten. */
  get rollingBack(): readonly cloudwatch.Alarm[] {
    const ids = ['api-5xx', 'api-slow', 'known-keys-rejected', 'limiter-fail-open', 'newly-malformed-items'];
    return [...this.#sumsOfErrors, ...ids.map((id) => this.#byId.get(id)!)];
  }

  /**
   * The sums of the functions' errors roll deployments back, because CodeDeploy accepts ten alarms. They notify nobody: the
   * alarms of the functions do. An alarm can sum up ten metrics:
   * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-limits.html
   */
  #addSumsOfErrors(functions: readonly ServiceFunction[]): void {
    const period = Duration.minutes(1);
    for (let first = 0; first < functions.length; first += 10) {
      const errors = functions
        .slice(first, first + 10)
        .map(({ entry, live }) => [operationName(entry), live.metricErrors({ period })] as const);
      const sum = new cloudwatch.MathExpression({
        expression: errors.map(([id]) => `FILL(${id}, 0)`).join(' + '),
        usingMetrics: Object.fromEntries(errors),
        period,
        label: 'Errors',
      });
      const id = first === 0 ? 'function-errors' : `function-errors-${first / 10 + 1}`;
      const summary = 'Invocations of functions crash or time out.';
      this.#sumsOfErrors.push(this.#alarm(id, summary, sum, 0, 'function-errors'));
    }
  }

  #addApiAlarms(api: Api, { minimumRequests, canary }: AlarmsProps['settings']): void {
    const known = 'More than 20 requests a minute with a key that exists get 401.';
    this.#add('known-keys-rejected', known, this.#knownKeysRejected(api), 20);
    if (minimumRequests !== undefined) {
      // FILL, because CloudWatch prefers older values to missing ones, and would notice silence some periods later.
      // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
      const requests = new cloudwatch.MathExpression({
        expression: 'FILL(requests, 0)',
        usingMetrics: { requests: apiMetric(this, 'Count') },
        period: Duration.minutes(15),
        label: 'Requests',
      });
      const quiet = `Fewer than ${minimumRequests} requests arrive in 15 minutes.`;
      this.#add('api-traffic', quiet, requests, minimumRequests, 'api-traffic', [1, 1], {
        comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        // FILL may leave a metric empty that has no value at all.
        treatMissingData: cloudwatch.TreatMissingData.BREACHING,
      });
    }
    const errorRate = (period: Duration) =>
      new cloudwatch.MathExpression({
        // Fewer than three errors do not count. API Gateway writes both metrics for every request, so neither is missing alone
        // and the divisor is never zero. Without FILL, the alarm would stay on while no requests follow.
        expression: 'IF(FILL(errors, 0) >= 3, 100 * errors / requests, 0)',
        usingMetrics: { errors: apiMetric(this, '5XXError'), requests: apiMetric(this, 'Count') },
        period,
        label: '5xx responses, percent',
      });
    this.#add('api-5xx', 'More than 1 % of requests return a 5xx status.', errorRate(Duration.minutes(1)), 1);
    // A service with few requests never has three errors in a minute.
    const most = (time: string): string =>
      `At least three and more than 50 % of the requests of ${time} return a 5xx status.`;
    const hour = errorRate(Duration.hours(1));
    this.#add('api-5xx-hour', most('an hour'), hour, 50, 'api-5xx', [1, 1]);
    const eightHours = errorRate(Duration.hours(8));
    this.#add('api-5xx-8-hours', most('eight hours'), eightHours, 50, 'api-5xx', [1, 1]);
    const latency = apiMetric(this, 'Latency').with({ statistic: 'p99', period: Duration.minutes(5) });
    this.#add('api-latency', 'The p99 latency is above one second.', latency, 1_000, 'api-latency', [3, 3]);
    // Half of what a canary's version answers is above this percentile. Below 20 requests a minute, it would be that of one cold start.
    const statistic = `p${100 - canary.percent / 2}`;
    const slow = new cloudwatch.MathExpression({
      expression: 'IF(requests >= 20, latency, 0)',
      usingMetrics: {
        latency: apiMetric(this, 'Latency').with({ statistic }),
        requests: apiMetric(this, 'Count'),
      },
      period: Duration.minutes(1),
      label: `${statistic} latency`,
    });
    this.#add(
      'api-slow',
      `The ${statistic} latency of a minute is above one second.`,
      slow,
      1_000,
      'api-latency',
    );
  }

  /**
   * How many times as many malformed items a listing of the new version meets as one of the live version, which runs beside it in a
   * canary. So an item that both find malformed stops no canary. 1 is added to what the live version has met, because it can be none.
   */
  #malformedInCanary(version: string): cloudwatch.MathExpression {
    const ofNew = versionMetric(this, metrics.malformed, version);
    const ofAll = serviceMetric(this, metrics.malformed);
    // Each listing writes the metric once.
    const statistic = 'SampleCount';
    return new cloudwatch.MathExpression({
      // Fewer than three items a minute are chance. Without a canary, no listing is of another version.
      expression:
        'IF(newItems >= 3 AND lists > newLists, (newItems / newLists) / ((items - newItems + 1) / (lists - newLists)), 0)',
      usingMetrics: {
        newItems: ofNew,
        newLists: ofNew.with({ statistic }),
        items: ofAll,
        lists: ofAll.with({ statistic }),
      },
      period: Duration.minutes(1),
      label: 'Malformed items per list, compared with the live version',
    });
  }

  /** What ends without a sign before. */
  #addQuotaAlarms({ accountConcurrency, accountThrottle, throttle, domain }: AlarmsProps['settings']): void {
    const permitted = Math.min(
      accountThrottle.requestsPerSecond,
      throttle?.requestsPerSecond ?? accountThrottle.requestsPerSecond,
    );
    const throttled = new cloudwatch.MathExpression({
      // 4xx responses do not count: one client can flood the API with requests that its usage plan or the limiter rejects.
      expression: `100 * (requests - rejected) / ${60 * permitted}`,
      usingMetrics: { requests: apiMetric(this, 'Count'), rejected: apiMetric(this, '4XXError') },
      period: Duration.minutes(1),
      label: 'Requests, percent of the throttle',
    });
    const growth = `More than 80 % of the ${permitted} requests a second that API Gateway permits are served.`;
    this.#add('api-throttle', growth, throttled, 80);
    const statistic = 'Maximum';
    const claimed = new cloudwatch.Metric({
      namespace: 'AWS/Lambda',
      metricName: 'ClaimedAccountConcurrency',
      statistic,
      period: Duration.minutes(1),
    });
    const busy = 'Functions of the account use more than 80 % of its concurrent executions.';
    this.#add('account-concurrency', busy, claimed, 0.8 * accountConcurrency);
    if (domain === undefined) return;
    const days = new cloudwatch.Metric({
      namespace: 'AWS/CertificateManager',
      metricName: 'DaysToExpiry',
      dimensionsMap: { CertificateArn: domain.certificateArn },
      statistic: 'Minimum',
      period: Duration.days(1),
    });
    // ACM renews its own 45 days before or earlier: https://docs.aws.amazon.com/acm/latest/userguide/managed-renewal.html
    const expiry = `The certificate of ${domain.name} expires in less than 30 days.`;
    this.#add('certificate-expiry', expiry, days, 30, 'certificate-expiry', [1, 1], {
      comparisonOperator: cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    });
  }

  /**
   * API Gateway does not have the key although the authorizer does, or a function rejects it. Denials of the authorizer do
   * not count: anybody can cause them.
   */
  #knownKeysRejected({ accessLogs }: Api): cloudwatch.Metric {
    const filter = new MetricFilter(this, 'KnownKeysRejected', {
      logGroup: accessLogs,
      filterPattern: FilterPattern.literal('{ ($.status = "401") && ($.keyId != "-") }'),
      metricNamespace: Stack.of(this).stackName,
      metricName: 'KnownKeysRejected',
    });
    return filter.metric({ statistic: 'Sum', period: Duration.minutes(1) });
  }

  /** Adds an alarm. By default two of the last five datapoints must be above the threshold. `runbook`: a section of docs/runbook.md. */
  #add(
    id: string,
    summary: string,
    metric: cloudwatch.IMetric,
    threshold: number,
    runbook = id,
    datapoints?: readonly [number, number],
    different: Partial<Pick<cloudwatch.AlarmProps, 'comparisonOperator' | 'treatMissingData'>> = {},
  ): void {
    const alarm = this.#alarm(id, summary, metric, threshold, runbook, datapoints, different);
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
  }

  #alarm(
    id: string,
    summary: string,
    metric: cloudwatch.IMetric,
    threshold: number,
    runbook: string,
    [datapointsToAlarm, evaluationPeriods]: readonly [number, number] = [2, 5],
    different: Partial<cloudwatch.AlarmProps> = {},
  ): cloudwatch.Alarm {
    const alarm = new cloudwatch.Alarm(this, id, {
      alarmName: `${Stack.of(this).stackName}-${id}`,
      alarmDescription: `${summary} What to do: ${this.#runbook}#${runbook}`,
      metric,
      threshold,
      comparisonOperator: cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
      datapointsToAlarm,
      evaluationPeriods,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      ...different,
    });
    this.#byId.set(id, alarm);
    return alarm;
  }

  /** Exists in every stage with alarms, so that operators can subscribe other services to it. */
  #topic(notificationAddress: string | undefined): Topic {
    const { account, partition, region, stackName } = Stack.of(this);
    const topic = new Topic(this, 'Topic', { displayName: `${stackName} alarms`, enforceSSL: true });
    const alarmArns = `arn:${partition}:cloudwatch:${region}:${account}:alarm:${stackName}-*`;
    // A topic policy replaces the default one, which permits the account's alarms to publish.
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsOfThisStack',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: {
          StringEquals: { 'aws:SourceAccount': account },
          ArnLike: { 'aws:SourceArn': alarmArns },
        },
      }),
    );
    if (notificationAddress !== undefined && notificationAddress !== 'elsewhere') {
      topic.addSubscription(new EmailSubscription(notificationAddress));
      acknowledge(topic, {
        'Serverless-SNSRedrivePolicy':
          'An e-mail that cannot be delivered loses no data: the alarm keeps its state and its history.',
      });
    }
    return topic;
  }
}
