import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { planNames } from '../../functions/access/plans.ts';
import { metrics } from '../../functions/http/metrics.ts';
import { toLogLine } from '../../functions/http/telemetry.ts';
import { idOf, ref, resourcesOf, synthesize, type Template, theResource } from './synthesis.ts';

const prod = synthesize().stack('AnimalStore-prod');
const staging = synthesize().stack('AnimalStore-staging');
const local = synthesize('local').stack('AnimalStore-local');

const dimensions = z.array(z.object({ Name: z.string(), Value: z.unknown() })).default([]);
const alarmSchema = z.object({
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  AlarmActions: z.array(z.unknown()),
  OKActions: z.array(z.unknown()),
  ComparisonOperator: z.string(),
  Threshold: z.number(),
  EvaluationPeriods: z.int(),
  DatapointsToAlarm: z.int(),
  TreatMissingData: z.string(),
  // Enabled by default.
  ActionsEnabled: z.literal(true).optional(),
  Period: z.int().optional(),
  Statistic: z.string().optional(),
  ExtendedStatistic: z.string().optional(),
  Namespace: z.string().optional(),
  MetricName: z.string().optional(),
  Dimensions: dimensions,
  Metrics: z
    .array(
      z.object({
        Id: z.string(),
        Expression: z.string().optional(),
        MetricStat: z
          .object({
            Metric: z.object({ Namespace: z.string(), MetricName: z.string(), Dimensions: dimensions }),
            Period: z.int(),
            Stat: z.string(),
          })
          .optional(),
      }),
    )
    .default([]),
});

const dashboard = z.object({
  start: z.string(),
  widgets: z.array(
    z.object({
      type: z.string(),
      properties: z.object({
        view: z.string().optional(),
        setPeriodToTimeRange: z.boolean().optional(),
        query: z.string().optional(),
        metrics: z.array(z.array(z.unknown())).optional(),
      }),
    }),
  ),
});

const alarms = new Map(
  resourcesOf(prod, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => {
    const alarm = alarmSchema.parse(Properties);
    return [alarm.AlarmName.replace('AnimalStore-prod-', ''), alarm] as const;
  }),
);

const entries = ['authorizer', 'create-pet', 'get-pet', 'list-pets', 'unmatched-route'];
const functionId = (entry: string): string =>
  theResource(prod, 'AWS::Lambda::Function', { Handler: `${entry}.handler` })[0];
const tableId = (output: string): string => idOf(prod.Outputs[output]?.Value);
const api = [
  { Name: 'ApiName', Value: 'AnimalStore-prod' },
  { Name: 'Stage', Value: 'v1' },
];
const throttled = (output: string, ...operations: string[]): string[] =>
  operations.map((operation) =>
    metricKey('AWS/DynamoDB', 'ThrottledRequests', [
      { Name: 'Operation', Value: operation },
      { Name: 'TableName', Value: ref(tableId(output)) },
    ]),
  );
const failed = (...args: Parameters<typeof throttled>): string[] =>
  throttled(...args).map((key) => key.replace('ThrottledRequests', 'SystemErrors'));

/** The metric of each alarm. */
const watched: Readonly<Record<string, readonly string[]>> = {
  'api-5xx': [metricKey('AWS/ApiGateway', '5XXError', api), metricKey('AWS/ApiGateway', 'Count', api)],
  'api-latency': [metricKey('AWS/ApiGateway', 'Latency', api)],
  ...Object.fromEntries(
    entries.flatMap((entry) => {
      const lambda = [{ Name: 'FunctionName', Value: ref(functionId(entry)) }];
      return [
        [`${entry}-errors`, [metricKey('AWS/Lambda', 'Errors', lambda)]],
        [`${entry}-throttles`, [metricKey('AWS/Lambda', 'Throttles', lambda)]],
      ];
    }),
  ),
  'pets-throttles': throttled('PetsTableName', 'GetItem', 'PutItem', 'Query', 'TransactWriteItems'),
  'pets-system-errors': failed('PetsTableName', 'GetItem', 'PutItem', 'Query', 'TransactWriteItems'),
  'api-keys-throttles': throttled('ApiKeysTableName', 'GetItem'),
  'api-keys-system-errors': failed('ApiKeysTableName', 'GetItem'),
  'rate-limits-throttles': throttled('RateLimitsTableName', 'UpdateItem'),
  'rate-limits-system-errors': failed('RateLimitsTableName', 'UpdateItem'),
  'idempotency-throttles': throttled('IdempotencyTableName', 'TransactWriteItems'),
  'idempotency-system-errors': failed('IdempotencyTableName', 'TransactWriteItems'),
  'limiter-fail-open': [metricKey('AnimalStore-prod', metrics.failOpen, [])],
  'malformed-items': [metricKey('AnimalStore-prod', metrics.malformed, [])],
};

/** The threshold of each alarm, its datapoints, and the statistic and period of its metric. */
interface Limit {
  readonly above: number;
  readonly datapoints: readonly [above: number, of: number];
  readonly statistic: string;
  readonly seconds: number;
}

const eachMinute = { datapoints: [2, 5], statistic: 'Sum', seconds: 60 } as const;
const tables = ['pets', 'api-keys', 'rate-limits', 'idempotency'];
const limits: Readonly<Record<string, Limit>> = {
  'api-5xx': { ...eachMinute, above: 1 },
  'api-latency': { above: 1_000, datapoints: [3, 3], statistic: 'p99', seconds: 300 },
  ...Object.fromEntries(
    entries.flatMap((entry) => [
      [`${entry}-errors`, { ...eachMinute, above: 0 }],
      [`${entry}-throttles`, { ...eachMinute, above: 0 }],
    ]),
  ),
  ...Object.fromEntries(
    tables.flatMap((table) => [
      [`${table}-throttles`, { ...eachMinute, above: 10 }],
      [`${table}-system-errors`, { ...eachMinute, above: 5 }],
    ]),
  ),
  'limiter-fail-open': { ...eachMinute, above: 4 },
  // A malformed item stays malformed, so the first one is reported.
  'malformed-items': { ...eachMinute, above: 0, datapoints: [1, 1] },
};

describe('an alarm', () => {
  it.each(Object.entries(watched))('has the right metric: %s', (name, expected) => {
    const alarm = alarms.get(name);
    expect(alarm && metricsOf(alarm).toSorted(byText)).toEqual(expected.toSorted(byText));
  });

  it('is one of those listed here', () => {
    expect([...alarms.keys()].toSorted(byText)).toEqual(Object.keys(watched).toSorted(byText));
  });

  it.each([...alarms.keys()])('is triggered above its threshold and not by missing data: %s', (name) => {
    expect(alarms.get(name)).toMatchObject({
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
  });

  it.each([...alarms.keys()])('has the threshold and datapoints listed here: %s', (name) => {
    const { Threshold, DatapointsToAlarm, EvaluationPeriods, ...alarm } = alarms.get(name)!;
    const { above, datapoints, statistic, seconds } = limits[name]!;
    expect({ above: Threshold, datapoints: [DatapointsToAlarm, EvaluationPeriods] }).toEqual({
      above,
      datapoints,
    });
    const looks = alarm.Metrics.flatMap(({ MetricStat }) => MetricStat ?? []).map(
      ({ Stat, Period }) => [Stat, Period] as const,
    );
    if (alarm.MetricName !== undefined) {
      looks.push([alarm.Statistic ?? alarm.ExtendedStatistic ?? '', alarm.Period ?? 0]);
    }
    expect(looks.length).toBeGreaterThan(0);
    for (const look of looks) expect(look).toEqual([statistic, seconds]);
  });

  it.each([...alarms.keys()])('notifies the topic when it starts and when it ends: %s', (name) => {
    const [topicId] = theResource(prod, 'AWS::SNS::Topic');
    expect(alarms.get(name)).toMatchObject({ AlarmActions: [ref(topicId)], OKActions: [ref(topicId)] });
  });

  it.each([...alarms.keys()])('links to a section of the runbook: %s', (name) => {
    const anchor = /docs\/runbook\.md#([\w-]+)$/.exec(alarms.get(name)?.AlarmDescription ?? '')?.[1];
    expect(anchor).toBeDefined();
    expect(runbookAnchors()).toContain(anchor);
  });

  it('is mentioned by name in its section of the runbook', () => {
    const runbook = readFileSync('docs/runbook.md', 'utf8');
    expect([...alarms.keys()].filter((name) => !runbook.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('the alarms', () => {
  it('report 1 % of 5xx responses, but not a single 5xx response', () => {
    const { Metrics, Threshold, DatapointsToAlarm, EvaluationPeriods } = alarms.get('api-5xx')!;
    expect(Metrics[0]?.Expression).toBe('IF(errors >= 3, 100 * errors / requests, 0)');
    expect(Threshold).toBe(1);
    // Within the five minutes of a canary.
    expect(DatapointsToAlarm).toBeLessThanOrEqual(EvaluationPeriods);
    expect(EvaluationPeriods).toBeLessThanOrEqual(5);
  });

  it.each([
    ['pets-throttles', 'FILL(getItem, 0) + FILL(putItem, 0) + FILL(query, 0) + FILL(transactWriteItems, 0)'],
    [
      'pets-system-errors',
      'FILL(getItem, 0) + FILL(putItem, 0) + FILL(query, 0) + FILL(transactWriteItems, 0)',
    ],
    ['api-keys-throttles', 'FILL(getItem, 0)'],
    ['api-keys-system-errors', 'FILL(getItem, 0)'],
    ['rate-limits-throttles', 'FILL(updateItem, 0)'],
    ['rate-limits-system-errors', 'FILL(updateItem, 0)'],
    ['idempotency-throttles', 'FILL(transactWriteItems, 0)'],
    ['idempotency-system-errors', 'FILL(transactWriteItems, 0)'],
  ])('fill missing data of DynamoDB with zeros: %s', (name, expression) => {
    const { Metrics } = alarms.get(name)!;
    expect(Metrics.flatMap(({ Expression }) => Expression ?? [])).toEqual([expression]);
    const ids = Metrics.flatMap(({ Id, MetricStat }) => (MetricStat === undefined ? [] : [Id]));
    expect(ids.map((id) => `FILL(${id}, 0)`).join(' + ')).toBe(expression);
  });

  it('never use a metric of DynamoDB without FILL, because they would never end', () => {
    const unfilled = [...alarms].filter(([, { Namespace }]) => Namespace === 'AWS/DynamoDB');
    expect(unfilled.map(([name]) => name)).toEqual([]);
  });

  it.each(['authorizer-errors', 'list-pets-errors', 'limiter-fail-open', 'malformed-items', 'api-5xx'])(
    'that roll a canary back can be triggered within its five minutes: %s',
    (name) => {
      const { DatapointsToAlarm, Metrics, Period } = alarms.get(name)!;
      const period = Math.max(Period ?? 0, ...Metrics.map(({ MetricStat }) => MetricStat?.Period ?? 0));
      expect(DatapointsToAlarm * period).toBeLessThanOrEqual(5 * 60);
    },
  );

  it('exist in staging too, with names of that stack', () => {
    const names = resourcesOf(staging, 'AWS::CloudWatch::Alarm').map(
      ([, { Properties }]) => alarmSchema.parse(Properties).AlarmName,
    );
    expect(names).toEqual([...alarms.keys()].map((name) => `AnimalStore-staging-${name}`));
  });

  it('do not exist in local', () => {
    expect(resourcesOf(local, 'AWS::CloudWatch::Alarm')).toEqual([]);
  });

  it('are sent to the notification address', () => {
    const stack = synthesize('copy').stack('Shelter-prod');
    const [topicId] = theResource(stack, 'AWS::SNS::Topic');
    expect(theResource(stack, 'AWS::SNS::Subscription')[1].Properties).toMatchObject({
      Protocol: 'email',
      Endpoint: 'on-call@example.com',
      TopicArn: ref(topicId),
    });
    expect(resourcesOf(prod, 'AWS::SNS::Subscription')).toEqual([]);
  });
});

describe('the dashboards', () => {
  const dashboards = new Map(
    resourcesOf(prod, 'AWS::CloudWatch::Dashboard').map(([, { Properties }]) => {
      const name = JSON.stringify(Properties['DashboardName']);
      return [
        /Business|Engineering/.exec(name)?.[0],
        { name, body: JSON.stringify(Properties['DashboardBody']) },
      ];
    }),
  );
  const parsed = new Map(
    resourcesOf(prod, 'AWS::CloudWatch::Dashboard').map(([, { Properties }]) => [
      /Business|Engineering/.exec(JSON.stringify(Properties['DashboardName']))?.[0],
      dashboard.parse(JSON.parse(resolved(Properties['DashboardBody']))),
    ]),
  );
  const widgetsOn = (name: string) => parsed.get(name)!.widgets;
  const business = dashboards.get('Business')!.body;
  const engineering = dashboards.get('Engineering')!.body;

  it('have names with the stack and its Region, because all Regions show all dashboards', () => {
    expect(dashboards.size).toBe(2);
    for (const { name } of dashboards.values()) {
      expect(name).toContain('AnimalStore-prod-');
      expect(name).toContain(JSON.stringify(ref('AWS::Region')));
    }
  });

  it.each([metrics.admitted, metrics.created, metrics.rejected, metrics.suspended, metrics.deprecated])(
    'show %s by plan on Business',
    (metric) => {
      for (const plan of planNames) {
        expect(business).toContain(quoted(`"AnimalStore-prod","${metric}","Plan","${plan}"`));
      }
    },
  );

  it.each([metrics.admitted, metrics.created, metrics.rejected, metrics.suspended])(
    'show the total of %s for the period on Business',
    (metric) => {
      const totals = widgetsOn('Business').filter(
        ({ properties }) => properties.view === 'singleValue' && properties.setPeriodToTimeRange,
      );
      const shown = totals.flatMap(({ properties }) => properties.metrics ?? []);
      expect(shown).toContainEqual([
        'AnimalStore-prod',
        metric,
        expect.objectContaining({ stat: 'Sum' }) as unknown,
      ]);
    },
  );

  it('show hourly sums by plan on Business', () => {
    const byPlan = widgetsOn('Business')
      .flatMap(({ properties }) => properties.metrics ?? [])
      .filter((metric) => metric.includes('Plan'));
    expect(byPlan.length).toBeGreaterThan(0);
    for (const metric of byPlan) expect(metric.at(-1)).toMatchObject({ stat: 'Sum', period: 3_600 });
  });

  it.each([
    ['Business', 'filter status = 429'],
    ['Business', `filter ispresent(${metrics.deprecated})`],
    ['Engineering', 'filter ispresent(coldStart)'],
  ])('have a table on %s from the logs of every operation: %s', (name, filter) => {
    const found = widgetsOn(name).filter(({ properties }) => properties.query?.includes(filter));
    expect(found.map(({ type, properties }) => [type, properties.view])).toEqual([['log', 'table']]);
    for (const group of logsOf(prod).operations) {
      expect(found[0]?.properties.query).toContain(`SOURCE '${group}'`);
    }
  });

  it.each(['ConsumedReadCapacityUnits', 'ConsumedWriteCapacityUnits'])(
    'show %s of the index byStatus on Engineering',
    (metric) => {
      const shown = widgetsOn('Engineering').flatMap(({ properties }) => properties.metrics ?? []);
      const ofIndex = shown.filter((each) => each.includes('GlobalSecondaryIndexName'));
      expect(ofIndex.map((each) => each.slice(0, -1))).toContainEqual([
        'AWS/DynamoDB',
        metric,
        'GlobalSecondaryIndexName',
        'byStatus',
        'TableName',
        tableId('PetsTableName'),
      ]);
    },
  );

  it('show the metrics of the API stage v1', () => {
    const shown = widgetsOn('Engineering').flatMap(({ properties }) => properties.metrics ?? []);
    const ofApi = shown.filter(([namespace]) => namespace === 'AWS/ApiGateway');
    expect(ofApi.length).toBeGreaterThan(0);
    for (const metric of ofApi) {
      expect(metric.slice(2, 6)).toEqual(['ApiName', 'AnimalStore-prod', 'Stage', 'v1']);
    }
  });

  it.each([
    ['a week', 'Business', '-P7D'],
    ['a working day', 'Engineering', '-PT8H'],
  ])('open on %s: %s', (_, name, start) => {
    expect(parsed.get(name)?.start).toBe(start);
  });

  it('and saved queries do not exist in local', () => {
    expect(resourcesOf(local, 'AWS::CloudWatch::Dashboard')).toEqual([]);
    expect(resourcesOf(local, 'AWS::Logs::QueryDefinition')).toEqual([]);
  });

  it.each([metrics.failOpen, metrics.collision, metrics.replayed, metrics.malformed])(
    'show %s on Engineering',
    (metric) => {
      expect(engineering).toContain(quoted(`"AnimalStore-prod","${metric}"`));
    },
  );

  it.each(entries)('show latency, errors and throttles of %s on Engineering', (entry) => {
    for (const metric of ['Duration', 'Errors', 'Throttles']) {
      expect(engineering).toContain(
        `${quoted(`"AWS/Lambda","${metric}","FunctionName","`)}",${JSON.stringify(ref(functionId(entry)))}`,
      );
    }
  });

  it('show p50 and p99 of the API, cold starts, the tables and all alarms on Engineering', () => {
    expect(engineering).toMatch(/"Latency\\",\\"ApiName[^\]]*\\"stat\\":\\"p50\\"/);
    expect(engineering).toMatch(/"Latency\\",\\"ApiName[^\]]*\\"stat\\":\\"p99\\"/);
    expect(engineering).toContain('sum(coldStart)');
    for (const output of [
      'PetsTableName',
      'ApiKeysTableName',
      'RateLimitsTableName',
      'IdempotencyTableName',
    ]) {
      expect(engineering).toContain(JSON.stringify(ref(tableId(output))));
    }
    for (const [id] of resourcesOf(prod, 'AWS::CloudWatch::Alarm')) {
      expect(engineering).toContain(JSON.stringify({ 'Fn::GetAtt': [id, 'Arn'] }));
    }
  });
});

describe('a graph of a sum', () => {
  it('has values even if one of its terms has none', () => {
    const expressions = resourcesOf(prod, 'AWS::CloudWatch::Dashboard').flatMap(([, { Properties }]) =>
      [
        ...JSON.stringify(Properties['DashboardBody']).matchAll(
          /\\"expression\\":\\"((?:[^"\\]|\\\\.)*)\\"/g,
        ),
      ].map(([, expression]) => expression!),
    );
    const sums = expressions.filter((expression) => /^[^']*\+/.test(expression));
    expect(sums.length).toBeGreaterThan(0);
    for (const sum of sums) expect(sum).toMatch(/^FILL\(\w+, ?0\)( \+ FILL\(\w+, ?0\))+$/);
  });
});

describe('a saved query', () => {
  const querySchema = z.object({
    Name: z.string(),
    QueryString: z.string(),
    LogGroupNames: z.array(z.unknown()).min(1),
  });
  const queries = resourcesOf(prod, 'AWS::Logs::QueryDefinition').map(([, { Properties }]) =>
    querySchema.parse(Properties),
  );
  const accessLog = z
    .object({ Format: z.string() })
    .parse(theResource(prod, 'AWS::ApiGateway::Stage')[1].Properties['AccessLogSetting']);

  /** As Logs Insights sees the lines: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_AnalyzeLogData-discoverable-fields.html */
  const known = new Set([
    '@timestamp',
    '@message',
    ...fieldsOf(JSON.parse(functionLogLine())),
    ...fieldsOf(JSON.parse(accessLog.Format)),
    ...fieldsOf({ message: { operation: '', outcome: '', reason: '', keyId: '', plan: '' } }),
  ]);

  const { operations, authorizer, access } = logsOf(prod);

  /** The log groups and the filter of each query. */
  const asked: Readonly<Record<string, readonly [logs: readonly string[], filter: string | undefined]>> = {
    faults: [operations, "level = 'ERROR'"],
    'slowest-requests': [operations, 'ispresent(durationMs)'],
    'cold-starts': [operations, 'ispresent(coldStart)'],
    'one-request': [[...operations, ...access], "requestId = 'PUT-THE-X-REQUEST-ID-HERE'"],
    'one-key': [operations, "keyId = 'PUT-THE-KEY-ID-HERE'"],
    'rejections-by-key': [operations, 'status = 429'],
    'deprecated-calls-by-key': [operations, `ispresent(${metrics.deprecated})`],
    'denied-keys': [authorizer, "message.outcome = 'denied'"],
    'gateway-answers': [access, "gatewayResponse != '-'"],
    'busiest-addresses': [access, undefined],
  };

  /** The sort order of each query. */
  const first: Readonly<Record<string, string>> = {
    faults: '@timestamp desc',
    'slowest-requests': 'durationMs desc',
    'one-request': '@timestamp asc',
    'rejections-by-key': 'rejections desc',
    'deprecated-calls-by-key': 'calls desc',
    'denied-keys': 'denials desc',
    'gateway-answers': 'answers desc',
    'busiest-addresses': 'requests desc',
  };

  it.each(Object.entries(first))('has the sort order listed here: %s', (name, order) => {
    const query = queries.find(({ Name }) => Name === `AnimalStore-prod/${name}`);
    expect(/^\| sort (.*)$/m.exec(query?.QueryString ?? '')?.[1]).toBe(order);
  });

  it('is one of those listed here, in the folder of the stack', () => {
    expect(queries.map(({ Name }) => Name).toSorted(byText)).toEqual(
      Object.keys(asked)
        .map((name) => `AnimalStore-prod/${name}`)
        .toSorted(byText),
    );
  });

  it.each(Object.entries(asked))('reads the right log groups and lines: %s', (name, [logs, filter]) => {
    const { LogGroupNames, QueryString } = queries.find(({ Name }) => Name === `AnimalStore-prod/${name}`)!;
    expect(LogGroupNames.map((group) => idOf(group)).toSorted(byText)).toEqual(logs.toSorted(byText));
    expect(/^(?:\| )?filter (.*)$/m.exec(QueryString)?.[1]).toBe(filter);
  });

  it.each(queries.map(({ Name, QueryString }) => [Name, QueryString]))(
    'uses only fields that the logs have: %s',
    (_, query) => {
      const named = new Set([...query.matchAll(/\bas (\w+)/g)].map(([, name]) => name));
      const words = query
        .replaceAll(/'[^']*'|(?<![\w.])\d\w*/g, '')
        .replaceAll(
          /\b(fields|filter|stats|sort|limit|display|as|by|asc|desc|count|sum|max|bin|ispresent|strcontains)\b/g,
          ' ',
        )
        .match(/[@A-Za-z][\w.@]*/g)
        ?.filter((word) => !named.has(word));
      expect(words?.length).toBeGreaterThan(0);
      expect(words?.filter((word) => !known.has(word))).toEqual([]);
    },
  );
});

/** The log groups of a stack by their writers. */
function logsOf(stack: Template): Record<'operations' | 'authorizer' | 'access', readonly string[]> {
  const writer = z.object({
    Handler: z.string(),
    LoggingConfig: z.object({ LogGroup: z.unknown().transform(idOf) }),
  });
  const functions = resourcesOf(stack, 'AWS::Lambda::Function').map(([, { Properties }]) =>
    writer.parse(Properties),
  );
  const groupsOf = (wanted: (handler: string) => boolean): string[] =>
    functions.filter(({ Handler }) => wanted(Handler)).map(({ LoggingConfig }) => LoggingConfig.LogGroup);
  const ofFunctions = new Set(groupsOf(() => true));
  return {
    operations: groupsOf((handler) => handler !== 'authorizer.handler'),
    authorizer: groupsOf((handler) => handler === 'authorizer.handler'),
    access: resourcesOf(stack, 'AWS::Logs::LogGroup').flatMap(([id]) => (ofFunctions.has(id) ? [] : [id])),
  };
}

/** The text of an Fn::Join, with a logical ID for each reference. */
function resolved(value: unknown): string {
  const [separator, parts] = z
    .object({ 'Fn::Join': z.tuple([z.string(), z.array(z.unknown())]) })
    .parse(value)['Fn::Join'];
  return parts.map((part) => (typeof part === 'string' ? part : idOf(part))).join(separator);
}

/** A log line with all fields. */
function functionLogLine(): string {
  return toLogLine(
    {
      requestId: 'r',
      operation: 'o',
      status: 500,
      durationMs: 1,
      coldStart: true,
      keyId: 'k',
      plan: 'free',
      errors: [new Error('error', { cause: new Error('cause') })],
      counts: new Map(Object.values(metrics).map((name) => [name, 1])),
    },
    'namespace',
    0,
  );
}

function fieldsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, each]) => fieldsOf(each, path === '' ? key : `${path}.${key}`));
}

function metricsOf({ Namespace, MetricName, Dimensions, Metrics }: z.infer<typeof alarmSchema>): string[] {
  if (Namespace !== undefined && MetricName !== undefined)
    return [metricKey(Namespace, MetricName, Dimensions)];
  return Metrics.flatMap(({ MetricStat }) =>
    MetricStat === undefined
      ? []
      : [metricKey(MetricStat.Metric.Namespace, MetricStat.Metric.MetricName, MetricStat.Metric.Dimensions)],
  );
}

function metricKey(namespace: string, name: string, dims: readonly unknown[]): string {
  return [namespace, name, ...dims.map((dimension) => JSON.stringify(dimension))].join(' ');
}

/** The anchors of the runbook's headings on GitHub. */
function runbookAnchors(): string[] {
  const headings = readFileSync('docs/runbook.md', 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** Escaped as in a JSON string within JSON. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function byText(a: string, b: string): number {
  return a.localeCompare(b);
}
