import { readFileSync } from 'node:fs';
import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { metrics, versionDimension } from '../../../functions/http/metrics.ts';
import { functionEntries, operationName } from '../../../functions/operations.ts';
import { presets } from '../../../lib/configuration/stages.ts';
import {
  functionsOf,
  ref,
  resourcesIfAny,
  resourcesOf,
  type Stack,
  stackOf,
  theResource,
} from './synthesis.ts';

const prod = stackOf('AnimalStore-prod');

const alarmSchema = z.object({
  AlarmName: z.string(),
  AlarmDescription: z.string(),
  DatapointsToAlarm: z.int(),
  ComparisonOperator: z.string(),
  Threshold: z.number(),
  Period: z.int().optional(),
  Namespace: z.string().optional(),
  Metrics: z
    .array(
      z.object({
        Id: z.string(),
        Expression: z.string().optional(),
        MetricStat: z
          .object({ Period: z.int(), Stat: z.string(), Metric: z.object({ Namespace: z.string() }) })
          .optional(),
      }),
    )
    .default([]),
});
const alarmsOf = (stack: Stack) =>
  new Map(
    resourcesOf(stack, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => {
      const alarm = alarmSchema.parse(Properties);
      return [alarm.AlarmName.replace(`${stack.name}-`, ''), alarm] as const;
    }),
  );
const alarms = alarmsOf(prod);
const names = [...alarms.keys()];
/** It has the optional alarms, too. */
const everyAlarm = alarmsOf(stackOf('Shelter-prod'));

describe('docs/cost.md', () => {
  const page = readFileSync('docs/cost.md', 'utf8').replaceAll(/ +/g, ' ');
  const inDollars = (cents: number): string => (cents / 100).toFixed(2);
  // US cents a month: 300 a dashboard, and 10 for each metric that an alarm reads.
  const dashboards = 300 * resourcesOf(prod, 'AWS::CloudWatch::Dashboard').length;
  const centsOf = (each: ReturnType<typeof alarmsOf>): number =>
    [...each.values()].reduce(
      (sum, { Metrics }) => sum + 10 * Math.max(1, Metrics.filter(({ MetricStat }) => MetricStat).length),
      0,
    );

  it('has what the dashboards and alarms of a stage cost', () => {
    expect(page).toContain(`| Dashboards | ${inDollars(dashboards)} |`);
    expect(page).toContain(
      `| Alarms | ${inDollars(centsOf(alarms))}, with all optional ones ${inDollars(centsOf(everyAlarm))} |`,
    );
    expect(page).toContain(`costs ${inDollars(dashboards + centsOf(alarms))} less`);
  });

  it('has what a stage costs without requests, rounded', () => {
    const cells = /^\| 10 a day .*$/m.exec(page)?.[0].split(' | ') ?? [];
    const cost = String(Math.round((dashboards + centsOf(alarms)) / 100));
    expect(cells.slice(-2)).toEqual([cost, `${cost} |`]);
  });
});

describe('an alarm', () => {
  it('notifies the topic when it starts and when it ends, and not because of missing data', () => {
    const [topicId] = theResource(prod, 'AWS::SNS::Topic');
    for (const [, { Properties }] of resourcesOf(prod, 'AWS::CloudWatch::Alarm')) {
      expect(Properties).toMatchObject({ TreatMissingData: 'notBreaching' });
      expect(Properties).not.toHaveProperty('ActionsEnabled');
      // The alarms that this one sums up notify.
      if (Properties['AlarmName'] === 'AnimalStore-prod-function-errors') continue;
      expect(Properties).toMatchObject({ AlarmActions: [ref(topicId)], OKActions: [ref(topicId)] });
    }
  });

  it('that rolls back sums up the errors of all functions', () => {
    const { Metrics } = alarms.get('function-errors')!;
    const ids = Metrics.flatMap(({ Id, MetricStat }) => (MetricStat === undefined ? [] : [Id]));
    expect(ids).toEqual(functionEntries.map((entry) => operationName(entry)));
    expect(Metrics[0]!.Expression).toBe(ids.map((id) => `FILL(${id}, 0)`).join(' + '));
  });

  it.each([...everyAlarm])(
    'has the address of its section of the runbook: %s',
    (name, { AlarmDescription }) => {
      const address =
        /What to do: https:\/\/github.com\/owner\/repository\/blob\/main\/docs\/runbook.md#([\w-]+)$/;
      const anchor = address.exec(AlarmDescription)?.[1];
      expect(sectionsOfRunbook().get(anchor!)).toContain(`\`${writtenName(name)}\``);
    },
  );

  it.each([...everyAlarm])('goes off above its threshold: %s', (name, { ComparisonOperator: operator }) => {
    const ofTooLittle = ['api-traffic', 'certificate-expiry'].includes(name);
    expect(operator).toBe(ofTooLittle ? 'LessThanThreshold' : 'GreaterThanThreshold');
  });

  it.each([...everyAlarm])('has its threshold in the table of the runbook: %s', (name, { Threshold }) => {
    const rows = sectionsOfRunbook().get('alarms')!.split('\n');
    const inWords: Readonly<Record<string, string>> = {
      'api-latency': 'longer than one second',
      'api-slow': 'longer than one second',
      'api-traffic': 'than `minimumRequests` in',
      'account-concurrency': `${(100 * Threshold) / presets.prod.accountConcurrency} %`,
    };
    expect(rows.filter((row) => row.startsWith(`| [\`${writtenName(name)}\`]`))).toEqual([
      expect.stringMatching(
        inWords[name] ?? (Threshold === 0 ? /\bone\b/ : new RegExp(`\\b${Threshold}\\b`)),
      ),
    ]);
  });

  it('sees the requests of clients alone: what it counts of Lambda is of the alias', () => {
    const counts = resourcesOf(prod, 'AWS::CloudWatch::Alarm')
      .map(([, { Properties }]) => JSON.stringify(Properties))
      .flatMap((text) => text.match(/"Dimensions":\[\{"Name":"FunctionName".*?":live"/g) ?? [text])
      .filter(
        (text) =>
          (text.includes('AWS/Lambda') && !text.includes('ClaimedAccountConcurrency')) ||
          text.includes('"FunctionName"'),
      );
    expect(counts.length).toBeGreaterThanOrEqual(2 * functionEntries.length);
    for (const count of counts) expect(count).toContain(':live"');
  });

  it('of the end of traffic exists only if the expected requests are known, that of a certificate only with one', () => {
    expect([...everyAlarm.keys()].filter((name) => !alarms.has(name))).toEqual([
      'api-traffic',
      'certificate-expiry',
    ]);
    // Without requests there is no metric.
    const count = { MetricName: 'Count', Namespace: 'AWS/ApiGateway' };
    stackOf('Shelter-prod').template.hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmName: 'Shelter-prod-api-traffic',
      Metrics: Match.arrayWith([
        Match.objectLike({ MetricStat: { Metric: Match.objectLike(count), Period: 900, Stat: 'Sum' } }),
      ]),
      Threshold: 100,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });

  // CloudWatch ignores missing data of DynamoDB's metrics, so an alarm on the plain metric would never end.
  it.each(names)('fills missing data of DynamoDB with zeros: %s', (name) => {
    const { Namespace, Metrics } = alarms.get(name)!;
    expect(Namespace).not.toBe('AWS/DynamoDB');
    const ids = Metrics.flatMap(({ Id, MetricStat }) =>
      MetricStat?.Metric.Namespace === 'AWS/DynamoDB' ? [Id] : [],
    );
    if (ids.length === 0) return;
    const [expression] = Metrics.flatMap(({ Expression }) => Expression ?? []);
    expect(expression).toBe(ids.map((id) => `FILL(${id}, 0)`).join(' + '));
  });

  it('of slow requests sees a version that only the share of a canary reaches', () => {
    const statistic = (name: string) =>
      /"Stat":"(p[\d.]+)"/.exec(JSON.stringify(everyAlarm.get(name) ?? ''))?.[1];
    expect(statistic('api-slow')).toBe('p90');
  });

  it.each([
    'api-5xx',
    'api-slow',
    'known-keys-rejected',
    'limiter-fail-open',
    'newly-malformed-items',
    'function-errors',
  ])('that rolls a canary back can go off within its five minutes: %s', (name) => {
    const { DatapointsToAlarm, Metrics, Period } = alarms.get(name)!;
    const period = Math.max(Period ?? 0, ...Metrics.map(({ MetricStat }) => MetricStat?.Period ?? 0));
    expect(DatapointsToAlarm * period).toBeLessThanOrEqual(5 * 60);
  });

  it('compares the version of a canary, which the template names', () => {
    const text = JSON.stringify(
      resourcesOf(prod, 'AWS::CloudWatch::Alarm').find(
        ([, { Properties }]) => Properties['AlarmName'] === 'AnimalStore-prod-newly-malformed-items',
      ),
    );
    const [live] = resourcesOf(prod, 'AWS::Lambda::Alias').flatMap(([id, { Properties }]) =>
      id.startsWith('FunctionsListPets') ? [Properties['FunctionVersion']] : [],
    );
    expect(live).toBeDefined();
    expect(text).toContain(`{"Name":"${versionDimension}","Value":${JSON.stringify(live)}}`);
  });

  it('of the throttle knows that of the stage, if it is less than that of the account', () => {
    const expressionOf = (stack: Stack) => alarmsOf(stack).get('api-throttle')!.Metrics[0]!.Expression;
    expect(expressionOf(prod)).toContain(`/ ${60 * presets.prod.accountThrottle.requestsPerSecond}`);
    expect(expressionOf(stackOf('AnimalStore-staging'))).toContain(
      `/ ${60 * presets.staging.throttle!.requestsPerSecond}`,
    );
  });

  it('exists in staging too, and not in local', () => {
    expect([...alarmsOf(stackOf('AnimalStore-staging')).keys()]).toEqual(names);
    expect(resourcesIfAny(stackOf('AnimalStore-local'), 'AWS::CloudWatch::Alarm')).toEqual([]);
  });
});

it('the budget tells before the money is spent, and when AWS expects more to be spent', () => {
  const [, { Properties }] = theResource(stackOf('Shelter-prod'), 'AWS::Budgets::Budget');
  const subscribers = [{ SubscriptionType: 'EMAIL', Address: 'on-call@example.com' }];
  const told = (NotificationType: string, Threshold: number) => ({
    Notification: { NotificationType, Threshold, ComparisonOperator: 'GREATER_THAN' },
    Subscribers: subscribers,
  });
  expect(Properties).toEqual({
    Budget: { BudgetType: 'COST', TimeUnit: 'MONTHLY', BudgetLimit: { Amount: 500, Unit: 'USD' } },
    NotificationsWithSubscribers: [told('ACTUAL', 80), told('FORECASTED', 100)],
  });
});

describe('the dashboards', () => {
  const dashboards = resourcesOf(prod, 'AWS::CloudWatch::Dashboard').map(([, { Properties }]) => ({
    name: JSON.stringify(Properties['DashboardName']),
    body: JSON.stringify(Properties['DashboardBody']),
  }));

  it('have names with the stack and its Region, because all Regions show all dashboards', () => {
    expect(dashboards).toHaveLength(2);
    for (const { name } of dashboards) {
      expect(name).toContain('AnimalStore-prod-');
      expect(name).toContain(JSON.stringify(ref('AWS::Region')));
    }
  });

  const shown = dashboards.map(({ body }) => body).join('');

  it.each(Object.values(metrics))('show the metric %s', (metric) => {
    expect(shown).toContain(quoted(`"AnimalStore-prod","${metric}"`));
  });

  it.each([...functionsOf(prod)])('show the function %s', (_entry, { id }) => {
    for (const metric of ['Duration', 'Errors', 'Throttles']) {
      expect(shown).toContain(
        `${quoted(`"AWS/Lambda","${metric}","FunctionName","`)}",${JSON.stringify(ref(id))}`,
      );
    }
  });

  it.each(resourcesOf(prod, 'AWS::CloudWatch::Alarm').map(([id]) => id))('show the alarm %s', (id) => {
    expect(shown).toContain(JSON.stringify({ 'Fn::GetAtt': [id, 'Arn'] }));
  });

  it('show a sum even if one of its terms has no data', () => {
    const expressions = [...shown.matchAll(/\\"expression\\":\\"((?:[^"\\]|\\\\.)*)\\"/g)].map(
      ([, expression]) => expression!,
    );
    const sums = expressions.filter((expression) => /^[^']*\+/.test(expression));
    expect(sums.length).toBeGreaterThan(0);
    for (const sum of sums) expect(sum).toMatch(/^FILL\(\w+, ?0\)( \+ FILL\(\w+, ?0\))+$/);
  });
});

/** The name of an alarm as the runbook has it. */
function writtenName(alarm: string): string {
  // The name of a function can begin with that of another.
  const [entry] = functionEntries
    .filter((each) => alarm.startsWith(`${each}-`))
    .toSorted((one, other) => other.length - one.length);
  return entry === undefined
    ? alarm.replace(/.+(?=-(?:throttles|system-errors)$)/, 'TABLE')
    : alarm.replace(entry, 'FUNCTION');
}

/** The sections of the runbook by the anchors of their headings on GitHub. */
function sectionsOfRunbook(): ReadonlyMap<string, string> {
  const [, ...sections] = readFileSync('docs/runbook.md', 'utf8').split(/^#{2,} /m);
  return new Map(
    sections.map((section) => {
      const heading = section.split('\n', 1)[0]!.toLowerCase();
      return [heading.replaceAll(/[^\w -]/g, '').replaceAll(' ', '-'), section];
    }),
  );
}

/** Escaped as in a JSON string within JSON. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
